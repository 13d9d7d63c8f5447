"""Laws of `targets:`: further images of a scene go where the image goes, and what is a direction turns with it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from random_recipes import MOVES, Pool, assert_same, build, outcome, photo, pool, recipes, steps_for
from support.checks import FAILURES, SEEDS, holds, planted, planted_faults

import augrecipes as ar
from augrecipes.compiler.run import target_steps
from augrecipes.compiler.run.draw_without_pixels import StepMatrices
from augrecipes.compiler.run.draws import Draws
from augrecipes.errors import DataError, LintError
from augrecipes.ops.matrices import matrix_of
from augrecipes.recipe.model import Arguments, Output, Recipe
from augrecipes.recipe.targets import Target

SIZE = (40, 56)
# Whose geometry is a matrix; outside of an image is what fills it.
TURNS: Pool = pool("""
    HorizontalFlip, VerticalFlip, Transpose, RandomRotate90, D4, Rotate: {limit: 40}, SafeRotate: {limit: 30},
    Affine: {scale: [0.8, 1.2], rotate: [-20, 20], shear: [-9, 9]}, Affine: {rotate: [-90, 90], fit_output: true},
    ShiftScaleRotate, Rotate: {limit: 20, crop_border: true}
""")
SIZES: Pool = pool("""
    RandomCrop: {height: 24, width: 20}, CenterCrop: {height: 30, width: 30, pad_if_needed: true},
    RandomResizedCrop: {size: [30, 26]}, Resize: {height: 44, width: 32}, SmallestMaxSize: {max_size: 36},
    RandomScale, PadIfNeeded: {min_height: 48, min_width: 44}, RandomCropFromBorders, CropAndPad: {px: 4}
""")
PERSPECTIVES: Pool = pool("Perspective, Perspective: {keep_size: false, fit_output: true}")
# At even places of even sizes.
EVEN: Pool = pool("""
    HorizontalFlip, VerticalFlip, Transpose, RandomRotate90, D4, RandomCrop: {height: 24, width: 20},
    CenterCrop: {height: 18, width: 22, pad_if_needed: true}, Crop: {x_min: 2, y_min: 4, x_max: 18, y_max: 20},
    PadIfNeeded: {min_height: 48, min_width: 44}, RandomCropFromBorders: {crop_left: 0.4, crop_top: 0.3},
    RandomCrop: {height: 12, width: 30, pad_if_needed: true}
""")
GRIDS: Pool = TURNS + pool("Resize: {height: 44, width: 32}, RandomResizedCrop: {size: [30, 26]}") + PERSPECTIVES


def with_targets(recipe: Recipe, **targets: Target) -> Recipe:
    inputs = replace(recipe.inputs, targets=Arguments(targets))
    return replace(recipe, inputs=inputs, output=Output("float32", "hwc"))


def made(recipe: Recipe, seed: int, sample: dict[str, Any], index: int = 3) -> dict[str, Any]:
    """A sample, the same in every mode; none where a step fails on it."""
    done = outcome(build(recipe, "none", seed), index, sample)
    for optimize in ("exact", "fast"):
        assert_same(done, outcome(build(recipe, optimize, seed), index, sample))
    return done if isinstance(done, dict) else {}


# A target that has the image's pixels, or the mask's, comes out as those do.


def are_the_same(recipe: Recipe, seed: int) -> None:
    mine = with_targets(recipe, twin=Target("image"), ids=Target("mask"), cells=Target("masks"))
    image = photo(seed, 3, "uint8", SIZE)
    mask = np.random.default_rng(seed).integers(0, 200, SIZE).astype(np.uint8)
    sample = {"image": image, "twin": image, "mask": mask, "ids": mask, "cells": np.stack([mask, 200 - mask])}
    if done := made(mine, seed, sample):
        np.testing.assert_array_equal(done["twin"], done["image"])
        np.testing.assert_array_equal(done["ids"], done["mask"])
        np.testing.assert_array_equal(done["cells"][0], done["mask"])
        assert done["cells"].dtype == np.int64


def moves_alike(recipe: Recipe, seed: int) -> None:
    mine = with_targets(recipe, after=Target("image", share="geometry"))
    image = photo(seed, 3, "uint8", SIZE)
    if done := made(mine, seed, {"image": image, "after": image}):
        np.testing.assert_array_equal(done["after"], done["image"])


def numbers_move_as_floats_of_images_do(recipe: Recipe, seed: int) -> None:
    mine = with_targets(recipe, depth=Target("mask", interpolation="linear"))
    image = photo(seed, 3, "float32", SIZE)
    if done := made(mine, seed, {"image": image, "depth": image[..., 1]}):
        assert done["depth"].dtype == np.float32
        np.testing.assert_allclose(done["depth"], done["image"][..., 1], atol=1e-4)


LINEAR = pool("""
    D4, Rotate: {limit: 40, interpolation: linear}, RandomResizedCrop: {size: [30, 26]}, Affine: {rotate: [-20, 20]},
    ElasticTransform, GridDistortion, OpticalDistortion, Perspective, ThinPlateSpline, PiecewiseAffine,
    RandomCrop: {height: 24, width: 20}, Resize: {height: 30, width: 60}
