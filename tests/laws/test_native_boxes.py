"""Boxes and keypoints beside images that a program makes are those of the steps, bit for bit."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from examples import SEEDS, holds
from hypothesis import strategies as st
from kernel_sets import NEEDS_KERNELS
from random_recipes import Pool, assert_same, build, outcome, pool, recipes, targets
from support.checks import planted_faults
from test_native_plan import NATIVE, ON_MASKS, WARPED, carried_out_by_albumentations, recipe_of

from augrecipes.compat import normals
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.run import points_alone
from augrecipes.compiler.run.exits import OnTheWay
from augrecipes.native.op_numbers import EFFECTS
from augrecipes.recipe.model import Boxes, Inputs, Keypoints, Recipe

ABOUT_BOXES: Pool = pool("""
    BBoxSafeRandomCrop, BBoxSafeRandomCrop: {erosion_rate: 0.4}, AtLeastOneBBoxRandomCrop: {height: 14, width: 11},
    AtLeastOneBBoxRandomCrop: {height: 21, width: 20, erosion_factor: 0.3},
    RandomSizedBBoxSafeCrop: {height: 31, width: 24},
    RandomSizedBBoxSafeCrop: {height: 30, width: 41, interpolation: 0, erosion_rate: 0.2}
""")
pytestmark = NEEDS_KERNELS


def given_to(recipe: Recipe, seed: int) -> dict[str, Any]:
    made = targets(recipe, seed, 3, "uint8")
    return {**made, "mask": made["mask"].astype(np.uint8)}


def are_alike(one: Any, other: Any) -> None:
    """Two samples to the bit, or two errors; a step that does nothing is left out of plans."""
    for made in (one, other):
        if isinstance(made, dict) and "applied" in made:
            made["applied"] = [step for step in made["applied"] if step[1] != "NoOp"]
    assert_same(one, other)


def check(recipe: Recipe, seed: int) -> int:
    """How many samples of `exact` the program made, boxes and all."""
    plain, exact, count = build(recipe, "none", seed), build(recipe, "exact", seed), 0
    for index in range(4):
        sample = given_to(recipe, seed + index)
        are_alike(outcome(plain, index, sample), outcome(exact, index, sample))
        count += exact._natively(2, index, 0, sample, np.empty) is not None
    return count


def test_boxes_are_those_of_the_steps() -> None:
    carried_out: list[int] = []
    made = recipes(NATIVE + ON_MASKS + (WARPED + ABOUT_BOXES) * 2).filter(
        lambda recipe: recipe.inputs.boxes is not None
    )
    holds(lambda recipe, seed: carried_out.append(check(recipe, seed)), made, SEEDS)
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
    carried_out: list[int] = []

    def law(recipe: Recipe, seed: int, which: int, asked: bool) -> None:
        carried_out.append(stop_anywhere(recipe, seed, which, asked))

    made = recipes(NATIVE + ON_MASKS + (ABOUT_BOXES + MOVING) * 2, max_steps=5)
    holds(law, made, SEEDS, st.integers(0, 2**12 - 1), st.booleans())
    assert sum(carried_out) > len(carried_out) // 2


POINTED = Inputs(boxes=Boxes(), keypoints=Keypoints())


def pointed(*steps: tuple[str, dict[str, Any]]) -> Recipe:
    """A recipe for images with boxes and keypoints."""
    return replace(recipe_of(*steps), inputs=POINTED)


STOPPING = pointed(("InvertImg", {"p": 1.0}), ("Spatter", {"p": 1.0}))
FAULTY = pointed(("Affine", {"rotate": [20, 30], "p": 1.0}), ("Resize", {"height": 30, "width": 30}))
to, sampler = OnTheWay.to, points_alone.sampler_of


def test_what_is_planted_below_runs_natively() -> None:
    assert stop_anywhere(STOPPING, 3, 0, asked=True)
    assert check(FAULTY, 5)


test_planted_faults_are_found = planted_faults(
    {
        "a step without its pixels": (
            lambda _: stop_anywhere(STOPPING, 3, 0, asked=True),
            (OnTheWay, "to", lambda self, place: {"image": 255 - to(self, place)["image"]}),
        ),
        "boxes that stay": (lambda _: check(FAULTY, 5), (points_alone, "functions_of", lambda _: {})),
        "draws of another sample": (
            lambda _: check(FAULTY, 5),
            (points_alone, "sampler_of", lambda step: lambda data: (sampler(step)(data), sampler(step)(data))[1]),
        ),
    }
)


@pytest.mark.parametrize("step", ABOUT_BOXES, ids=lambda step: step[0])
def test_windows_about_boxes_are_made_by_plans_and_of_boxes_alone(step: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = pointed(("Affine", {"rotate": 20}), step, ("InvertImg", {"p": 1.0}))
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
    recipe = pointed(tilt, ("RandomCrop", {"height": 11, "width": 13, "p": 1.0}))
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
