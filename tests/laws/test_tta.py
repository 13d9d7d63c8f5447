"""Predictions that are the views themselves come back to the source: bit for bit, or within a fiftieth of a pixel."""

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import strategies as st
from support.checks import FAILURES, SEEDS, holds, planted, planted_faults, tries

import augrecipes as ar
from augrecipes.errors import DataError
from augrecipes.ops import matrices
from augrecipes.tta import image_views, predictions, windows
from augrecipes.tta.geometry import VIEWS, moved_keypoints, view_of

MOVES: list[dict[str, Any]] = [
    {"HorizontalFlip": {"p": 1}},
    {"Transpose": {"p": 1}},
    {"Pad": {"padding": [1, 2, 3, 4], "p": 1}},
    {"PadIfNeeded": {"min_height": 30, "min_width": 41, "p": 1}},
]
CUTS: list[dict[str, Any]] = [
    {"CenterCrop": {"height": 11, "width": 14, "pad_if_needed": True}},
    {"Crop": {"x_min": 2, "y_min": 1, "x_max": 9, "y_max": 8}},
    {"CropAndPad": {"px": [1, -2, -1, 3], "keep_size": False, "p": 1}},
]
SIZES: list[dict[str, Any]] = [
    {"Resize": {"height": 96, "width": 80, "p": 1}},
    {"SmallestMaxSize": {"max_size": 72, "p": 1}},
    {"LongestMaxSize": {"max_size": 60, "p": 1}},
    {"RandomScale": {"scale_limit": [0.3, 0.3], "p": 1}},
    {"CropAndPad": {"percent": [0.1, 0, 0.05, 0.1], "p": 1}},
]
WARPS: list[dict[str, Any]] = [
    {"Affine": {"rotate": [20, 20], "scale": [0.9, 0.9], "translate_px": [3, 3], "shear": [4, 4], "p": 1}},
    {"Affine": {"rotate": [30, 30], "fit_output": True, "p": 1}},
    {"Rotate": {"limit": [8, 8], "crop_border": True, "p": 1}},
    {"SafeRotate": {"limit": [25, 25], "p": 1}},
    {"ShiftScaleRotate": {"shift_limit": [0.1, 0.1], "scale_limit": [0.1, 0.1], "rotate_limit": [7, 7], "p": 1}},
]
OFTEN = tries(150)
LENGTHS = st.integers(9, 40)
TILES = st.none() | st.builds(
    lambda size, part: {"size": size, "overlap": part}, LENGTHS, st.sampled_from([0, 0.25, 0.5])
)
WORDS = st.sampled_from([*VIEWS])
LAYOUTS = st.sampled_from(["chw", "hwc"])


def steps(pool: list[dict[str, Any]], most: int = 2) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(st.sampled_from(pool), max_size=most, unique_by=str)


def recipe(evaluation: Any, views: str, tile: Any = None, **more: Any) -> ar.Recipe:
    said = {"views": views} | ({} if tile is None else {"tile": tile})
    return ar.load({"version": 1, "recipe": "views", "steps": [], "eval": evaluation, "tta": said, **more})


def noise(seed: int, height: int, width: int, channels: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)


# Flips, turns and windows: the very bits.


def come_back(
    evaluation: Any, views: str, tile: Any, layout: str, dtype: str, height: int, width: int, seed: int
) -> None:
    of = recipe(evaluation, views, tile, output={"dtype": dtype, "layout": layout})
    image, labels = noise(seed, height, width), noise(seed + 1, height, width, 1)[..., 0].astype(np.int64)
    split = ar.tta(of).split(image=image, mask=labels)
    if tile is None:
        sample = of.compile("eval").at(0)(image=image, mask=labels)
        np.testing.assert_array_equal(split[0]["image"], sample["image"])
        np.testing.assert_array_equal(split[0]["mask"], sample["mask"])
    mask = split.merge((sample["mask"] for sample in split), "mask", fill=-1)
    seen = mask >= 0
    assert mask.shape == (height, width) and (seen.all() or not set(map(str, MOVES)).issuperset(map(str, evaluation)))
    np.testing.assert_array_equal(mask[seen], labels[seen])
    source = recipe([], "none", output={"dtype": dtype, "layout": layout}).compile("eval").at(0)(image=image)["image"]
    back = split.merge((sample["image"] for sample in split), "image", fill=0)
    assert back.shape == source.shape and back.dtype == source.dtype
    where = seen[None] if layout == "chw" else seen[..., None]
    np.testing.assert_array_equal(np.where(where, back, 0), np.where(where, source, 0))
    scores = split.merge([np.stack([sample["mask"] * 0.1] * 2) for sample in split], "mask", "median", fill=0)
    np.testing.assert_array_equal(scores, np.where(seen, labels * 0.1, 0)[None].repeat(2, 0))


