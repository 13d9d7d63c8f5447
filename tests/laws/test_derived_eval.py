"""`eval: derived` on random recipes: it draws nothing, ends at training's size, and lints as training does."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from random_pairs import SCALES, misalignment, moves, scene
from random_recipes import MOVES, OTHERS, TABLES, Pool, assert_same, build, outcome, photo, pool, recipes, steps_for
from support.checks import DEAR, holds

from augrecipes.lint import lint
from augrecipes.lint.record import after
from augrecipes.ops import records
from augrecipes.ops.records import op_record
from augrecipes.ops.sizes import UNKNOWN
from augrecipes.recipe.derive import derive, steps_of, unknown
from augrecipes.recipe.model import Arguments, Recipe, Step
from augrecipes.recipe.parse import parse_text

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

# Sizes, ranges without their neutral value, lists and random places: what a counterpart has to settle.
SETTLED: Pool = pool("""
    RandomResizedCrop: {size: [24, 24]},
    RandomResizedCrop: {size: [21, 27], scale: [0.3, 0.5], ratio: [1.0, 1.0], interpolation: area},
    RandomSizedCrop: {min_max_height: [10, 14], size: [20, 20]},
    RandomSizedCrop: {min_max_height: [9, 12], size: [18, 24], w2h_ratio: 1.5},
    RandomSizedBBoxSafeCrop: {height: 22, width: 30}, BBoxSafeRandomCrop,
    AtLeastOneBBoxRandomCrop: {height: 12, width: 10}, CropNonEmptyMaskIfExists: {height: 12, width: 10},
    SmallestMaxSize: {max_size: [20, 30, 26]}, LongestMaxSize: {max_size: [40, 50]},
    SmallestMaxSize: {max_size_hw: [20, 24]}, RandomScale: {scale_limit: [-0.3, 0.4]},
    RandomScale: {scale_limit: [0.2, 0.4]}, PadIfNeeded: {min_height: 40, min_width: 60, position: random},
    CenterCrop: {height: 40, width: 60, pad_if_needed: true, pad_position: random},
    RandomCrop: {height: 40, width: 60, pad_if_needed: true, pad_position: random},
    CropAndPad: {px: [1, 4], keep_size: false}, CropAndPad: {px: [-2, 3, 0, 1], keep_size: false, fill: [3, 9]},
    CropAndPad: {percent: [0.05, 0.1]}, CropAndPad: {percent: [-0.1, 0.1]},
    Rotate: {limit: [10, 30], border_mode: reflect_101}, Affine: {scale: [0.5, 0.8], balanced_scale: true},
    Affine: {translate_px: {x: [2, 5], y: [-3, 3]}, rotate: [-5, 5]},
    Affine: {scale: {x: [0.5, 0.7], y: 1}, shear: [2, 4]}, ShiftScaleRotate: {shift_limit: [0.1, 0.2]},
    RandomGamma: {gamma_limit: [120, 150]}, RandomBrightnessContrast: {brightness_limit: [0.1, 0.3]},
    Solarize: {threshold_range: [0.4, 0.6]}, Posterize: {num_bits: 3}, Blur: {blur_limit: [3, 3]},
    ImageCompression: {quality_range: [40, 40]}, FromFloat: {dtype: uint8}
""")
IN_COLOUR: Pool = pool("""
    CLAHE, CLAHE: {clip_limit: [3, 3]}, Equalize, HueSaturationValue: {sat_shift_limit: [10, 30]},
    RGBShift: {r_shift_limit: [10, 30]}
