"""`${}` in configs: what it names stands in its place, and a short file that stands for ever more ends at once."""

from __future__ import annotations

from typing import Any

import pytest
from examples import DEAR, PLANTED
from hypothesis import given
from hypothesis import strategies as st

import augrecipes as ar
from augrecipes.bring import forms
from augrecipes.bring.importing import of_document
from augrecipes.bring.reading import of_text
from augrecipes.recipe import limits
from augrecipes.recipe.nodes import Place, from_value, plain

_STEP = "\ntrain: [{_target_: albumentations.Blur, blur_limit: '${NAME}'}]\n"
_NAMES = "abcdefgh"


def _rows(count: int, form: str) -> str:
    """A line for each name; each says something of the one before."""
    return "\n".join(["a0: 3", *(f"a{k}: {form.replace('X', f'${{a{k - 1}}}')}" for k in range(1, count))]) + (
        _STEP.replace("NAME", f"a{count - 1}")
    )


def _backwards(text: str) -> str:
    return "\n".join(text.splitlines()[::-1])


_DOUBLED = {
    "lists": _rows(40, "['X', 'X']"),
    "lists, last first": _backwards(_rows(20, "['X', 'X']")),
    "mappings": _rows(40, "{x: 'X', y: 'X'}"),
    "wide": _rows(8, "[" + ", ".join(["'X'"] * 10) + "]"),
    "steps": _rows(30, "{_target_: albumentations.OneOf, transforms: ['X', 'X']}"),
    "one large value": "big: [" + "1, " * 30_000 + "1]\nother: '${big}'" + _STEP.replace("NAME", "big"),
}
_DEEP = {"a chain": _rows(3_000, "['X']"), "a chain, last first": _backwards(_rows(3_000, "{x: 'X'}"))}
_OPEN = {
    "text": _rows(40, "'XX'"),
    "a circle of lists": "a: ['${b}', '${b}']\nb: {x: '${a}', y: '${a}'}" + _STEP.replace("NAME", "a"),
    "its own part": "a: {b: ['${a}', '${..}']}" + _STEP.replace("NAME", "a"),
    "the whole file": "a: '${..}'" + _STEP.replace("NAME", "a"),
    "dots": f"a: '${{{'.' * 300_000}!}}'" + _STEP.replace("NAME", "a"),
}


@pytest.mark.parametrize(
    ("text", "code"),
    [(text, code) for texts, code in ((_DOUBLED, "E107"), (_DEEP, "E106")) for text in texts.values()],
    ids=[*_DOUBLED, *_DEEP],
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
    found = of_document(of_text(text, "config.py"))
    assert [left.name for left in found.left_out()] == ["Resize"]
    assert len(found.to_yaml()) < 10_000


def _values(names: str) -> st.SearchStrategy[Any]:
    named = st.sampled_from([f"${{{name}}}" for name in names] or ["plain"])
    leaf = st.integers(0, 9) | named | st.sampled_from(["${missing}", "${.x}", "${..x}"])
    inner = st.lists(leaf, max_size=4) | st.dictionaries(st.sampled_from("xyz"), leaf, max_size=3)
    return leaf | inner | st.lists(inner, max_size=3)


def _config(names: str) -> st.SearchStrategy[dict[str, Any]]:
    """Names that stand for values of the names before them: in no circle, in any order."""
    known = st.fixed_dictionaries({name: _values(names[:k]) for k, name in enumerate(names)})
    return known.flatmap(lambda found: st.permutations([*found]).map(lambda keys: {key: found[key] for key in keys}))


_CONFIGS = _config(_NAMES)
_CIRCLES = st.fixed_dictionaries({name: _values(_NAMES) for name in _NAMES})


def _written_out(value: Any, top: Any, path: tuple[str, ...]) -> Any:
    """The same by the rule alone: nothing is kept."""
    if isinstance(value, list):
        return [_written_out(item, top, (*path, str(k))) for k, item in enumerate(value)]
    if isinstance(value, dict):
        return {key: _written_out(item, top, (*path, key)) for key, item in value.items()}
    if not isinstance(value, str) or not value.startswith("${"):
        return value
    name = value[2:-1]
    dots = len(name) - len(name.lstrip("."))
    target = (*(path[:-dots] if dots else ()), name.lstrip("."))
    found = top
    for key in target:
        if isinstance(found, dict) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isdigit() and int(key) < len(found):
            found = found[int(key)]
        else:
            return value
    return value if target == path else _written_out(found, top, target)


def _size(value: Any) -> tuple[int, int]:
    """How many values, and how many levels of lists and mappings."""
    inner = value if isinstance(value, list) else [*value.values()] if isinstance(value, dict) else None
    if inner is None:
        return 1, 0
    sizes = [_size(item) for item in inner]
    return 1 + sum(count for count, _ in sizes), 1 + max((levels for _, levels in sizes), default=0)


def _law(config: dict[str, Any]) -> None:
    wanted = _written_out(config, config, ())
    count, levels = _size(wanted)
    top = from_value(config, Place("f", 1, 1))
    if count <= limits.MAX_NODES and levels <= limits.MAX_DEPTH:
        assert plain(forms.resolved(top)) == wanted
    else:
        with pytest.raises(ar.RecipeError, match="written out"):
            forms.resolved(top)


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


def _forgets_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    of = forms._Resolver.of
    monkeypatch.setattr(forms._Resolver, "of", lambda tree, node, path, level, *more: of(tree, node, path, 1))


def _counts_dots_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    named = forms._Resolver.named
    monkeypatch.setattr(forms._Resolver, "named", lambda tree, node, path: named(tree, node, path[-1:]))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("fault", [_forgets_levels, _counts_dots_wrongly])
def test_the_law_sees_a_fault(monkeypatch: pytest.MonkeyPatch, fault: Any) -> None:
    fault(monkeypatch)
    with pytest.raises(BaseException, match=r"assert|DID NOT RAISE"):
        PLANTED(given(config=_CONFIGS)(_law))()


@DEAR
@given(config=_CIRCLES)
def test_whatever_leads_to_what_ends(config: dict[str, Any]) -> None:
    try:
        plain(forms.resolved(from_value(config, Place("f", 1, 1))))
    except ar.RecipeError as error:
        assert error.problems[0].code == "E107"