DTYPES = st.sampled_from(["float32", "uint8"])
EXACTLY = (steps(MOVES + CUTS), WORDS, TILES, LAYOUTS, DTYPES, LENGTHS, LENGTHS, SEEDS)


def test_flips_turns_and_windows_come_back_bit_for_bit() -> None:
    holds(come_back, *EXACTLY, tried=OFTEN)


def any_values_come_back(
    views: str, tile: Any, layout: str, dtype: str, how: str, height: int, width: int, seed: int
) -> None:
    """Of every dtype over all of its range, infinities among floats: what all views and windows say is the result."""
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        truth = random.choice([-np.inf, np.inf, 0, 0.1, -3e38], (3, height, width)).astype(dtype)
    else:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        truth = random.integers(low, high, (3, height, width), dtype, endpoint=True)
    of = recipe([], views, tile, output={"dtype": "uint8", "layout": layout})
    split = ar.tta(of).split(image=noise(seed, height, width))
    said = [
        view_of(truth[:, rows.start : rows.end, columns.start : columns.end], symmetry)
        for rows, columns in split.windows
        for symmetry in split.symmetries
    ]
    back = split.merge(said if layout == "chw" else [np.moveaxis(one, 0, -1) for one in said], "image", how)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back if layout == "chw" else np.moveaxis(back, -1, 0), truth)


NUMBERS = st.sampled_from(["uint8", "int16", "int32", "uint32", "int64", "uint64", "float32", "float64"])
ANY = (WORDS, TILES, LAYOUTS, NUMBERS, st.sampled_from(["mean", "max", "median"]), LENGTHS, LENGTHS, SEEDS)


def test_values_of_every_dtype_come_back_bit_for_bit() -> None:
    holds(any_values_come_back, *ANY, tried=OFTEN)


def infinities_stay(evaluation: Any, views: str, tile: Any, height: int, width: int, seed: int) -> None:
    """Scores on warped grids and on windows that say other things are never made no numbers."""
    random = np.random.default_rng(seed)
    split = ar.tta(recipe(evaluation, views, tile)).split(image=noise(seed, height, width))
    said = [random.choice([-np.inf, np.inf, 1], sample["image"].shape).astype(np.float32) for sample in split]
    for how in ("mean", "max", "median"):
        back = split.merge(said, "mask", how, fill=0)
        assert not np.isnan(back).any() and np.isinf(back).any()
    low = split.merge([np.minimum(one, 1) for one in said], "mask", fill=0)
    assert low.max() <= 1 and np.isneginf(low).any()


# Resizes and other warps: ramps, on which linear sampling is exact.


def ramps_come_back(evaluation: Any, views: str, tile: Any, height: int, width: int) -> None:
    y, x = np.mgrid[:height, :width].astype(np.float32)
    ramps = np.stack([x / 256, y / 256, np.ones_like(x)], axis=-1)
    split = ar.tta(recipe(evaluation, views, tile)).split(image=ramps)
    back = split.merge([sample["image"] for sample in split], "mask", fill=0)
    seen = np.pad(np.abs(back[2] - 1) < 1e-5, 1)  # nothing of borders in it
    inside = cv2.erode(seen.astype(np.uint8), np.ones((9, 9), np.uint8))[1:-1, 1:-1] > 0
    assert inside.mean() > 0.2
    off = 256 * np.abs(back[:2] - ramps.transpose(2, 0, 1)[:2]).max(axis=0)
    assert off[inside].max() < 0.02


