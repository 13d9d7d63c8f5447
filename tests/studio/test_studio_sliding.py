"""Sliders and switches change their own words of a text, whatever its layout, and nothing else of the recipe."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from asking import Page
from examples import DEAR
from hypothesis import given
from hypothesis import strategies as st
from layouts import layouts
from support.recipe_strategies import steps

from augrecipes.errors import RecipeError
from augrecipes.ops.frozen import Arguments
from augrecipes.recipe.edit import GONE, applied
from augrecipes.recipe.model import Recipe, Step, label
from augrecipes.recipe.parse import parse_text
from augrecipes.studio.outline import steps_by_path
from augrecipes.studio.requests import Refused
from augrecipes.studio.sliding import edits_for
from augrecipes.studio.workbench import Workbench

Slide = Callable[[str, str, str, Any], str]
BENCH = Workbench()


def slide(text: str, path: str, argument: str, value: Any) -> str:
    """As the studio does it."""
    return applied(text, edits_for(BENCH, text, path, argument, value))


def comments(text: str) -> list[str]:
    """What stands behind a #, but for those inside of quotes: the layouts have none."""
    return re.findall(r"#[^\r\n]*", text)


def with_value(step: Step, argument: str, value: Any) -> Step:
    """The step as it should be afterwards."""
    if argument == "p":
        return replace(step, p=None if value is GONE else float(value))
    arguments = {name: kept for name, kept in step.args.plain().items() if name != argument}
    return replace(step, args=Arguments(arguments if value is GONE else {**arguments, argument: value}))


def changed(recipe: Recipe, path: str, argument: str, value: Any) -> Recipe:
    """The recipe as it should be afterwards."""

    def walk(steps: tuple[Step, ...], above: str) -> tuple[Step, ...]:
        return tuple(
            replace(with_value(step, argument, value) if f"{above}.{n}" == path else step,
                    steps=walk(step.steps, f"{above}.{n}.steps"))
            for n, step in enumerate(steps)
        )  # fmt: skip

    return replace(recipe, steps=walk(recipe.steps, "steps"), eval=None)


def broken(text: str, path: str, argument: str, value: Any, do: Slide = slide) -> str:
    """What a slider breaks; an empty text where all is well."""
    before = parse_text(text)
    had = {**steps_by_path(before)[path].args.plain(), "p": steps_by_path(before)[path].p}
    new = do(text, path, argument, value)
    if comments(new) != comments(text):
        return "comments"
    lines, others = text.splitlines(), new.splitlines()
    apart = [k for k, (a, b) in enumerate(zip(lines, others, strict=False)) if a != b]
    most = max(2, len(value)) if isinstance(value, list) else 2  # each number of a list may have a line of its own
    if argument in had and had[argument] is not None and (len(lines) != len(others) or len(apart) > most):
        return "other lines"
    if abs(len(lines) - len(others)) > 1:
        return "lines"
    wanted = changed(before, path, argument, value)
    try:
        after = parse_text(new)
    except RecipeError as error:  # the value may be one that the class does not take: then that alone is wrong
        words = {problem.name.partition(".")[0] for problem in error.problems}
        return "" if words <= {steps_by_path(before)[path].name} else str(error)
    return "" if replace(after, eval=None) == wanted else "another recipe"


@st.composite
def slides(draw: st.DrawFn) -> tuple[str, str, str, Any]:
    """A text, and an argument of one of its steps with another value: numbers where a step has some, else its `p`."""
    recipe = Recipe("x", steps=label(tuple(draw(st.lists(st.one_of(_full(), steps()), min_size=1, max_size=4)))))
    known = steps_by_path(recipe)
    slid = {path: _numbers(step) for path, step in known.items()}
    path = draw(st.sampled_from([path for path in known if slid[path]] or list(known)))
    argument = draw(st.sampled_from([*slid[path], *slid[path], "p"]))
    value = slid[path].get(argument)
    text = draw(layouts(recipe))
    if value is None:
        return text, path, "p", draw(st.one_of(st.floats(0, 1).map(lambda p: round(p, 3)), st.sampled_from([0, 1])))
    return text, path, argument, [_moved(one) for one in value] if isinstance(value, list) else _moved(value)


