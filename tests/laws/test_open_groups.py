"""Steps of groups that always act stand among those around them, and every sample is what it was."""

from __future__ import annotations

from typing import Any

import pytest
from examples import DEAR, PLANTED
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import MOVES, OTHERS, TABLES, step
from test_exact_equals_none import build, check

from augrecipes.compiler.rewrite.nodes import Fused
from augrecipes.compiler.rewrite.rules import open_groups
from augrecipes.ops import groups
from augrecipes.recipe.model import Arguments, Boxes, Inputs, Recipe, Step
from augrecipes.recipe.parse import parse_text
from augrecipes.recipe.sites import label

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
_LEAVES = step((*MOVES, *TABLES, *OTHERS), depth=0)


@st.composite
def nested(draw: st.DrawFn, depth: int = 3) -> Step:
    """Groups in groups, most of them sequences that always act."""
    if depth == 0 or draw(st.integers(0, 2)) == 0:
        return draw(_LEAVES)
    inside = tuple(draw(st.lists(nested(depth - 1), min_size=1, max_size=3)))
    name = draw(st.sampled_from(("Sequential", "Sequential", "OneOf", "SomeOf", "RandomOrder")))
    if all(child.p == 0 for child in inside):
        name = "Sequential"
    args = Arguments({"n": draw(st.integers(1, len(inside)))} if name == "SomeOf" else {})
    return Step(name, args, p=draw(st.sampled_from((None, 1.0, 1.0, 0.6))), steps=inside)


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    steps = label(tuple(draw(st.lists(nested(), min_size=1, max_size=4))))
    boxes = Boxes(min_visibility=draw(st.sampled_from((0.0, 1.0)))) if draw(st.integers(0, 3)) == 0 else None
    return Recipe("law", steps=steps, inputs=Inputs(boxes=boxes))


@DEAR
@given(recipes(), st.integers(0, 2**32))
def test_samples_of_nested_groups_are_those_of_none(recipe: Recipe, seed: int) -> None:
    check(recipe, 3, "uint8", seed)


def _opens_what_may_miss(step: Any) -> bool:
    return isinstance(step, Step) and step.name == groups.SEQUENTIAL


def _opens_choices(step: Any) -> bool:
    return isinstance(step, Step) and step.name in (groups.SEQUENTIAL, groups.ONE_OF) and step.p in (None, 1)


@pytest.mark.parametrize("fault", [_opens_what_may_miss, _opens_choices])
def test_the_law_sees_groups_that_must_stay_closed(fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_groups, "_opens", fault)

    @PLANTED
    @given(recipes(), st.integers(0, 2**32))
    def law(recipe: Recipe, seed: int) -> None:
        check(recipe, 3, "uint8", seed)

    with pytest.raises(AssertionError):
        law()


def test_what_stood_in_groups_is_joined_with_what_stands_beside_them() -> None:
    text = """
version: 1
recipe: law
steps:
  - HorizontalFlip
  - Sequential: {p: 1.0, steps: [{Sequential: {steps: [Rotate]}}, {RandomCrop: {height: 9, width: 9}}]}
"""
    (only,) = build(parse_text(text), "fast").compiled.plans["uint8"].steps
    assert isinstance(only, Fused)
    assert [step.name for step in only.steps] == ["HorizontalFlip", "Rotate", "RandomCrop"]


@pytest.mark.parametrize(
    "group", ["{p: 0.9, steps: [VerticalFlip]}", "{p: 1.0, share: bag, steps: [VerticalFlip]}"], ids=["p", "share"]
)
def test_what_may_miss_or_shares_its_draws_stays_a_group(group: str) -> None:
    kind = "kind: bag\n" if "share" in group else ""
    recipe = parse_text(f"version: 1\nrecipe: law\n{kind}steps: [{{Sequential: {group}}}]\n")
    assert [step.site for step in build(recipe, "exact").compiled.plans["uint8"].steps] == ["Sequential#1"]