""")


# Values that are drawn for each.

COLOURS = "[RandomBrightnessContrast: {p: 1}, GaussNoise: {p: 1}, OneOf: {steps: [Blur: {blur_limit: [3, 9], p: 1}]}]"


def test_each_date_has_colours_of_its_own() -> None:
    recipe = ar.load(
        "version: 1\nrecipe: a\ntargets: {b: {like: image, share: geometry}, c: {like: image, share: geometry}}\n"
        f"steps: {COLOURS}\neval: []"
    )
    pipeline = recipe.compile(seed=4, save_applied_params=True)
    image, other = photo(1, 3, "uint8", SIZE), photo(2, 3, "uint8", SIZE)
    for index in range(4):
        done = pipeline.at(index)(image=image, b=image, c=image)
        again = recipe.compile("train", optimize="none", seed=4).at(index)(image=other, b=image, c=other)
        for one, two in (("image", "b"), ("image", "c"), ("b", "c")):
            assert not np.array_equal(done[one], done[two]), (one, two)
        np.testing.assert_array_equal(done["b"], again["b"])  # whatever the others are
        labels = [label for label, *_ in done["applied"]]
        assert {"GaussNoise#1", "GaussNoise#1@b", "GaussNoise#1@c"} <= {*labels}


# Directions.


def steps_of(recipe: Recipe, seed: int, index: int) -> list[Any]:
    return StepMatrices(build(recipe, "none", seed).plain).moves((2, index, 0), (*SIZE, 3))


def vectors_turn(recipe: Recipe, seed: int) -> None:
    """A flow that is linear in the place, so that interpolation is exact: both of its ends move as the matrix says."""
    rng = np.random.default_rng(seed)
    inside = Target("mask", interpolation="linear", fill=0)
    mine = with_targets(recipe, flow=Target("vectors"), inside=inside)
    slope, start = rng.uniform(-0.05, 0.05, (2, 2)), rng.uniform(-3, 3, 2)
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    places = np.dstack([x, y])
    flow = (places @ slope.T + start).astype(np.float32)
    sample = {"image": photo(seed, 3, "uint8", SIZE), "flow": flow, "inside": np.ones(SIZE, np.float32)}
    done = outcome(build(mine, "none", seed), 3, sample)
    if not isinstance(done, dict):
        return
    matrix = StepMatrices(build(mine, "none", seed).plain).at((2, 3, 0), (*SIZE, 3))
    rows, columns = done["inside"].shape
    ends = np.dstack([*np.mgrid[:rows, :columns][::-1]])
    before = moved(np.linalg.inv(matrix), ends)
    expected = moved(matrix, before + before @ slope.T + start) - ends
    seen = (done["inside"] > 0.999) & (before >= 1).all(axis=2) & (before <= np.array(SIZE[::-1]) - 2).all(axis=2)
    assert np.abs(done["flow"] - expected)[seen].max(initial=0) < 0.05


def moved(matrix: np.ndarray, places: np.ndarray) -> np.ndarray:
    points = np.dstack([places, np.ones(places.shape[:2])]) @ matrix.T
    return points[..., :2] / points[..., 2:]


def normals_turn(recipe: Recipe, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mine = with_targets(
        recipe, even=Target("normals"), rough=Target("normals"), inside=Target("mask", interpolation="linear", fill=0)
    )
    normal, rough = rng.normal(size=3), rng.normal(size=(*SIZE, 3))
    lengths = 1 + rng.uniform() * 3
    sample = {
        "image": photo(seed, 3, "uint8", SIZE), "inside": np.ones(SIZE, np.float32),
        "even": np.broadcast_to(normal, (*SIZE, 3)).astype(np.float32),
        "rough": (rough * lengths / np.linalg.norm(rough, axis=2, keepdims=True)).astype(np.float32),
    }  # fmt: skip
    done = outcome(build(mine, "none", seed), 3, sample)
    if not isinstance(done, dict):
        return
    for move in steps_of(mine, seed, 3):
        left, _, right = np.linalg.svd(matrix_of(*move)[:2, :2])
        normal = np.append(left @ right @ normal[:2], normal[2])
    seen = done["inside"] > 0.999
    assert np.abs(done["even"] - normal)[seen].max(initial=0) < 1e-3
    assert np.abs(np.linalg.norm(done["rough"], axis=2) - lengths)[seen].max(initial=0) < 1e-2


# Other grids.


def other_grids_show_the_same(recipe: Recipe, seed: int) -> None:
    mine = with_targets(recipe, pan=Target("image", scale=2), low=Target("mask", scale=0.5))
    blocks = photo(seed, 3, "uint8", (SIZE[0] // 2, SIZE[1] // 2))
    image = doubled(blocks)
    sample = {"image": image, "pan": doubled(image), "low": blocks[..., 0]}
    if done := made(mine, seed, sample):
        np.testing.assert_array_equal(done["pan"], doubled(done["image"]))
        np.testing.assert_array_equal(doubled(done["low"]), np.rint(done["image"][..., 0] * 255))


def are_windows_of_both(recipe: Recipe, seed: int) -> None:
    low, image = np.zeros((SIZE[0] // 2, SIZE[1] // 2), np.uint8), photo(seed, 3, "uint8", SIZE)
    done = made(with_targets(recipe, low=Target("mask", scale=0.5)), seed, {"image": image, "low": low})
    assert done["image"].shape == (done["low"].shape[0] * 2, done["low"].shape[1] * 2, 3)


def doubled(image: np.ndarray) -> np.ndarray:
    return image.repeat(2, axis=0).repeat(2, axis=1)


def places_on_grids(recipe: Recipe, seed: int) -> None:
    """Ramps of the places in the image, on a grid of 2 and one of 1/2, lie where the matrix puts these."""
    ramp = Target("mask", interpolation="linear", fill=-99)
    names = {(axis, scale): f"{axis}{k}" for k, scale in enumerate((2, 0.5)) for axis in "xy"}
    mine = with_targets(recipe, **{name: replace(ramp, scale=scale) for (_, scale), name in names.items()})
    sample: dict[str, Any] = {"image": photo(seed, 3, "uint8", SIZE)}
    for (axis, scale), name in names.items():
        y, x = (np.mgrid[: int(SIZE[0] * scale), : int(SIZE[1] * scale)] + 0.5) / scale - 0.5
        sample[name] = (x if axis == "x" else y).astype(np.float32)
    done = outcome(build(mine, "none", seed), 3, sample)
    if not isinstance(done, dict):
        return
    matrix = StepMatrices(build(mine, "none", seed).plain).at((2, 3, 0), (*SIZE, 3))
    for k, scale in enumerate((2, 0.5)):
        shown = np.dstack([done[f"x{k}"], done[f"y{k}"]])
        y, x = (np.mgrid[: shown.shape[0], : shown.shape[1]] + 0.5) / scale - 0.5
        before = moved(np.linalg.inv(matrix), np.dstack([x, y]))
        # What fills the rest has come in from beyond an edge at most as often as there are steps.
        seen = (shown > 6).all(axis=2) & (shown < np.array(SIZE[::-1]) - 7).all(axis=2)
        seen &= np.abs(shown - before).max(axis=2) < 4
        assert seen.sum() >= (shown > 8).all(axis=2).sum() // 4
        assert np.abs(shown - before)[seen].max(initial=0) < 0.05 * max(1, 1 / scale)


# Each law, the steps of its recipes, and how many they have at most.
LAWS: dict[Any, tuple[Pool, int]] = {
    are_the_same: (steps_for(3), 8),
    moves_alike: (MOVES + TURNS + SIZES + pool("ElasticTransform, CoarseDropout"), 8),
    numbers_move_as_floats_of_images_do: (LINEAR, 3),
    vectors_turn: (TURNS + SIZES + PERSPECTIVES, 4),
    normals_turn: (TURNS + SIZES, 4),
    are_windows_of_both: (pool("RandomCrop: {height: 24, width: 20}, HorizontalFlip"), 8),
    other_grids_show_the_same: (EVEN, 8),
    places_on_grids: (GRIDS, 2),
}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law(law: Any) -> None:
    steps, most = LAWS[law]
    holds(law, recipes(steps, boxes=False, max_steps=most), SEEDS)


@pytest.mark.parametrize(
    ("targets", "steps", "said"),
    [
        ("flow: {like: vectors}", "ElasticTransform", "L607 .* flow cannot follow"),
        ("a: {like: normals}", "RandomGridShuffle", "L607"),
        ("pan: {like: image, scale: 2}", "GridDistortion", "L607 .* another grid"),
        ("low: {like: mask, scale: 0.25}", "RandomCrop: {height: 10, width: 8}", "L608 .* multiples of 4"),
        ("pan: {like: image, scale: 2}", "GaussNoise", "L608 .*write `share: geometry`"),
        ("pan: {like: image, scale: 2}", "CoarseDropout: {fill: random}", "L608 .* number as its `fill`"),
    ],
)
def test_what_cannot_be_carried_is_an_error_of_the_check(targets: str, steps: str, said: str) -> None:
    recipe = ar.load(f"version: 1\nrecipe: a\ntargets: {{{targets}}}\nsteps: [{steps}]\neval: []")
    with pytest.raises(LintError, match=said):
        recipe.compile()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "require 'after', and the sample has none"),
        ({"after": np.zeros((8, 9, 3), np.uint8)}, "after is 8×9 px, and the image is 12×16 px: it should be 12×16"),
        ({"low": np.zeros((12, 16), np.uint8)}, "low, of scale 0.5, is 12×16 px, and the image is 12×16 px: .* 6×8 px"),
        ({"flow": np.zeros((12, 16, 3), np.float32)}, "flow must be floats H×W×2"),
        ({"depth": np.full((12, 16), 0.5)}, "depth is float64 with values that uint16 does not hold"),
        ({"after": "a.png"}, "after must be a numpy array, got str"),
    ],
)
def test_what_does_not_lie_on_the_image_is_refused(more: dict[str, Any], said: str) -> None:
    recipe = ar.load(
        "version: 1\nrecipe: a\nsteps: []\neval: []\ntargets: {after: {like: image}, low: {like: mask, scale: 0.5, "
        "presence: optional}, flow: {like: vectors, presence: optional}, depth: {like: mask, dtype: uint16, "
        "presence: optional}}"
    )
    image = np.zeros((12, 16, 3), np.uint8)
    with pytest.raises(DataError, match=said):
        recipe.compile().at(0)(**{"image": image, **({"after": image} if more else {}), **more})


FILLED = (
    "version: 1\nrecipe: a\neval: []\nsteps: [CoarseDropout: {p: 1}, PadIfNeeded: {min_height: 20, min_width: 20}]\n"
)


@pytest.mark.parametrize(
    ("target", "fills"), [("mask, fill: 7", {7}), ("vectors, fill: 7", {7}), ("mask", {0}), ("image, fill: 255", {1.0})]
)
def test_a_fill_of_its_own_is_written_by_what_hides_and_what_pads(target: str, fills: set[float]) -> None:
    pipeline = ar.load(f"{FILLED}targets: {{t: {{like: {target}}}}}").compile()
    channels = {"mask": (), "vec": (2,), "ima": (3,)}[target[:3].replace("mas", "mask")]
    t = np.full((16, 16, *channels), 100, np.float32 if "image" not in target else np.uint8)
    done = pipeline.at(0)(image=np.zeros((16, 16, 3), np.uint8), t=t)["t"]
    hidden = {*np.unique(done).tolist()} - {100.0, np.unique(done)[0].item() if "image" in target else 0.5}
    assert hidden == fills
    assert (np.isclose(done, [*fills]).sum() > (400 - 256) * max(1, *channels, 1)) == ("fill" in target)


def _as_they_came(field: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return field


def _unsalted(self: Draws, site: str, *, add: Any = Draws.add, **how: Any) -> Any:
    return add(self, site.partition("@")[0], **how)


def _without_the_half_pixel(matrix: np.ndarray, factor: Any) -> np.ndarray:
    forth = np.diag([float(factor), float(factor), 1.0])
    return forth @ matrix @ np.linalg.inv(forth)


def _wherever(draw: Any, _cell: int, _grows: bool, params: Any, data: Any) -> Any:
    return draw(params=params, data=data)


def one_step(law: Any, steps: str) -> Any:
    return planted(law, recipes(pool(steps), boxes=False, max_steps=3).filter(_acts), SEEDS)


def _acts(recipe: Recipe) -> bool:
    return all(step.p in (None, 1.0) for step in recipe.walk())


test_planted_faults_are_caught = planted_faults(
    {
        "a flow that does not turn": (one_step(vectors_turn, "D4"), (target_steps, "turned_vectors", _as_they_came)),
        "normals that do not turn": (one_step(normals_turn, "D4"), (target_steps, "turned_normals", _as_they_came)),
        "the same draws for each": (lambda _: test_each_date_has_colours_of_its_own(), (Draws, "add", _unsalted)),
        "the step's own interpolation": (
            one_step(numbers_move_as_floats_of_images_do, "Rotate, RandomResizedCrop: {size: [30, 26]}"),
            (Target, "sampling", property(lambda _: None)),
        ),
        "a grid without the half pixel": (
            one_step(places_on_grids, "Rotate: {limit: [30, 40]}"),
            (target_steps, "in_pixels", _without_the_half_pixel),
        ),
        "windows anywhere": (
            one_step(are_windows_of_both, "RandomCrop: {height: 24, width: 20}"),
            (target_steps, "_on_cells", _wherever),
        ),
    },
    (*FAILURES, DataError, KeyError),
)  # fmt: skip
