"""`fast` keeps its contracts: the draws of `none`, places to 0.01 px, levels within a bound, labels that were there."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import MOVES, Pool, build, pool, recipes, targets
from support.checks import DEAR, SEEDS, holds, planted, planted_faults

from augrecipes.compiler.lowering import encodings
from augrecipes.compiler.rewrite import rules
from augrecipes.errors import DataError
from augrecipes.kinds.image import pipeline as of_images
from augrecipes.kinds.image.pipeline import ImagePipeline
from augrecipes.ops.constants import NEAREST
from augrecipes.recipe.model import Arguments, Output, Recipe, Step, label

# Grey images make some colour steps warn on every call, and one warp says that it is a special case of another.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

BORDERS = ("constant", "reflect_101", "reflect", "replicate")


def size(seed: int) -> tuple[int, int]:
    """Of the ramps: large enough that most of an image is far from its edges; odd and even, never square."""
    return 61 + seed % 2, 83 + seed // 2 % 2


WARPS: Pool = pool("""
    Rotate: {limit: 30}, Rotate: {limit: 30, crop_border: true}, SafeRotate: {limit: 30},
    Affine: {scale: [0.8, 1.3], rotate: [-20, 20], translate_percent: [-0.1, 0.1]},
    Affine: {shear: [-10, 10], fit_output: true}, ShiftScaleRotate, Perspective: {scale: [0.02, 0.06]},
    Perspective: {scale: [0.02, 0.06], keep_size: false}, RandomResizedCrop: {size: [41, 47], scale: [0.4, 1.0]},
    RandomSizedCrop: {min_max_height: [24, 32], size: [45, 50]}, Resize: {height: 53, width: 42},
    Resize: {height: 90, width: 110}, SmallestMaxSize: {max_size: 48}, LongestMaxSize: {max_size: 64},
    RandomScale: {scale_limit: [-0.3, 0.3]}