""")
COMMON = settings(DEAR, report_multiple_bugs=False)
SHAPES = ((37, 52), (61, 44))


def pool_of(channels: int) -> Pool:
    colours = IN_COLOUR if channels == 3 else ()
    return tuple(
        (name, args)
        for name, args in (*SETTLED * 2, *colours * 2, *MOVES, *TABLES, *OTHERS, *steps_for(channels))
        if name not in ("HEStain", "RandomCropNearBBox")
    )


def with_eval(recipe: Recipe) -> Recipe:
    rows = derive(recipe.steps)
    assert not unknown(rows)
    return replace(recipe, eval=steps_of(rows), derived=True)


def sample(recipe: Recipe, shape: tuple[int, int], channels: int) -> dict[str, Any]:
    rng = np.random.default_rng(shape[0])
    made: dict[str, Any] = {"image": photo(shape[1], channels, "uint8", shape)}
    made["mask"] = rng.integers(0, 9, shape).astype(np.uint8)
    if recipe.inputs.boxes:
        corner = rng.uniform(0, 15, (3, 2))
        made["boxes"] = np.hstack([corner, corner + rng.uniform(5, 20, (3, 2))]).astype(np.float32)
        made["box_labels"] = [3, 1, 4]
        made["keypoints"] = rng.uniform(0, 36, (5, 2)).astype(np.float32)
    return made


def size_after(steps: tuple[Step, ...]) -> tuple[float, float] | None:
    size = UNKNOWN
    for step in steps:
        size = after(step, size)
    return size.low if size.exact else None


def check(recipe: Recipe, channels: int = 3) -> None:
    recipe = with_eval(recipe)
    # The counterpart of a counterpart is itself.
    assert steps_of(derive(recipe.eval)) == recipe.eval
    # Every seed, epoch and index gives the same, and where training has one size, evaluation has it.
    wanted = size_after(recipe.steps)
    for shape in SHAPES:
        given = sample(recipe, shape, channels)
        first = outcome(build(recipe, mode="eval"), 0, given, 0)
        for seed, epoch, index in ((0, 0, 1), (0, 3, 0), (7, 1, 2)):
            again = outcome(build(recipe, seed=seed, mode="eval"), index, given, epoch)
            assert_same(first, again)
        if isinstance(first, dict) and wanted is not None:
            assert first["image"].shape[1:] == wanted
    lints(recipe)


def lints(recipe: Recipe) -> None:
    """Written out, evaluation brings no finding that training has not."""
    written = parse_text(replace(recipe, derived=False).to_yaml())
    alone = {problem.code for problem in lint(replace(written, eval=(), derived=True))}
    # L104: where draws are gone, a crop or resize behind them may have nothing left to do.
    found = {problem.code for problem in lint(written)} - {"L104"}
    if any(step.steps for step in written.steps):  # some lints look into no group, and evaluation has none
        assert not {code for code in found if code == "L101" or code.startswith("L7")}
    else:
        assert found <= alone
    text = recipe.to_yaml()
    assert "eval: derived" in text
    assert parse_text(text) == recipe
    assert parse_text(text).digest == written.digest


@pytest.mark.parametrize("channels", [1, 3])
def test_on_random_recipes(channels: int) -> None:
    holds(check, recipes(pool_of(channels)), st.just(channels), tried=COMMON)


@pytest.mark.parametrize("scales", SCALES, ids=lambda scales: ",".join(map(str, scales.values())))
def test_pairs_stay_aligned_and_draw_nothing(scales: dict[str, int]) -> None:
    """A shared window is cut at one place on every grid, in evaluation as in training."""

    def law(recipe: Recipe) -> None:
        made = steps_of(derive(recipe.steps, scales))
        assert steps_of(derive(made, scales)) == made
        arrays = scene(scales, 24, 31)
        first, again = (build(replace(recipe, steps=made), seed=seed).at(seed)(**arrays) for seed in (0, 1))
        assert misalignment(first, scales) < 1e-4
        assert_same({name: first[name] for name in scales}, {name: again[name] for name in scales})

    holds(law, moves(scales), tried=COMMON)


def _still_drawn(given: Any, values: Any, unit: int) -> list[tuple[str, dict[str, Any]]]:
    return [("RandomCrop", dict(given))]


def _uncut(given: Any, values: Any, unit: int) -> list[tuple[str, dict[str, Any]]]:
    return [("SmallestMaxSize", {"max_size": values["size"][0]})]


# What someone could get wrong: the fact to get wrong, its class, the wrong fact, and a recipe's step that shows it.
FAULTS: dict[str, tuple[str, str, Any, tuple[str, dict[str, Any]]]] = {
    "a crop that still draws": ("in_eval", "RandomCrop", (_still_drawn, ""), MOVES[6]),
    "no crop behind the resize": ("in_eval", "RandomResizedCrop", (_uncut, ""), SETTLED[0]),
    "a list of sizes": ("settled", "SmallestMaxSize", lambda _: {}, ("SmallestMaxSize", {"max_size": [20, 30]})),
    "a random place": ("settled", "PadIfNeeded", lambda _: {}, SETTLED[13]),
    "a range left open": ("settled", "RandomGamma", lambda _: {}, ("RandomGamma", {"gamma_limit": [120, 150]})),
    "a second draw": (
        "settled", "Affine", lambda _: {"scale": [0.6, 0.6]}, ("Affine", {"scale": [0.5, 0.8], "balanced_scale": True})
    ),
    "a side of a crop": ("settled", "CropAndPad", lambda _: {"px": [2, 5]}, ("CropAndPad", {"px": [1, 5]})),
}  # fmt: skip


@pytest.mark.parametrize(("fact", "name", "wrong", "shown"), FAULTS.values(), ids=FAULTS)
def test_a_planted_fault_is_noticed(
    fact: str, name: str, wrong: Any, shown: tuple[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = parse_text(Recipe("law", steps=(Step(shown[0], Arguments(shown[1]), p=1.0),)).to_yaml())
    check(recipe)
    monkeypatch.setitem(records._BY_NAME, name, replace(op_record(name), **{fact: wrong}))
    with pytest.raises(AssertionError):
        check(recipe)


def test_a_step_that_may_not_act_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = parse_text("version: 1\nrecipe: law\nsteps: [{HorizontalFlip: {p: 0.5}}]")
    check(recipe)
    monkeypatch.setattr("augrecipes.recipe.derive.chance", lambda step: 1.0)
    monkeypatch.setattr("augrecipes.recipe.derive._eval_step", lambda step, name, arguments: step)
    with pytest.raises(AssertionError):
        check(recipe)