WIDE = st.integers(70, 110)
WARPED = (steps(SIZES + WARPS), WORDS, st.none(), WIDE, WIDE)
INFINITE = (steps(SIZES + WARPS), WORDS, TILES, WIDE, WIDE, SEEDS)
RESIZED = (steps(SIZES[:3], 1), WORDS, st.just({"size": 64, "overlap": 0.4}), WIDE, WIDE)


@pytest.mark.parametrize("examples", [WARPED, RESIZED], ids=["whole", "windows"])
def test_warps_come_back_within_a_fiftieth_of_a_pixel(examples: Any) -> None:
    holds(ramps_come_back, *examples, tried=OFTEN)


def test_infinite_scores_stay_so() -> None:
    holds(infinities_stay, *INFINITE, tried=tries(40))


# Boxes and keypoints, through what keeps upright boxes upright.

FORMATS = st.sampled_from(["pascal_voc", "coco", "yolo", "albumentations"])
POINTS = st.sampled_from(["xy", "yx", "xyz"])


def boxes_come_back(evaluation: Any, views: str, tile: Any, form: str, height: int, width: int, seed: int) -> None:
    random, count = np.random.default_rng(seed), 6
    side = np.array([width, height]) if tile is None else np.full(2, int(tile["size"] * tile["overlap"] / 2))
    sizes = np.minimum(random.integers(2, 1 + side, (count, 2)), [width, height])
    corner = random.integers(0, 1 + np.array([width, height]) - sizes)
    corners = np.concatenate([corner, corner + sizes], axis=1)
    boxes = predictions.from_corners_px(corners, form, height, width)
    of = recipe(evaluation, views, tile, inputs={"boxes": {"format": form, "labels": "kinds", "clip": True}})
    split = ar.tta(of).split(image=noise(seed, height, width), boxes=boxes, kinds=np.arange(count))
    said = 0.9 - 0.1 * np.arange(count)
    found = split.merge(
        [{"boxes": one["boxes"], "labels": one["kinds"], "scores": said[one["kinds"]]} for one in split], "boxes"
    )
    np.testing.assert_array_equal(found["labels"], np.arange(count))
    np.testing.assert_allclose(found["scores"], said, atol=1e-6)
    back = predictions.corners_px(found["boxes"], form, height, width)
    np.testing.assert_allclose(back, corners, atol=0.02)


def keypoints_come_back(evaluation: Any, views: str, tile: Any, form: str, height: int, width: int, seed: int) -> None:
    random, count = np.random.default_rng(seed), 7
    points = np.zeros((count, len(form)))
    for axis, most in (("x", width - 1), ("y", height - 1), ("z", 9)):
        if axis in form:
            points[:, form.index(axis)] = random.uniform(0, most, count)
    of = recipe(evaluation, views, tile, inputs={"keypoints": {"format": form, "remove_invisible": False}})
    split = ar.tta(of).split(image=noise(seed, height, width), keypoints=points)
    said, missing = [sample["keypoints"] for sample in split], random.random(count) < 0.2
    for one in (points, *said):  # no view has found these
        one[missing] = np.nan
    back = split.merge(said, "keypoints")
    if tile is not None:  # window by window
        points, back = (each[np.argsort(each[:, 0])] for each in (points, back))
    np.testing.assert_allclose(back, points, atol=0.02)


UPRIGHT = (steps(MOVES + SIZES), WORDS, st.none())
IN_WINDOWS = (steps(MOVES, 1), WORDS, st.just({"size": 40, "overlap": 0.5}))


@pytest.mark.parametrize("examples", [UPRIGHT, IN_WINDOWS], ids=["whole", "windows"])
def test_boxes_and_keypoints_come_back(examples: Any) -> None:
    holds(boxes_come_back, *examples, FORMATS, WIDE, WIDE, SEEDS, tried=OFTEN)
    holds(keypoints_come_back, *examples, POINTS, WIDE, WIDE, SEEDS, tried=OFTEN)


# Pairs: predictions on a finer grid.