""")
# Small windows and padding leave nothing to compare; these leave most of the image.
WINDOWS: Pool = (
    *(move for move in MOVES if move[0] not in ("RandomCrop", "CenterCrop", "Crop")),
    ("RandomCrop", {"height": 36, "width": 40, "pad_if_needed": True}),
    ("CenterCrop", {"height": 38, "width": 38, "pad_if_needed": True}),
)


def with_border(steps: tuple[Step, ...], mode: str) -> tuple[Step, ...]:
    """The steps with one border mode for all that have one."""
    made = []
    for step in steps:
        has = step.name in {"Rotate", "SafeRotate", "Affine", "ShiftScaleRotate", "Perspective"}
        args = Arguments({**step.args.plain(), "border_mode": mode}) if has else step.args
        made.append(replace(step, args=args, steps=with_border(step.steps, mode)))
    return tuple(made)


def ramp(height: int, width: int) -> np.ndarray:
    """Float32 H×W×3: row and column of each pixel in 1/256, and a plateau that a border of zeros eats into."""
    y, x = np.mgrid[:height, :width].astype(np.float32)
    return np.dstack([(y + 8) / 256, (x + 8) / 256, np.full_like(y, 0.5)])


def run(pipeline: ImagePipeline, index: int, **given_targets: Any) -> dict[str, Any] | None:
    """The sample, or None where a random recipe is foolish."""
    try:
        return pipeline.at(index, 1)(**given_targets)
    except DataError:
        return None


def places(recipe: Recipe, index: int, seed: int) -> np.ndarray | None:
    """Where the pixels of `none` come from: of ramps of floats."""
    out = run(build(recipe, "none", seed), index, image=ramp(*size(seed)))
    return None if out is None else out["image"].transpose(1, 2, 0)


PERIOD = 16  # px of the waves that say where the pixels of uint8 images come from
BLOCK = 8  # px: a rounded level is 0.01 px of such a wave, and a mean over as many each way a tenth of that
MOST_APART = 0.015  # px: the contract's hundredth, and what is left of the rounding


def shown(recipe: Recipe, optimize: Any, index: int, seed: int) -> np.ndarray | None:
    """The same of uint8 images, h×w×2 in px, but for whole periods; and what an image of one level becomes."""
    height, width = size(seed)
    y, x = np.mgrid[:height, :width] * (2 * np.pi / PERIOD)
    waves = [np.cos(y), np.sin(y), np.cos(x), np.sin(x), np.zeros_like(y), np.zeros_like(y)]
    made = []
    for three in (waves[:3], waves[3:]):
        image = np.rint(127.5 + 120 * np.dstack(three)).astype(np.uint8)
        out = run(build(replace(recipe, output=Output("uint8", "hwc")), optimize, seed), index, image=image)
        if out is None:
            return None
        made.append(out["image"].astype(np.float64))
    c, s, d, t, level, _ = np.moveaxis(np.dstack(made), 2, 0)
    angles = [np.arctan2(up - 127.5, along - 127.5) * (PERIOD / (2 * np.pi)) for along, up in ((c, s), (d, t))]
    return np.dstack([*angles, level / 256])


def displacement(recipe: Recipe, seed: int, index: int) -> float:
    """The largest distance, in source pixels, between the places that `none` and `fast` show, where all is inside.

    Of blocks of pixels the mean. Infinite where `none` shows nothing but border and `fast` shows something.
    """
    where = places(recipe, index, seed)
    none, fast = (shown(recipe, optimize, index, seed) for optimize in ("none", "fast"))
    if where is None or none is None or fast is None:
        assert where is none is fast
        return 0.0
    assert where.shape[:2] == none.shape[:2] == fast.shape[:2]
    bare = replace(recipe, steps=with_border(recipe.steps, "constant"))
    mine, its = places(bare, index, seed), shown(bare, "fast", index, seed)
    if mine is None or its is None or mine.shape != where.shape:
        return 0.0
    if (its[..., 2] > 1e-3)[shrunk(shrunk(mine[..., 2] < 1e-6))].any():
        return float("inf")
    inside = core(where, [mine[..., 2]]) & (np.abs(its[..., 2] - 0.5) < 0.01)
    off = (none[..., :2] - fast[..., :2] + PERIOD / 2) % PERIOD - PERIOD / 2
    worst = 0.0
    for top in range(0, inside.shape[0] - BLOCK + 1, BLOCK):
        for left in range(0, inside.shape[1] - BLOCK + 1, BLOCK):
            part = np.s_[top : top + BLOCK, left : left + BLOCK]
            if inside[part].all():
                worst = max(worst, float(np.abs(off[part].mean(axis=(0, 1))).max()))
    return worst


def core(where: np.ndarray, plateaus: list[np.ndarray]) -> np.ndarray:
    """Where all is inside, without a rim: a resize repeats the edge of what it reads, and a later one enlarges it."""
    inside = np.logical_and.reduce([np.abs(one - 0.5) < 1e-6 for one in plateaus])
    if min(inside.shape) < 3:
        return np.zeros_like(inside)
    steps = np.hypot(*np.gradient(where[..., 0] * 256)) + np.hypot(*np.gradient(where[..., 1] * 256))
    enlarged = 2 / max(float(np.median(steps)), 0.05)  # output pixels along a source pixel
    for _ in range(2 + int(np.ceil(2 * max(enlarged, 1)))):
        inside = shrunk(inside)
    return inside


def shrunk(mask: np.ndarray) -> np.ndarray:
    """A mask without its rim: a resize repeats the edge of what it reads."""
    padded = np.pad(mask, 1)
    out = mask.copy()
    for dy in (0, 1, 2):
        for dx in (0, 1, 2):
            out &= padded[dy : dy + mask.shape[0], dx : dx + mask.shape[1]]
    return out


FLAT: Pool = (
    ("Perspective", {"scale": [0.05, 0.35], "fit_output": True}),
    ("Perspective", {"scale": [0.05, 0.35], "fit_output": True, "keep_size": False}),
    ("RandomScale", {"scale_limit": [-0.9, 0]}),
)


@pytest.mark.parametrize(("name", "args"), WARPS + FLAT)
def test_images_of_a_line_are_made_wherever_none_makes_them(name: str, args: dict[str, Any]) -> None:
    """What a line is drawn out to may have no matrix that leads back."""
    steps = (Step(name, Arguments(args), p=1.0), Step("Resize", Arguments({"height": 5, "width": 4}), p=1.0))
    pipelines = [build(Recipe("law", steps=label(steps)), optimize) for optimize in ("none", "fast")]
    for length in range(1, 30):
        for shape in ((length, 1, 3), (1, length, 3)):
            none, fast = (run(pipeline, length, image=np.full(shape, 200, np.uint8)) for pipeline in pipelines)
            assert (none and none["image"].shape) == (fast and fast["image"].shape)


def soft_mask_error() -> int:
    """Levels between the masks of `none` and `fast`, where they are asked to be blended and are a slope of noise."""
    args = [{"rotate": [20, 40], "scale": [2.0, 3.0]}, {"height": 20, "width": 20}]
    args[0] |= {"mask_interpolation": "linear"}
    named = zip(("Affine", "RandomCrop"), args, strict=True)
    recipe = Recipe("law", steps=label(tuple(Step(name, Arguments(given), p=1.0) for name, given in named)))
    mask = np.random.default_rng(0).integers(0, 256, (60, 80), np.uint8)
    sample = {"image": np.zeros((60, 80, 3), np.uint8), "mask": mask}
    masks = [build(recipe, optimize).at(0, 0)(**sample)["mask"] for optimize in ("none", "fast")]
    return int(np.abs(np.subtract(*(np.asarray(mask, np.int64) for mask in masks))).max())


def test_masks_that_are_blended_are_blended_by_fast_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert soft_mask_error() <= 1
    # Planted: nobody asks how.
    monkeypatch.setattr(rules, "effective", lambda step: {})
    seen_by_mask = encodings._mask_step

    def by_the_nearest(step: Any) -> Any:
        seen = seen_by_mask(step)
        if hasattr(seen, "interpolation"):
            seen.interpolation = NEAREST
        return seen

    monkeypatch.setattr(encodings, "_mask_step", by_the_nearest)
    assert soft_mask_error() > 50


def places_agree(recipe: Recipe, seed: int, border: str = "", samples: int = 2) -> None:
    recipe = replace(recipe, steps=with_border(recipe.steps, border)) if border else recipe
    for index in range(samples):
        assert displacement(recipe, seed, index) <= MOST_APART


@pytest.mark.parametrize("border", BORDERS)
def test_places_agree_to_a_hundredth_of_a_pixel(border: str) -> None:
    holds(places_agree, recipes(WARPS + WINDOWS, boxes=False, max_steps=5), SEEDS, st.just(border), st.just(2))


@DEAR
@given(recipes(WARPS + WINDOWS), SEEDS)
def test_labels_boxes_and_points(recipe: Recipe, seed: int) -> None:
    """Masks keep the labels that they had; boxes and keypoints go through the steps themselves, to the last bit."""
    sample = targets(recipe, seed, 3, "uint8")
    before = {key: np.array(value) for key, value in sample.items()}
    none, fast = (run(build(recipe, optimize, seed), 3, **sample) for optimize in ("none", "fast"))
    for key, value in before.items():
        np.testing.assert_array_equal(value, sample[key], err_msg=f"{key} was written to")
    if none is None or fast is None:
        assert none is fast
        return
    assert none.keys() == fast.keys()
    assert fast["image"].shape == none["image"].shape
    assert fast["mask"].shape == none["mask"].shape
    assert set(np.unique(fast["mask"])) <= {*np.unique(sample["mask"]).tolist(), 0}  # 0: beyond a constant border
    for key in none.keys() - {"image", "mask"}:
        np.testing.assert_array_equal(np.asarray(none[key]), np.asarray(fast[key]), err_msg=key)


COLOURS: Pool = (
    *pool("""
    ColorJitter: {brightness: 0.3, contrast: 0.3, saturation: 0.3, hue: 0.0},
    ColorJitter: {brightness: 0.1, contrast: 0.1, saturation: 0.1, hue: 0.0},
    ColorJitter: {brightness: 0.2, contrast: 0.1, saturation: 0.05, hue: 0.02},
    ColorJitter: {brightness: 0.5, contrast: 0.5, saturation: 0.5, hue: 0.5}, ToGray