def _full() -> st.SearchStrategy[Step]:
    """Steps with numbers to slide, alone and in groups."""
    leaf = steps(depth=0).filter(lambda step: bool(_numbers(step)))
    groups = st.sampled_from(["SomeOf", "Sequential", "RandomOrder"])
    inside = st.lists(leaf, min_size=1, max_size=3).map(tuple)
    return st.one_of(leaf, st.builds(lambda name, inner: Step(name, Arguments({}), steps=inner), groups, inside))


def _numbers(step: Step) -> dict[str, Any]:
    return {name: value for name, value in step.args.plain().items() if _slidable(value)}


def _slidable(value: Any) -> bool:
    return all(isinstance(one, int | float) and not isinstance(one, bool) for one in (
        value if isinstance(value, list) and value else [value]))  # fmt: skip


def _moved(value: float) -> float:
    return value + 1 if isinstance(value, int) else round(value * 0.9 + 0.01, 4)


@DEAR
@given(slides())
def test_a_slider_changes_its_own_words(one: tuple[str, str, str, Any]) -> None:
    assert broken(*one) == ""


TEXT = """\
version: 1   # one
recipe: x
steps:
  # turn
  - Rotate: {limit: [-10,  20] , p: 0.3} # strong
  - RandomCrop:
      height: 50   # px
      width: 60
  - HorizontalFlip
  - OneOf:
      steps:
        - Blur
        - GaussianBlur: {}
  - "VerticalFlip"
  - ColorJitter:
eval: [CenterCrop: {height: 3, width: 3}, HorizontalFlip]
"""


@pytest.mark.parametrize(
    ("path", "argument", "value", "old", "new"),
    [
        ("steps.0", "limit", [-10, 25], "[-10,  20]", "[-10,  25]"),
        ("steps.0", "p", 1, "p: 0.3", "p: 1"),
        ("steps.0", "limit", 30, "[-10,  20]", "30"),
        ("steps.0", "border_mode", "reflect", "p: 0.3}", "p: 0.3, border_mode: reflect}"),
        ("steps.0", "p", GONE, "[-10,  20] , p: 0.3}", "[-10,  20]}"),
        ("steps.0", "limit", GONE, "{limit: [-10,  20] , p", "{p"),
        ("steps.1", "height", 70, "height: 50 ", "height: 70 "),
        ("steps.1", "p", 0.5, "width: 60\n", "width: 60\n      p: 0.5\n"),
        ("steps.1", "width", GONE, "      width: 60\n", ""),
        ("steps.2", "p", 0, "- HorizontalFlip\n", "- HorizontalFlip: {p: 0}\n"),
        ("steps.3", "p", 0.5, "- OneOf:\n      steps", "- OneOf:\n      p: 0.5\n      steps"),
        ("steps.3.steps.0", "p", 1, "- Blur\n", "- Blur: {p: 1}\n"),
        ("steps.3.steps.1", "blur_limit", [3, 5], "GaussianBlur: {}", "GaussianBlur: {blur_limit: [3, 5]}"),
        ("steps.4", "p", 1, '"VerticalFlip"', '"VerticalFlip": {p: 1}'),
        ("steps.5", "brightness", 0.2, "ColorJitter:\n", "ColorJitter: {brightness: 0.2}\n"),
        ("eval.0", "height", 9, "{height: 3, w", "{height: 9, w"),
        ("eval.1", "p", 0, ", HorizontalFlip]", ", {HorizontalFlip: {p: 0}}]"),
    ],
)
def test_each_layout_keeps_its_own(path: str, argument: str, value: Any, old: str, new: str) -> None:
    for ends in ("\n", "\r\n"):
        text = TEXT.replace("\n", ends)
        wanted = TEXT.replace(old, new).replace("\n", ends)
        assert slide(text, path, argument, value) == wanted


