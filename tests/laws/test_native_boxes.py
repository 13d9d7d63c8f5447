"""Boxes and keypoints beside images that a program makes are those of the steps, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from examples import DEAR
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS
from random_recipes import Pool, recipes, targets
from test_exact_equals_none import build, outcome
from test_native_plan import NATIVE, ON_MASKS, WARPED, carried_out_by_albumentations, recipe_of

from augrecipes.compat import normals
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.run import points_alone
from augrecipes.compiler.run.exits import OnTheWay
from augrecipes.native.op_numbers import EFFECTS
from augrecipes.recipe.model import Boxes, Inputs, Keypoints, Recipe

ABOUT_BOXES: Pool = (
    ("BBoxSafeRandomCrop", {}),
    ("BBoxSafeRandomCrop", {"erosion_rate": 0.4}),
    ("AtLeastOneBBoxRandomCrop", {"height": 14, "width": 11}),
    ("AtLeastOneBBoxRandomCrop", {"height": 21, "width": 20, "erosion_factor": 0.3}),
    ("RandomSizedBBoxSafeCrop", {"height": 31, "width": 24}),
    ("RandomSizedBBoxSafeCrop", {"height": 30, "width": 41, "interpolation": 0, "erosion_rate": 0.2}),
)
pytestmark = pytest.mark.skipif(KERNEL_SETS[-1] is None, reason="no native kernels here")


def given_to(recipe: Recipe, seed: int) -> dict[str, Any]:
    made = targets(recipe, seed, 3, "uint8")
    return {**made, "mask": made["mask"].astype(np.uint8)}


def are_alike(one: Any, other: Any) -> None:
    """Two samples to the bit, or two errors."""
    if not isinstance(one, dict):
        assert one == other
        return
    assert one.keys() == other.keys()
    for key, value in one.items():
        if isinstance(value, np.ndarray):
            assert (value.dtype, value.shape) == (other[key].dtype, other[key].shape)
            np.testing.assert_array_equal(value, other[key])
        elif key == "applied":  # a step that does nothing is left out of plans
            assert [step for step in value if step[1] != "NoOp"] == [step for step in other[key] if step[1] != "NoOp"]
        else:
            assert value == other[key]


def check(recipe: Recipe, seed: int) -> int:
    """How many samples of `exact` the program made, boxes and all."""
    plain, exact, count = build(recipe, "none", seed), build(recipe, "exact", seed), 0
    for index in range(4):
        sample = given_to(recipe, seed + index)
        are_alike(outcome(plain, index, sample), outcome(exact, index, sample))
        count += exact._natively(2, index, 0, sample, np.empty) is not None
    return count


def has_boxes(recipe: Recipe) -> bool:
    return recipe.inputs.boxes is not None


def test_boxes_are_those_of_the_steps() -> None:
    carried_out = []

    @DEAR
    @given(recipes(NATIVE + ON_MASKS + (WARPED + ABOUT_BOXES) * 2).filter(has_boxes), st.integers(0, 2**32))
    def law(recipe: Recipe, seed: int) -> None:
        carried_out.append(check(recipe, seed))

    law()
    assert sum(carried_out)


MOVING: Pool = (("Morphological", {"p": 0.7}), ("RandomGridShuffle", {"p": 0.7}), ("Spatter", {"p": 0.7}))


def stop_anywhere(recipe: Recipe, seed: int, which: int, asked: bool) -> int:
    """Samples with boxes that stop at any step are those of the steps, and so is what these have drawn."""
    plain, count = build(recipe, "none", seed), 0
    with carried_out_by_albumentations(which):
        exact = build(recipe, "exact", seed)
        assert exact.native
    both = [one.again(replace(one.compiled, save_applied_params=asked)) for one in (plain, exact)]
    with carried_out_by_albumentations(which):
        assert both[1].native
    for index in range(3):
        sample = given_to(recipe, seed + index)
        found, wanted = (outcome(one, index, sample) for one in reversed(both))
        for made in (found, wanted):
            if isinstance(made, dict) and asked:
                made["applied"] = plain_values(made["applied"])
        are_alike(wanted, found)
        count += isinstance(wanted, dict) and both[1]._natively(2, index, 0, sample, np.empty) is not None
    return count


def plain_values(value: Any) -> Any:
    """The same without arrays, to be compared."""
    if isinstance(value, dict):
        return {key: plain_values(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [*map(plain_values, value)]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def test_samples_with_boxes_may_stop_at_any_step() -> None:
    carried_out = []

    @DEAR
    @given(
        recipes(NATIVE + ON_MASKS + (ABOUT_BOXES + MOVING) * 2, max_steps=5), st.integers(0, 2**32),
        st.integers(0, 2**12 - 1), st.booleans(),
    )  # fmt: skip
    def law(recipe: Recipe, seed: int, which: int, asked: bool) -> None:
        carried_out.append(stop_anywhere(recipe, seed, which, asked))

    law()
    assert sum(carried_out) > len(carried_out) // 2


def test_a_step_without_its_pixels_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = recipe_of(("InvertImg", {"p": 1.0}), ("Spatter", {"p": 1.0}))
    recipe = replace(recipe, inputs=Inputs(boxes=Boxes(), keypoints=Keypoints()))
    assert stop_anywhere(recipe, 3, 0, asked=True)
    to = OnTheWay.to
    monkeypatch.setattr(OnTheWay, "to", lambda self, place: {"image": 255 - to(self, place)["image"]})
    with pytest.raises(AssertionError):
        stop_anywhere(recipe, 3, 0, asked=True)


FAULTY: Pool = (("Affine", {"rotate": [20, 30], "p": 1.0}), ("Resize", {"height": 30, "width": 30}))


@pytest.mark.parametrize("fault", ["boxes that stay", "draws of another sample"])
def test_planted_faults_are_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = Inputs(boxes=Boxes(), keypoints=Keypoints())
    recipe = recipe_of(*FAULTY)
    recipe = Recipe("law", steps=recipe.steps, inputs=inputs)
    assert check(recipe, 5)
    if fault == "boxes that stay":
        monkeypatch.setattr(points_alone, "functions_of", lambda _: {})
    else:
        sampler = points_alone.sampler_of
        monkeypatch.setattr(
            points_alone, "sampler_of", lambda step: lambda data: (sampler(step)(data), sampler(step)(data))[1]
        )
    with pytest.raises(AssertionError):
        check(recipe, 5)


@pytest.mark.parametrize("step", ABOUT_BOXES, ids=lambda step: step[0])
def test_windows_about_boxes_are_made_by_plans_and_of_boxes_alone(step: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = recipe_of(("Affine", {"rotate": 20}), step, ("InvertImg", {"p": 1.0})).steps
    recipe = Recipe("law", steps=steps, inputs=Inputs(boxes=Boxes(), keypoints=Keypoints()))
    assert check(recipe, 5) == 4
    plain, exact, seen = build(recipe, "none"), build(recipe, "exact"), given_to(recipe, 5)
    assert isinstance(exact.native, Program)
    for sample in ({"image": seen["image"]}, {**seen, "boxes": np.zeros((0, 4))}):
        are_alike(outcome(plain, 0, sample), outcome(exact, 0, sample))
    assert exact.native.many(0, [(0, 0), (1, 0)], [seen["image"]] * 2, lambda *_: None) == [0, 1]
    monkeypatch.setattr(Program, "take_given", lambda _: None)
    if step[0] != "RandomSizedBBoxSafeCrop":
        assert check(recipe, 5) == 0  # of a size that is not that of the boxes' image
        return
    with pytest.raises(AssertionError):
        check(recipe, 5)


@pytest.mark.skipif(not normals(), reason="numpy does not tell where it makes normal numbers")
def test_boxes_are_cut_off_by_the_size_that_a_step_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Perspective without `keep_size`: other steps that resample say their size."""
    tilt = ("Perspective", {"scale": [0.1, 0.3], "keep_size": False, "p": 1.0})
    steps = recipe_of(tilt, ("RandomCrop", {"height": 11, "width": 13, "p": 1.0})).steps
    recipe = Recipe("law", steps=steps, inputs=Inputs(boxes=Boxes(), keypoints=Keypoints()))
    assert sum(check(recipe, seed) for seed in range(8))
    known = points_alone.size_behind
    monkeypatch.setattr(
        points_alone,
        "size_behind",
        lambda numbers, *more: more[1:] if numbers.effect == EFFECTS.WARPS_PERSPECTIVE else known(numbers, *more),
    )
    with pytest.raises(AssertionError):
        for seed in range(8):
            check(recipe, seed)