"""),
    *(("ToGray", {"method": method}) for method in ("average", "desaturation", "from_lab", "max", "pca")),
    *pool("""
    ToSepia, PlanckianJitter, ChannelShuffle, RandomBrightnessContrast,
    RandomBrightnessContrast: {brightness_limit: 0.05, contrast_limit: 0.05}, RandomGamma: {gamma_limit: [70, 140]},
    InvertImg, StainJitter: {sigma: 0.1}
"""),
)


@DEAR
@given(recipes(COLOURS, boxes=False, max_steps=4), SEEDS)
def test_levels(recipe: Recipe, seed: int) -> None:
    image = targets(recipe, seed, 3, "uint8")["image"]
    none, fast = (run(build(recipe, optimize, seed), 2, image=image) for optimize in ("none", "fast"))
    assert none is not None
    assert fast is not None
    # What comes after a joined step, a table say, may enlarge what it has changed.
    bound = 2 * sum(firing.levels for firing in build(recipe, "fast").compiled.plans["uint8"].fired)
    worst = float(np.abs(none["image"] - fast["image"]).max() * 255)
    assert worst <= bound + 1e-3, worst


class Waves:
    """An image whose value is known at every real place: cosines of at most `highest` cycles a source pixel."""

    def __init__(self, highest: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        angle, length = rng.uniform(0, 2 * np.pi, 12), highest * np.sqrt(rng.uniform(0.1, 1, 12))
        self.waves = np.stack([length * np.sin(angle), length * np.cos(angle), rng.uniform(0, 1, 12)], axis=1)

    def __call__(self, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        total = sum(np.cos(2 * np.pi * (fy * y + fx * x + phase)) for fy, fx, phase in self.waves)
        return 0.5 + 0.04 * np.asarray(total)


ROUNDING = 0.1 / 255  # fixed-point weights, and levels rounded once or several times


@pytest.mark.parametrize("border", ["constant", "reflect_101"])
def test_never_further_from_the_truth(border: str) -> None:
    """On a band-limited image one resampling is at most as far from the true values as several.

    For plans that reduce first there is another measure, see `test_what_lies_beyond_a_reduced_image`.
    """

    def law(recipe: Recipe, seed: int) -> None:
        recipe = replace(recipe, steps=with_border(recipe.steps, border))
        bare = replace(recipe, steps=with_border(recipe.steps, "constant"))
        where, seen = places(recipe, 0, seed), places(bare, 0, seed)
        if where is None or seen is None or seen.shape != where.shape:
            return
        inside = core(where, [seen[..., 2]])
        if inside.sum() < 50:
            return
        y, x = where[..., 0] * 256 - 8, where[..., 1] * 256 - 8
        shrink = max(np.abs(np.diff(y[:, : x.shape[1]], axis=0)).max(), np.abs(np.diff(x, axis=1)).max(), 1.0)
        waves = Waves(0.25 / min(shrink, 2.0), seed)
        rows, columns = np.mgrid[: size(seed)[0], : size(seed)[1]].astype(np.float64)
        image = np.rint(np.repeat(waves(rows, columns)[..., None], 3, axis=2) * 255).astype(np.uint8)
        error = []
        for optimize in ("none", "fast"):
            out = run(build(recipe, optimize, seed), 0, image=image)
            assert out is not None
            error.append(float(np.sqrt(np.square(out["image"][0] - waves(y, x))[inside].mean())))
        assert error[1] <= error[0] * 1.02 + ROUNDING, error

    holds(law, recipes(WARPS + WINDOWS, boxes=False, max_steps=4), SEEDS)


SHRINKS: Pool = pool("""
    Rotate: {limit: 40}, Affine: {scale: [0.7, 1.2], rotate: [-30, 30], translate_percent: [-0.2, 0.2]},
    HorizontalFlip, Resize: {height: 22, width: 25}, Resize: {height: 11, width: 17}
