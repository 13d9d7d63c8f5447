"""Promise 2: `exact` makes the draws of `none` and gives its bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import DEAR, PLANTED
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import MOVES, OTHERS, TABLES, Pool, assert_same, recipes, step, steps_for, targets

from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.rewrite import ARRIVALS, Compiled, plan
from augrecipes.compiler.rewrite.nodes import Fused
from augrecipes.compiler.rewrite.rules import crop_first, open_groups
from augrecipes.errors import DataError
from augrecipes.kinds.image.pipeline import ImagePipeline as Pipeline
from augrecipes.ops import groups
from augrecipes.recipe.model import Arguments, Boxes, Inputs, Optimize, Recipe, Step, label
from augrecipes.recipe.parse import parse_text

# Grey images make some colour steps warn on every call.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def build(recipe: Recipe, optimize: Optimize, seed: int = 0) -> Pipeline:
    """Compile without the lints: random recipes are allowed to be foolish."""
    plans = {arrival: plan(recipe, recipe.steps, optimize, arrival) for arrival in ARRIVALS}
    return Pipeline(Compiled(recipe, "train", optimize, seed, False, plans))


def outcome(pipeline: Pipeline, index: int, sample: dict):
    try:
        return pipeline.at(index, 2)(**sample)
    except DataError as error:  # a crop that a border has left nothing of, a bad channel count: the same for both
        return error.step


def check(recipe: Recipe, channels: int, dtype: str, seed: int) -> None:
    sample = targets(recipe, seed, channels, dtype)
    before = {k: np.array(v) for k, v in sample.items()}
    plain, exact = build(recipe, "none", seed), build(recipe, "exact", seed)
    for index in range(3):
        a, b = outcome(plain, index, sample), outcome(exact, index, sample)
        if isinstance(a, dict):
            assert isinstance(b, dict)
            assert_same(a, b)
        else:
            assert a == b
    for key, value in before.items():
        np.testing.assert_array_equal(value, sample[key], err_msg=f"{key} was written to")


@pytest.mark.parametrize("channels", [1, 3, 5])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_on_random_recipes(channels: int, dtype: str) -> None:
    @DEAR
    @given(recipes(steps_for(channels)), st.integers(0, 2**32))
    def law(recipe: Recipe, seed: int) -> None:
        check(recipe, channels, dtype, seed)

    law()


@pytest.mark.parametrize("pool", [MOVES, TABLES + MOVES], ids=["moves", "moves and tables"])
def test_on_recipes_that_join_everywhere(pool: Pool) -> None:
    @DEAR
    @given(recipes(pool), st.integers(0, 2**32))
    def law(recipe: Recipe, seed: int) -> None:
        check(recipe, 3, "uint8", seed)

    law()


PADS: Pool = (
    ("InvertImg", {}),
    ("Solarize", {}),
    ("RandomCrop", {"height": 200, "width": 40, "pad_if_needed": True}),
    ("CenterCrop", {"height": 30, "width": 200, "pad_if_needed": True}),
)


class TestPlantedFaults:
    """A law that cannot fail proves nothing: each of these faults must be caught by the same check."""

    def caught(self, pool: Pool) -> bool:
        @PLANTED
        @given(recipes(pool), st.integers(0, 2**32))
        def law(recipe: Recipe, seed: int) -> None:
            check(recipe, 3, "uint8", seed)

        try:
            law()
        except AssertionError:
            return True
        return False

    @pytest.mark.parametrize("pool", [MOVES, TABLES], ids=["moves", "tables"])
    def test_a_kernel_that_is_a_level_off_somewhere(self, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = Program.sample

        def spoilt(self: Program, *args: Any) -> Any:
            made = whole(self, *args)
            if isinstance(made, np.ndarray) and made.dtype == np.float32:
                made[..., -1, -1] += np.float32(1 / 255)
            return made

        monkeypatch.setattr(Program, "sample", spoilt)
        assert self.caught(pool)

    def test_tables_that_see_what_a_window_pads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(crop_first, "_may_pad", lambda _: False)
        assert self.caught(PADS)

    def test_draws_keyed_by_place_in_the_plan(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from augrecipes.kinds.image import pipeline as module

        lower = module.lower

        def by_place(steps):
            made, sites = lower(steps)
            return made, [(obj, f"{place}/{len(steps)}", False) for place, (obj, _, _) in enumerate(sites)]

        monkeypatch.setattr(module, "lower", by_place)
        assert self.caught(TABLES)

    def test_a_lookup_claimed_for_a_step_that_is_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from augrecipes.ops import capabilities
        from augrecipes.ops.capability import Capability

        monkeypatch.setitem(
            capabilities._BY_NAME, "RandomBrightnessContrast", Capability("RandomBrightnessContrast", "lookup")
        )
        assert self.caught(
            (("RandomBrightnessContrast", {"brightness_by_max": False}), ("RandomCrop", {"height": 9, "width": 9}))
        )


# Steps of groups that always act stand among those around them, and every sample is what it was.


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
def recipes_groups(draw: st.DrawFn) -> Recipe:
    steps = label(tuple(draw(st.lists(nested(), min_size=1, max_size=4))))
    boxes = Boxes(min_visibility=draw(st.sampled_from((0.0, 1.0)))) if draw(st.integers(0, 3)) == 0 else None
    return Recipe("law", steps=steps, inputs=Inputs(boxes=boxes))


@DEAR
@given(recipes_groups(), st.integers(0, 2**32))
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
    @given(recipes_groups(), st.integers(0, 2**32))
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