def finer_comes_back(views: str, tile: Any, crop: bool, height: int, width: int, seed: int) -> None:
    evaluation = [{"CenterCrop": {"height": 20, "width": 28, "at": "hr"}}] if crop and tile is None else []
    of = recipe(evaluation, views, tile, kind="pair", scales={"lr": 1, "hr": 4})
    lr = noise(seed, height, width)
    split = ar.tta(of).split(lr=lr)
    grown: Callable[[np.ndarray], np.ndarray] = lambda image: image.repeat(4, axis=1).repeat(4, axis=2)  # noqa: E731
    back = split.merge((grown(sample["lr"]) for sample in split), "image", fill=0)
    wanted = grown(recipe([], "none").compile("eval").at(0)(image=lr)["image"])
    if evaluation:
        y, x = 4 * ((height - 5) // 2), 4 * ((width - 7) // 2)
        wanted, back = (each[:, y : y + 20, x : x + 28] for each in (wanted, back))
    np.testing.assert_array_equal(back, wanted)


PAIRED = (WORDS, TILES, st.booleans(), LENGTHS, LENGTHS, SEEDS)


def test_finer_predictions_come_back_bit_for_bit() -> None:
    holds(finer_comes_back, *PAIRED, tried=OFTEN)


# Planted faults.

scaled, spans, owns = matrices.scaling, windows.spans, windows.Span.owns
EXACT, RAMPS, TILED = (
    planted(come_back, *EXACTLY),
    planted(ramps_come_back, *WARPED),
    planted(ramps_come_back, *RESIZED),
)
WHOLE_BOXES = planted(boxes_come_back, *UPRIGHT, FORMATS, WIDE, WIDE, SEEDS)
BOXES = planted(boxes_come_back, *IN_WINDOWS, FORMATS, WIDE, WIDE, SEEDS)
KEYPOINTS = planted(keypoints_come_back, *UPRIGHT, POINTS, WIDE, WIDE, SEEDS)
VALUES = planted(any_values_come_back, *ANY)


def _summed(self: Any, planes: np.ndarray, weight: np.ndarray, rows: slice, columns: slice) -> None:
    self.weight[rows, columns] += weight
    self.planes[:, rows, columns] += planes


def _shifted_spans(length: int, tile: Any) -> Any:
    first, *others = spans(length, tile)
    return (first, *(windows.Span(s.start - 1, s.end - 1, s.low, s.high) for s in others))


def _between(one: np.ndarray, other: np.ndarray, part: float) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):
        return (one + (other - one) * part).astype(one.dtype)


def _rounded(arrays: list[np.ndarray]) -> np.ndarray:
    return sum(arrays[1:], arrays[0]) * np.float32(1 / len(arrays) + 1e-7)


test_planted_faults_are_caught = planted_faults(
    {
        "a quarter turn undone by itself": (EXACT, (predictions, "undone", lambda symmetry: symmetry)),
        "windows that are added up": (EXACT, (windows.Canvas, "add", _summed)),
        "weights that reach zero": (
            EXACT, (predictions, "weights", lambda h, w: np.outer(np.hanning(h), np.hanning(w)).astype(np.float32))
        ),
        "a gap between windows": (
            EXACT, (image_views, "spans", lambda n, tile: spans(n, tile)[::2])
        ),
        "a mean that rounds": (
            EXACT, (predictions, "MERGES", predictions.MERGES | {"median": _rounded})
        ),
        "a mean that knows no infinity": (VALUES, (predictions, "between", _between)),
        "integers as floats": (VALUES, (predictions, "array_of", lambda one, *_: np.asarray(one, np.float64))),
        "a pixel that is off": (
            EXACT, (matrices, "symmetry_matrix", lambda symmetry, size: matrices.translation(1, 0) @ np.eye(3))
        ),
        "sizes without the half pixel": (
            RAMPS, (matrices, "scaling", lambda y, x, centres=True: scaled(y, x, centres=False))
        ),
        "the same in windows": (
            TILED, (matrices, "scaling", lambda y, x, centres=True: scaled(y, x, centres=False))
        ),
        "boxes about pixels' centres": (
            WHOLE_BOXES, (predictions, "of_corners", lambda matrix: matrix)
        ),
        "boxes that no window owns alone": (BOXES, (windows.Span, "owns", lambda self, at, slack=0: at >= -np.inf)),
        "keypoints half a pixel off": (
            KEYPOINTS, (predictions, "moved_keypoints", lambda points, *how: moved_keypoints(points, *how) + 0.5)
        ),
    },
    (*FAILURES, DataError),
)  # fmt: skip