""")


def border_error(recipe: Recipe, seed: int) -> float:
    """How far `fast` is from `none` on an image of long waves, borders included; 1 is full scale."""
    rows, columns = np.mgrid[: size(seed)[0], : size(seed)[1]].astype(np.float64)
    image = np.rint(np.repeat(Waves(0.012, seed)(rows, columns)[..., None], 3, axis=2) * 255).astype(np.uint8)
    none, fast = (run(build(recipe, optimize, seed), 0, image=image) for optimize in ("none", "fast"))
    return float(np.abs(none["image"] - fast["image"]).max())


@pytest.mark.parametrize("border", ["reflect_101", "reflect", "replicate"])
def test_what_lies_beyond_a_reduced_image_stays_where_it_was(border: str) -> None:
    def law(recipe: Recipe, seed: int) -> None:
        assert border_error(replace(recipe, steps=with_border(recipe.steps, border)), seed) < 0.04

    holds(law, recipes(SHRINKS, boxes=False, max_steps=3), SEEDS)


def as_fast(change: Callable[[tuple[Step, ...]], tuple[Step, ...]]) -> tuple[Any, str, Any]:
    """Planted: `fast` carries out other steps than `none`."""

    def careless(recipe: Recipe, optimize: Any, seed: int = 0) -> ImagePipeline:
        return honest(replace(recipe, steps=change(recipe.steps)) if optimize == "fast" else recipe, optimize, seed)

    return sys.modules[__name__], "build", careless


def borders_stay(_: Any) -> None:
    steps = label(
        [Step("Rotate", Arguments({"limit": 40}), p=1.0), Step("Resize", Arguments({"height": 8, "width": 12}))]
    )
    recipe = Recipe("law", steps=with_border(steps, "reflect_101"))
    assert max(border_error(recipe, seed) for seed in range(40)) < 0.04


honest, lower = build, of_images.lower


def keyed_by_place(steps: Any) -> Any:
    made, sites = lower(steps)
    return made, [(obj, f"{place}/{len(steps)}", False) for place, (obj, _, _) in enumerate(sites)]


PLACES = planted(places_agree, recipes(WARPS + WINDOWS, boxes=False, max_steps=4), SEEDS, st.just(""), st.just(1))
TENTH = Step("Affine", Arguments({"rotate": [0.1, 0.1]}), p=1.0, site="Affine#99")  # 0.05 px, 30 px from the middle
test_planted_faults_are_caught = planted_faults({
    "a tenth of a degree off": (PLACES, as_fast(lambda steps: (*steps, TENTH))),
    "a forgotten window: what a crop has removed shows up again": (
        PLACES, as_fast(lambda steps: tuple(step for step in steps if "Crop" not in step.name)),
    ),
    "steps in the wrong order": (PLACES, as_fast(lambda steps: steps[::-1])),
    "a reduced image has a border of its own": (borders_stay, as_fast(lambda steps: with_border(steps, "replicate"))),
    "draws keyed by place in the plan": (PLACES, (of_images, "lower", keyed_by_place)),
})  # fmt: skip