def _dumped(text: str, path: str, argument: str, value: Any) -> str:
    """Planted: the recipe written anew."""
    return changed(parse_text(text), path, argument, value).to_yaml()


def _first(text: str, path: str, argument: str, value: Any) -> str:
    """Planted: the first of the same name."""
    return re.sub(rf"\b{argument}: [^,}}\r\n]*", f"{argument}: {value}", text, count=1)


def _next_step(text: str, path: str, argument: str, value: Any) -> str:
    """Planted: the step behind it."""
    section, _, number = path.rpartition(".")
    try:
        return slide(text, f"{section}.{int(number) + 1}", argument, value)
    except Refused:
        return slide(text, path, argument, value)


@pytest.mark.parametrize("fault", [_dumped, _first, _next_step])
def test_planted_sliders_are_noticed(fault: Slide) -> None:
    text = "version: 1\nrecipe: x\nsteps:\n  - Blur: {p: 0.1}  # a\n  - D4: {p: 0.2}\n  - Rotate: {p: 0.3}\n"
    assert broken(text, "steps.1", "p", 0.7) == ""
    assert broken(text, "steps.1", "p", 0.7, fault) != ""


VARIANT = "version: 1\nextends: stained-tissue   # all\nrecipe: y\n"


@pytest.mark.parametrize(
    ("text", "new"),
    [
        (VARIANT, VARIANT.replace("# all\n", "# all\nset: {Rotate.limit: 10}\n")),
        (VARIANT + "set: {Rotate.limit: 30}  # x\n", VARIANT + "set: {Rotate.limit: 10}  # x\n"),
        (VARIANT + "set:\n  Rotate.p: 1.0 # x\n", VARIANT + "set:\n  Rotate.p: 1.0 # x\n  Rotate.limit: 10\n"),
    ],
)
def test_a_variant_sets(text: str, new: str) -> None:
    assert slide(text, "steps.0", "limit", 10) == new
    before, after = (steps_by_path(parse_text(one)) for one in (text, new))
    assert after["steps.0"].args["limit"] == 10
    assert {path: step for path, step in after.items() if path != "steps.0"} == {
        path: step for path, step in before.items() if path != "steps.0"
    }


def test_what_cannot_be_slid_is_refused(page: Page) -> None:
    for body, status in (
        ({"text": TEXT, "path": "steps.9", "argument": "p", "value": 1}, 404),
        ({"text": TEXT, "path": "steps.0.limit", "argument": "p", "value": 1}, 404),
        ({"text": "[1]", "path": "steps.0", "argument": "p", "value": 1}, 422),
        ({"text": "[" * 50, "path": "steps.0", "argument": "p", "value": 1}, 422),
        ({"text": TEXT, "path": "steps.0", "argument": "p", "value": [[[[[[1]]]]]]}, 200),
        ({"text": TEXT, "path": "steps.0", "value": 1}, 400),
        ({"text": TEXT, "path": 3, "argument": "p", "value": 1}, 400),
    ):
        assert page.ask("POST", "/api/slide", body).status == status, body
    reply = page.ask("POST", "/api/slide", b'{"text": "a", "path": "steps.0", "argument": "p", "value": NaN}')
    assert reply.status in (400, 404, 422)


def test_the_page_is_given_the_text(page: Page) -> None:
    found = page.post("/api/slide", text=TEXT, path="steps.0", argument="limit", value=[-10, 25])
    assert found["text"] == TEXT.replace("20]", "25]")
    off = page.post("/api/slide", text=TEXT, path="steps.2", argument="p", value=0)["text"]
    assert "- HorizontalFlip: {p: 0}\n" in off
    assert "- HorizontalFlip: {}\n" in page.post("/api/slide", text=off, path="steps.2", argument="p")["text"]
    assert "height: 50" not in page.post("/api/slide", text=TEXT, path="steps.1", argument="height", value=None)["text"]
