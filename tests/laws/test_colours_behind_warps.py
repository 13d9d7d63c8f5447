"""Colours between a warp and what scales or cuts come behind both: what they make there, and how near to `none`."""

import sys
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from random_recipes import Pool, build, pool
from support.checks import SEEDS, holds, planted, planted_faults
from test_fast import Waves, run, with_border

from augrecipes.compiler.lowering import walk
from augrecipes.compiler.rewrite import Plan, rules
from augrecipes.compiler.rewrite.nodes import singles
from augrecipes.native.op_numbers import DRAWS, EFFECTS
from augrecipes.ops.native_op import NativeOp
from augrecipes.ops.registry import record_of
from augrecipes.recipe.model import Arguments, Boxes, Inputs, Output, Recipe, Step, label
from augrecipes.verify import variants

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # some classes warn on every call

SIZE = (120, 140)
WARPS: Pool = pool("""
    Rotate: {limit: 40}, ShiftScaleRotate, Affine: {scale: [0.9, 1.2], rotate: [-20, 20], shear: [-8, 8]},
    Perspective: {scale: [0.02, 0.06]}, RandomResizedCrop: {size: [110, 115], scale: [0.7, 1.0]}
""")
COLOURS: Pool = pool("""
    RandomBrightnessContrast: {brightness_limit: 0.3, contrast_limit: 0.3}, RGBShift: {r_shift_limit: 60},
    ColorJitter: {brightness: 0.3, contrast: 0.3, saturation: 0.3, hue: 0.0}, ToSepia, InvertImg, RandomGamma,
    RandomToneCurve: {scale: 0.2}, PlanckianJitter, ChannelShuffle, MultiplicativeNoise: {multiplier: [0.7, 1.4]},
    HueSaturationValue, ToGray, ChannelDropout
""")
JUMPS: Pool = pool("Posterize: {num_bits: 2}, Solarize: {threshold_range: [0.3, 0.4]}")
TURNS: Pool = pool("HorizontalFlip, RandomRotate90, Transpose")
SHRINKS: Pool = pool("""
    Resize: {height: 60, width: 64}, Resize: {height: 31, width: 45}, SmallestMaxSize: {max_size: 50},
    LongestMaxSize: {max_size: 63}, RandomResizedCrop: {size: [56, 52], scale: [0.3, 0.8]},
    RandomCrop: {height: 70, width: 66}, CenterCrop: {height: 64, width: 80}
""")


def made_of(steps: list[Step], border: str) -> Recipe:
    output = Output(dtype="uint8", layout="hwc")
    return Recipe("law", steps=with_border(label(steps), border), inputs=Inputs(mask="optional"), output=output)


@st.composite
def recipes(draw: st.DrawFn, *borders: str, colours: Pool = COLOURS, shrinks: Pool = SHRINKS) -> Recipe:
    """A warp, colours, what turns perhaps, and what scales or cuts; each by chance, and colours in groups too."""
    parts = [draw(st.sampled_from(WARPS)), *draw(st.lists(st.sampled_from(colours), min_size=1, max_size=2))]
    parts += [*draw(st.lists(st.sampled_from(TURNS), max_size=1)), draw(st.sampled_from(shrinks))]
    steps = [Step(name, Arguments(args), p=draw(st.sampled_from([1.0, 1.0, 0.6]))) for name, args in parts]
    if draw(st.booleans()):
        steps[1] = Step("OneOf", p=0.9, steps=(steps[1], Step("ToSepia")))
    return made_of(steps, draw(st.sampled_from(borders)))


FOLDS = recipes("reflect_101", "replicate", "reflect")
ANY = recipes("constant", "reflect_101")


def moves(step: Step) -> Step | None:
    return step if variants.moves_pixels(step) else None


def colours(step: Step) -> Step | None:
    return None if variants.moves_pixels(step) else step


def only(recipe: Recipe, what: variants.Change) -> Recipe:
    """Some of the steps alone, with the draws that they have among all."""
    return replace(variants.with_steps(recipe, "train", what), inputs=recipe.inputs)


