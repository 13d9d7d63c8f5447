"""`${}` in configs: what it names stands in its place, and a short file that stands for ever more ends at once."""

from __future__ import annotations

from typing import Any

import pytest
from examples import DEAR, PLANTED
from hypothesis import given
from hypothesis import strategies as st

import augrecipes as ar
from augrecipes.interop import forms
from augrecipes.interop.importing import of_document
from augrecipes.interop.reading import of_text
from augrecipes.recipe import limits
from augrecipes.recipe.nodes import Place, from_value

_STEP = "\ntrain: [{_target_: albumentations.Blur, blur_limit: '${NAME}'}]\n"
_NAMES = "abcdefgh"


def _rows(count: int, form: str) -> str:
    """A line for each name; each says something of the one before."""
    return "\n".join(["a0: 3", *(f"a{k}: {form.replace('X', f'${{a{k - 1}}}')}" for k in range(1, count))]) + (
        _STEP.replace("NAME", f"a{count - 1}")
    )


_DOUBLED = {
    "lists": _rows(40, "['X', 'X']"),
    "mappings": _rows(40, "{x: 'X', y: 'X'}"),
    "steps": _rows(30, "{_target_: albumentations.OneOf, transforms: ['X', 'X']}"),
    "one large value": "big: [" + "1, " * 30_000 + "1]\nother: '${big}'" + _STEP.replace("NAME", "big"),
}
_DEEP = _rows(3_000, "['X']")
_OPEN = {
    "text": _rows(40, "'XX'"),
    "a circle of lists": "a: ['${b}', '${b}']\nb: {x: '${a}', y: '${a}'}" + _STEP.replace("NAME", "a"),
    "its own part": "a: {b: ['${a}', '${..}']}" + _STEP.replace("NAME", "a"),
    "relative": "a: '${.b}'\nb: 3" + _STEP.replace("NAME", "a"),
    "dots": f"a: '${{{'.' * 300_000}!}}'" + _STEP.replace("NAME", "a"),
}


@pytest.mark.parametrize(
    ("text", "code"),
    [*((text, "E107") for text in _DOUBLED.values()), (_DEEP, "E106"), ("\n".join(_DEEP.splitlines()[::-1]), "E106")],
)
def test_what_stands_for_too_much_is_an_error_that_says_so(text: str, code: str) -> None:
    with pytest.raises(ar.RecipeError, match=r"with every `\$\{\.\.\.\}` written out") as caught:
        of_document(of_text(f"# at the top\n{text}", "config.yaml"))
    (problem,) = caught.value.problems
    assert (problem.code, problem.file) == (code, "config.yaml")
    assert problem.line > 1


@pytest.mark.parametrize("text", _OPEN.values(), ids=_OPEN)
def test_what_names_itself_or_nothing_leaves_its_step_out(text: str) -> None:
    (left,) = of_document(of_text(text, "config.yaml")).left_out()
    assert left.name == "Blur"
    assert "names nothing in this file, or itself" in left.message
    assert len(left.message) < 400


@pytest.mark.parametrize("form", ["[a]", "[a, a]", "dict(x=a, **dict(y=a))"])
def test_names_of_python_configs_stand_for_no_more_than_can_be_read(form: str) -> None:
    text = "a = [1]\n" + f"a = {form}\n" * 2_000 + "train_pipeline = [dict(type='Resize', scale=a)]\n"
    draft = of_document(of_text(text, "config.py"))
    assert [left.name for left in draft.left_out()] == ["Resize"]
    assert len(draft.to_yaml()) < 10_000


def _values(names: str) -> st.SearchStrategy[Any]:
    named = st.sampled_from([f"${{{name}}}" for name in names] or ["plain"])
    leaf = st.integers(0, 9) | named
    inner = st.lists(leaf, max_size=4) | st.dictionaries(st.sampled_from("xyz"), leaf, max_size=3)
    return leaf | inner | st.lists(inner, max_size=3)


# Names that stand for values of the names before them; and of any names, in circles too.
_CONFIGS = st.fixed_dictionaries({name: _values(_NAMES[:k]) for k, name in enumerate(_NAMES)})
_CIRCLES = st.fixed_dictionaries({name: _values(_NAMES) for name in _NAMES})


def _written_out(value: Any, top: Any) -> Any:
    """The same by the rule alone: nothing is kept."""
    if isinstance(value, list):
        return [_written_out(item, top) for item in value]
    if isinstance(value, dict):
        return {key: _written_out(item, top) for key, item in value.items()}
    return _written_out(top[value[2:-1]], top) if str(value).startswith("${") else value


def _size(value: Any) -> tuple[int, int]:
    """How many values, and how many levels of lists and mappings."""
    inner = value if isinstance(value, list) else [*value.values()] if isinstance(value, dict) else None
    if inner is None:
        return 1, 0
    sizes = [_size(item) for item in inner]
    return 1 + sum(count for count, _ in sizes), 1 + max((levels for _, levels in sizes), default=0)


def _law(config: dict[str, Any]) -> None:
    expected = _written_out(config, config)
    count, levels = _size(expected)
    top = from_value(config, Place("f", 1, 1))
    if count <= limits.MAX_NODES and levels <= limits.MAX_DEPTH:
        assert forms.values_of(top) == expected
    else:
        with pytest.raises(ar.RecipeError, match="written out"):
            forms.values_of(top)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that random configs reach."""
    monkeypatch.setattr(limits, "MAX_NODES", 120)
    monkeypatch.setattr(limits, "MAX_DEPTH", 5)


@pytest.mark.usefixtures("small")
@DEAR
@given(config=_CONFIGS)
def test_interpolations_are_what_they_stand_for_up_to_the_limits(config: dict[str, Any]) -> None:
    _law(config)


@pytest.mark.usefixtures("small")
def test_the_law_sees_levels_that_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    of = forms._Config.of
    monkeypatch.setattr(forms._Config, "of", lambda config, node, level: (*of(config, node, level)[:2], 0))
    with pytest.raises(BaseException, match=r"assert|DID NOT RAISE"):
        PLANTED(given(config=_CONFIGS)(_law))()


@DEAR
@given(config=_CIRCLES)
def test_whatever_leads_to_what_ends(config: dict[str, Any]) -> None:
    try:
        forms.values_of(from_value(config, Place("f", 1, 1)))
    except ar.RecipeError as error:
        assert error.problems[0].code in ("E106", "E107")