def noise_and_edges(seed: int) -> np.ndarray:
    """A slope, noise, and edges between levels that are far apart."""
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (*SIZE, 3), np.uint8)
    image[: SIZE[0] // 2] = np.linspace(0, 255, SIZE[1])[None, :, None]
    image[20:50, 30:80] = (seed % 2 * 255, 255 - seed % 2 * 255, 128)
    image[70:90, 10:60] = rng.integers(0, 2, (20, 50, 1)) * 255
    return image


def smooth(seed: int) -> np.ndarray:
    """Long waves, of black and white too, other ones in each channel."""
    rows, columns = np.mgrid[: SIZE[0], : SIZE[1]].astype(np.float64)
    planes = [0.5 + 1.5 * (Waves(0.02, 3 * seed + channel)(rows, columns) - 0.5) for channel in range(3)]
    return np.rint(np.clip(np.dstack(planes), 0, 1) * 255).astype(np.uint8)


def plan_of(recipe: Recipe) -> Plan:
    found: Plan = build(recipe, "fast").compiled.plans["uint8"]
    return found


def made(recipe: Recipe, optimize: Any, seed: int, image: np.ndarray) -> dict[str, Any]:
    mask = np.random.default_rng(seed).integers(0, 9, image.shape[:2], np.uint8)
    out = run(build(recipe, optimize, seed), 3, image=image, mask=mask)
    assert out is not None
    return out


def colours_of_one_resampling(recipe: Recipe, seed: int) -> None:
    """Of any image `fast` makes what the colours make of its geometry alone; its mask is the one of that."""
    plan = plan_of(recipe)
    if any(variants.moves_pixels(one) for node in plan.steps[1:] for one in singles(node)):
        return  # colours that stay before what cuts see another mean
    whole, moved = (made(one, "fast", seed, noise_and_edges(seed)) for one in (recipe, only(recipe, moves)))
    wanted = made(only(recipe, colours), "none", seed, moved["image"])
    np.testing.assert_array_equal(whole["mask"], moved["mask"])
    apart = np.abs(wanted["image"].astype(int) - whole["image"]).max()
    assert apart <= 2 * sum(firing.levels for firing in plan.fired), apart


def coloured(recipe: Recipe) -> list[Step]:
    """The steps that change colours."""
    return [one for step in recipe.steps for one in singles(step) if colours(one)]


MOST_APART = 12  # levels a step, where an image is smooth: hue is counted in steps of two degrees, and those averaged


def near_none_where_smooth(recipe: Recipe, seed: int) -> None:
    """Where one level passes into the next nothing hangs on whether colours are resampled or resamplings coloured."""
    none, fast = (made(recipe, optimize, seed, smooth(seed))["image"].astype(int) for optimize in ("none", "fast"))
    assert np.abs(none - fast).max() <= MOST_APART * len(coloured(recipe))


def apart(recipe: Recipe, seed: int, image: np.ndarray) -> float:
    """How many levels `fast` is from `none` on the whole."""
    none, fast = (made(recipe, optimize, seed, image)["image"].astype(int) for optimize in ("none", "fast"))
    return float(np.abs(none - fast).mean())


def near_none_as_the_merge_is(recipe: Recipe, seed: int) -> None:
    """With noise, edges and borders `fast` is as far from `none` as one resampling from two, by what colours amplify,
    and little further, though levels saturate, and where the warp does not act."""
    steps = coloured(recipe)
    gain = prod(max(1.0, record_of(one).gain or 1.0) for one in steps)
    for image, more in ((noise_and_edges(seed), 6), (smooth(seed), 1)):
        assert apart(recipe, seed, image) <= gain * (1.3 * apart(only(recipe, moves), seed, image) + more * len(steps))


def test_what_is_made_is_what_colours_make_of_one_resampling() -> None:
    holds(colours_of_one_resampling, ANY, SEEDS)


def test_smooth_images_are_those_of_none() -> None:
    holds(near_none_where_smooth, FOLDS, SEEDS)


def test_others_are_as_near_to_none_as_the_merge_is() -> None:
    holds(near_none_as_the_merge_is, ANY, SEEDS)


WARP, RESIZE, CROP = (
    "Rotate: {limit: [20, 30]}",
    "Resize: {height: 40, width: 48}",
    "RandomCrop: {height: 40, width: 48}",
)
JITTER = "ColorJitter: {brightness: 0, contrast: [0.3, 0.3], saturation: 0, hue: 0}"


def chain(text: str, **inputs: Any) -> Recipe:
    steps = label([Step(name, Arguments(args), p=1.0) for name, args in pool(text)])
    return Recipe("law", steps=steps, inputs=Inputs(**inputs), output=Output(dtype="uint8", layout="hwc"))


@pytest.mark.parametrize(
    ("steps", "planned"),
    [
        (f"{WARP}, RGBShift, {RESIZE}", [2, 1]),
        (f"{WARP}, {JITTER}, {RESIZE}", [2, 1]),
        (f"{WARP}, {JITTER}, {CROP}", [1, 1, 1]),  # it sees the mean of all
        (f"{WARP}, {JITTER}, {RESIZE}, {CROP}", [2, 1, 1]),
        (f"{WARP}, RGBShift, HorizontalFlip, {RESIZE}, HueSaturationValue, {CROP}", [4, 1, 1]),
        (f"{WARP}, RandomGamma, {RESIZE}, Blur, {CROP}", [2, 1, 1, 1]),
        (f"{WARP}, Posterize, {RESIZE}", [1, 1, 1]),
        (f"{WARP}, Blur, {RESIZE}", [1, 1, 1]),
        (f"{WARP}, RGBShift, {WARP}", [1, 1, 1]),  # it shows what lies beyond the image
        (f"{WARP}, RGBShift, RandomCrop: {{height: 9, width: 9, pad_if_needed: true}}", [1, 1, 1]),
        (f"{WARP}, HorizontalFlip, {CROP}, CLAHE", [3, 1]),
        (f"{WARP}, RGBShift, {RESIZE}, CLAHE", [1, 1, 1, 1]),  # it would react to the difference
        (f"{WARP}, {RESIZE}, RandomBrightnessContrast: {{contrast_limit: [1, 1]}}", [2, 1]),
        (f"{WARP}, {RESIZE}, RandomBrightnessContrast: {{contrast_limit: [3, 3]}}", [1, 1, 1]),  # it amplifies fourfold
        (f"{WARP}, {RESIZE}, ColorJitter: {{brightness: 0.1, contrast: 0.1, saturation: 0.1}}", [2, 1]),
        (f"{WARP}, {RESIZE}, ColorJitter: {{brightness: [1, 5]}}", [1, 1, 1]),
        (f"{WARP}, {RESIZE}, HueSaturationValue", [2, 1]),  # hues of what is nearly grey alone
        (f"HorizontalFlip, RGBShift, {RESIZE}", [1, 1, 1]),  # one resampling, whatever is done
        (
            "CenterCrop: {height: 20, width: 20}, Rotate, ToSepia, " + RESIZE,
            [3, 1],
        ),  # any resize counts as one that shrinks
    ],
)
def test_what_passes(steps: str, planned: list[int]) -> None:
    found = [len([*singles(node)]) for node in plan_of(chain(steps)).steps]
    assert found == planned


def test_boxes_are_filtered_where_they_were() -> None:
    assert len(plan_of(chain(f"{WARP}, RGBShift, {RESIZE}", boxes=Boxes())).steps) == 3


def refused(step: Any, _: int) -> NativeOp:
    return NativeOp(DRAWS.NOTHING, EFFECTS.MERGES)


test_planted_faults_are_caught = planted_faults({
    "levels that jump pass too": (
        planted(near_none_where_smooth, recipes("reflect_101", colours=JUMPS), SEEDS),
        (rules, "_goes_by_pixels", lambda step: True),
    ),
    "the mean of a window": (
        lambda _: near_none_as_the_merge_is(chain(f"{WARP}, {JITTER}, {CROP}"), 1),
        (rules, "_sees_mean", lambda step: False),
    ),
    "colours of a border that comes after them": (
        lambda _: near_none_as_the_merge_is(chain(f"{WARP}, InvertImg, {WARP}"), 1),
        (rules, "_shows_fewer", lambda step, all_of_it: True),
    ),
    "colours in another order": (
        planted(colours_of_one_resampling, ANY, SEEDS), (sys.modules[__name__], "colours", moves),
    ),
    "samples that run as they are written": (
        planted(colours_of_one_resampling, ANY, SEEDS), (walk, "_encode_merged_colour", refused),
    ),
})  # fmt: skip
