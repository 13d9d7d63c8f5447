"""What lies on an image goes where the pixels under it go: ramps, whose pixels tell where they come from, say where."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.checks import planted_faults

import augrecipes as ar
from augrecipes.compiler.lowering import lower
from augrecipes.ops import matrices, places
from augrecipes.ops.records import op_record, record_names
from augrecipes.ops.registry import plain

MODES = ("none", "exact", "fast")
BORDERS = ("constant", "reflect_101", "reflect", "replicate", "wrap")
UNIT = 127.5  # px that are 1 in a ramp, so that each is two levels
MATRIX_PX, FIELD_PX = 0.05, 0.5
ROUNDING_PX = 0.4  # of levels, and of the weights of kernels

Draw = np.random.Generator


def between(draw: Draw, low: float, high: float) -> list[float]:
    ends = sorted(draw.uniform(low, high, 2).round(3).tolist())
    return [ends[0], ends[1] + 0.01]


def sides(draw: Draw, low: int, high: int) -> dict[str, int]:
    height, width = draw.integers(low, high, 2).tolist()
    return {"height": height, "width": width}


def bordered(draw: Draw) -> dict[str, Any]:
    return {"border_mode": str(draw.choice(BORDERS))}


def padded_crop(draw: Draw) -> dict[str, Any]:
    return {**sides(draw, 30, 130), "pad_if_needed": True, **bordered(draw)}


def sized(draw: Draw) -> dict[str, Any]:
    return {"size": draw.integers(20, 80, 2).tolist(), "interpolation": "linear"}


def affine(draw: Draw) -> dict[str, Any]:
    made = {"rotate": between(draw, -60, 60), "scale": between(draw, 0.6, 1.5), "shear": between(draw, -20, 20)}
    return {
        **made,
        "translate_percent": between(draw, -0.2, 0.2),
        "fit_output": bool(draw.random() < 0.3),
        **bordered(draw),
    }


def nothing(_: Draw) -> dict[str, Any]:
    return {}


ARGUMENTS: dict[str, Callable[[Draw], dict[str, Any]]] = {
    **dict.fromkeys(("HorizontalFlip", "VerticalFlip", "TimeReverse", "Transpose", "RandomRotate90", "D4"), nothing),
    **dict.fromkeys(("SquareSymmetry", "BBoxSafeRandomCrop", "RandomCropFromBorders", "NoOp"), nothing),
    **dict.fromkeys(("RandomCrop", "CenterCrop"), padded_crop),
    "Crop": lambda d: {"x_min": 3, "y_min": 5, "x_max": int(d.integers(20, 130)), "y_max": 45, "pad_if_needed": True},
    "AtLeastOneBBoxRandomCrop": lambda d: sides(d, 20, 39),
    "CropNonEmptyMaskIfExists": lambda d: sides(d, 20, 39),
    "RandomCropNearBBox": lambda d: {"max_part_shift": 0.2},
    "CropAndPad": lambda d: {"px": d.integers(-9, 14, 4).tolist(), "keep_size": bool(d.random() < 0.5), **bordered(d)},
    "Pad": lambda d: {"padding": d.integers(0, 25, 4).tolist(), **bordered(d)},
    "PadIfNeeded": lambda d: {
        "min_height": int(d.integers(40, 150)),
        "min_width": 120,
        "position": "random",
        **bordered(d),
    },
    "Resize": lambda d: sides(d, 20, 200),
    "SmallestMaxSize": lambda d: {"max_size": int(d.integers(20, 150))},
    "LongestMaxSize": lambda d: {"max_size": int(d.integers(20, 150))},
    "RandomScale": lambda d: {"scale_limit": between(d, -0.6, 1.0)},
    "RandomResizedCrop": sized,
    "RandomSizedCrop": lambda d: {"min_max_height": [30, 39], **sized(d)},
    "RandomSizedBBoxSafeCrop": lambda d: sides(d, 30, 150),
    "Rotate": lambda d: {"limit": between(d, -90, 90), "crop_border": bool(d.random() < 0.3), **bordered(d)},
    "SafeRotate": lambda d: {"limit": between(d, -90, 90), **bordered(d)},
    "Affine": affine,
    "CornerAffine": lambda d: {"rotate": between(d, -20, 20), "shear": between(d, -20, 20)},
    "ShiftScaleRotate": lambda d: {"shift_limit": 0.2, "rotate_limit": between(d, -60, 60), **bordered(d)},
    "Perspective": lambda d: {
        "scale": [0.05, 0.15],
        "keep_size": bool(d.random() < 0.5),
        "fit_output": bool(d.random() < 0.5),
        **bordered(d),
    },
    "RandomGridShuffle": lambda d: {"grid": d.integers(2, 5, 2).tolist()},
    "ElasticTransform": lambda d: {"alpha": float(d.uniform(1, 90)), "sigma": float(d.uniform(4, 9)), **bordered(d)},
    "GridDistortion": lambda d: {
        "distort_limit": between(d, -0.5, 0.5),
        "normalized": bool(d.random() < 0.5),
        **bordered(d),
    },
    "OpticalDistortion": lambda d: {
        "distort_limit": between(d, -0.3, 0.3),
        "mode": str(d.choice(["camera", "fisheye"])),
        **bordered(d),
    },
    "ThinPlateSpline": lambda d: {"scale_range": between(d, 0.03, 0.1), **bordered(d)},
    "PiecewiseAffine": lambda d: {"scale": [0.01, 0.03], **bordered(d)},
    "GridElasticDeform": lambda d: {"num_grid_xy": [4, 3], "magnitude": 6},
}


def ramp_of(rows: int, columns: int) -> np.ndarray:
    """x and y of each pixel's centre, and 1 where there is a pixel of the image."""
    y, x = np.mgrid[:rows, :columns].astype(np.float32)
    return np.stack([x / UNIT, y / UNIT, np.ones_like(x)], axis=2)


def outline(box: np.ndarray, count: int) -> np.ndarray:
    """Points along the sides of a box, as pixel centres."""
    x_min, y_min, x_max, y_max = box
    along = np.linspace(0, 1, count)[:, None]
    corners = np.array([[x_min, y_min], [x_max, y_min], [x_max, y_max], [x_min, y_max], [x_min, y_min]])
    return np.concatenate([a + (b - a) * along for a, b in pairwise(corners)]) - 0.5


def run(name: str, arguments: dict[str, Any], mode: str, index: int, sample: dict[str, Any]) -> dict[str, Any]:
    inputs = {
        "mask": "required",
        "boxes": {"format": "pascal_voc", "labels": "c"},
        "keypoints": {"format": "xy", "labels": "k", "remove_invisible": False},
    }
    step = {name: {**arguments, "p": 1.0}}
    made = {"version": 1, "recipe": "t", "optimize": mode, "inputs": inputs, "steps": [step], "eval": []}
    made["output"] = {"dtype": "float32", "layout": "hwc"}
    return dict(ar.load(made).compile(seed=3).at(index)(**sample))


def cases(name: str, count: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Arguments and samples at random; sizes are not square."""
    for seed in range(count):
        draw = np.random.default_rng([seed, len(name)])
        rows, columns = draw.integers(40, 60), draw.integers(66, 100)
        low = draw.uniform([2, 2], [columns - 16, rows - 16], (4, 2))
        boxes = np.concatenate([low, low + draw.uniform(4, 13, (4, 2))], axis=1)
        points = draw.uniform([2, 2], [columns - 3, rows - 3], (9, 2))
        sides_of_boxes = np.concatenate([outline(box, 17) for box in boxes])
        yield (
            ARGUMENTS[name](draw),
            {
                "image": ramp_of(rows, columns),
                "mask": np.arange(rows * columns, dtype=np.uint16).reshape(rows, columns),
                "boxes": boxes,
                "c": [*range(4)],
                "keypoints": np.concatenate([points, sides_of_boxes]),
                "k": [*range(len(points) + len(sides_of_boxes))],
                **({"cropping_bbox": [10, 10, 50, 35]} if name == "RandomCropNearBBox" else {}),
            },
        )


def taken_at(image: np.ndarray, x: float, y: float) -> tuple[np.ndarray, float] | None:
    """Where an image's value at a place comes from, and how far the pixels around it are apart; None: not in it."""
    rows, columns = image.shape[:2]
    left, top = int(np.floor(x)), int(np.floor(y))
    if not (3 <= left < columns - 4 and 3 <= top < rows - 4):  # where resizes repeat the last pixel
        return None
    around = image[top - 1 : top + 3, left - 1 : left + 3].astype(np.float64)
    if (around[..., 2] < 1 - 1e-4).any():
        return None
    u, v = x - left, y - top
    four = around[1:3, 1:3, :2] * UNIT
    value = (four[0, 0] * (1 - u) + four[0, 1] * u) * (1 - v) + (four[1, 0] * (1 - u) + four[1, 1] * u) * v
    return value, float(
        np.abs(np.diff(around[..., :2] * UNIT, axis=0)).max() + np.abs(np.diff(around[..., :2] * UNIT, axis=1)).max()
    )


def points_law(
    name: str, arguments: dict[str, Any], sample: dict[str, Any], out: dict[str, Any], rounding: float = 0.0
) -> int:
    """One point out for one in, each where the pixel under it is; how many could be looked at."""
    record, image = op_record(name), np.asarray(out["image"])
    columns, rows = np.moveaxis(image[..., :2] * UNIT, 2, 0).copy()
    bare = not rounding and arguments.get("border_mode", "constant") == "constant"
    certain = np.pad(image[2:-2, 2:-2, 2] > 1 - 1e-4, 2)  # shows the image alone
    assert list(out["k"]) == sample["k"], "points are lost, doubled or reordered"
    seen, limit = 0, MATRIX_PX if record.has_matrix else FIELD_PX
    for point, (x, y) in zip(sample["keypoints"], np.asarray(out["keypoints"])[:, :2], strict=True):
        found, away = taken_at(image, x, y), np.maximum(np.abs(columns - point[0]), np.abs(rows - point[1]))
        if found is not None and found[1] < 8 and away.min() < 0.5:  # not at a seam, nor where a field folds over it
            seen += 1
            allowed = limit * max(1.0, found[1] / 2) + rounding
            assert np.abs(found[0] - point).max() < allowed, (point, (x, y), found)
        elif bare and not (0 <= x < image.shape[1] and 0 <= y < image.shape[0]):
            assert not (away[certain] < 0.1).any(), f"{point} can be seen, and is at {x, y}"
    return seen


def boxes_law(name: str, sample: dict[str, Any], out: dict[str, Any]) -> None:
    """Boxes are around what their sides' points have become, cut at the image's sides; others are dropped."""
    image, moved = np.asarray(out["image"]), np.asarray(out["keypoints"])[9:, :2].reshape(4, -1, 2) + 0.5
    limit = MATRIX_PX if op_record(name).has_matrix else FIELD_PX
    expected = {}
    for row, points in enumerate(moved):
        box = np.concatenate([points.min(axis=0), points.max(axis=0)])
        cut = np.clip(box, 0, [image.shape[1], image.shape[0]] * 2)
        if (cut[2:] - cut[:2] > 1e-3).all():
            expected[row] = cut
    found = dict(zip(out["c"], np.asarray(out["boxes"]), strict=True))
    for row in expected.keys() ^ found.keys():  # only those at the very side
        assert min((one[row][2:] - one[row][:2]).min() for one in (expected, found) if row in one) < limit, row
    for row in expected.keys() & found.keys():
        assert np.abs(expected[row] - found[row]).max() < limit, (row, expected[row], found[row])


def masks_law(sample: dict[str, Any], out: dict[str, Any]) -> None:
    """Each label is the one of the pixel that is nearest to where the image's pixel comes from."""
    image, columns = np.asarray(out["image"])[1:-1, 1:-1], sample["mask"].shape[1]
    y, x = np.divmod(np.asarray(out["mask"])[1:-1, 1:-1], columns)
    apart = np.maximum(np.abs(x - image[..., 0] * UNIT), np.abs(y - image[..., 1] * UNIT))
    steps = [np.abs(np.roll(image, by, axis) - image).max(axis=2) * UNIT for axis in (0, 1) for by in (-1, 1)]
    inside = (image[..., 2] > 1 - 1e-4) & (np.max(steps, axis=0) < 6)  # not at a seam
    inside[[0, -1]] = inside[:, [0, -1]] = False
    bad = inside & (apart > 0.5 + 0.06)
    assert bad.sum() <= 0.004 * inside.sum(), (
        f"{bad.sum()} of {inside.sum()} labels, by up to {apart[bad].max():.2f} px"
    )


def law(name: str, mode: str, count: int) -> int:
    seen = 0
    for index, (arguments, sample) in enumerate(cases(name, count)):
        out = run(name, arguments, mode, index, sample)
        seen += points_law(name, arguments, sample, out)
        if name not in ("RandomGridShuffle", "GridElasticDeform"):  # which tear boxes
            boxes_law(name, sample, out)
        masks_law(sample, out)
        levels = {**sample, "image": np.rint(sample["image"] * 255).astype(np.uint8)}
        again = run(name, arguments, mode, index, levels)
        points_law(name, arguments, sample, again, ROUNDING_PX)
        if mode == "fast" and name == "ElasticTransform":
            continue  # whose field is drawn anew for levels
        np.testing.assert_array_equal(again["mask"], out["mask"])
        for key in ("boxes", "keypoints"):
            np.testing.assert_allclose(again[key], out[key], atol=1e-3)
    return seen


def test_every_class_that_moves_pixels_is_here() -> None:
    assert {name for name in record_names() if op_record(name).moves} - {
        "Degrade",
        "ResizeToTarget",
    } == ARGUMENTS.keys()


# `none` and `fast` by turns; `fast` draws coarser fields for ElasticTransform.
OTHER_MODES = {name: ("none", "fast")[k % 2] for k, name in enumerate(ARGUMENTS)} | {"ElasticTransform": "fast"}


@pytest.mark.parametrize(
    ("name", "mode"), [(name, mode) for name in ARGUMENTS for mode in ("exact", OTHER_MODES[name])]
)
def test_what_lies_on_an_image_goes_along(name: str, mode: str) -> None:
    assert law(name, mode, 2) > 4


@pytest.mark.soak
@pytest.mark.parametrize("name", ARGUMENTS)
def test_what_lies_on_an_image_goes_along_soak(name: str) -> None:
    for mode in MODES:
        assert law(name, mode, 60) > 8


ANGLED = ("HorizontalFlip", "VerticalFlip", "Transpose", "RandomRotate90", "D4", "Rotate", "Affine", "SafeRotate")


def angles_law(name: str, mode: str) -> None:
    """A direction is that of two points a step apart along it: (cos a, sin a) in pixels, x to the right, y down."""
    for index, (arguments, sample) in enumerate(cases(name, 6)):
        points = np.array([[30.0, 20.0]] * 8)
        angles = np.arange(8) * 45.0 + 10
        ends = points + 3 * np.stack([np.cos(np.radians(angles)), np.sin(np.radians(angles))], axis=1)
        rows = np.concatenate([np.c_[points, angles], np.c_[ends, angles]])
        inputs = {"keypoints": {"format": "xya", "labels": "k", "remove_invisible": False}}
        step = {name: {**arguments, "p": 1.0}}
        made = {"version": 1, "recipe": "t", "optimize": mode, "inputs": inputs, "steps": [step], "eval": []}
        out = ar.load(made).compile(seed=3).at(index)(image=sample["image"], keypoints=rows, k=[*range(16)])
        moved = np.asarray(out["keypoints"], np.float64)
        x, y = (moved[8:, :2] - moved[:8, :2]).T
        turned = (np.degrees(np.arctan2(y, x)) - moved[:8, 2] + 180) % 360 - 180
        assert np.abs(turned).max() < 0.01, (arguments, turned)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [*ANGLED, "Perspective", "Resize", "RandomResizedCrop", "CropAndPad"])
def test_angles_are_those_of_directions(name: str, mode: str) -> None:
    angles_law(name, mode) if name != "Perspective" else angles_of_small_steps(mode)


def angles_of_small_steps(mode: str) -> None:
    """A perspective bends long steps; the angle is that of a short one."""
    inputs = {"keypoints": {"format": "xya", "labels": "k", "remove_invisible": False}}
    made = {"version": 1, "recipe": "t", "optimize": mode, "inputs": inputs, "eval": []}
    made["steps"] = [{"Perspective": {"scale": [0.1, 0.2], "p": 1.0}}]
    rows = np.array([[30, 20, 70], [30 + 0.02 * np.cos(np.radians(70)), 20 + 0.02 * np.sin(np.radians(70)), 70]])
    out = ar.load(made).compile(seed=3).at(1)(image=ramp_of(50, 80), keypoints=rows, k=[0, 1])
    (x0, y0, angle), (x1, y1, _) = np.asarray(out["keypoints"], np.float64).tolist()
    assert abs((np.degrees(np.arctan2(y1 - y0, x1 - x0)) - angle + 180) % 360 - 180) < 0.5


class Unmoved:
    """Planted: places that stay."""

    def apply_to_keypoints(self, keypoints: np.ndarray, **_: Any) -> np.ndarray:
        return keypoints


def shifted_half(name: str, *more: Any) -> np.ndarray:
    return matrices.translation(0.3, 0) @ own_matrix(name, *more)


def albumentations_own(step: Any) -> Any:
    return plain(step)


own_matrix, own_inverse = places.matrix_of, places.inverse_places
FAULTS = {
    "a third of a pixel beside": (lambda _: law("Rotate", "none", 2), (places, "matrix_of", shifted_half)),
    "a resize without the half pixel": (lambda _: law("Resize", "exact", 2), (lower, "construct", albumentations_own)),
    "points of mirrored images": (lambda _: law("Pad", "exact", 3), (lower, "construct", albumentations_own)),
    "a field's own points": (lambda _: law("GridDistortion", "none", 2), (lower, "construct", albumentations_own)),
    "an inverse one pixel off": (
        lambda _: law("ElasticTransform", "fast", 2),
        (places, "inverse_places", lambda x, y, points: own_inverse(x, y, points) + 1.0),
    ),
    "Newton's method without its end": (
        lambda _: law("OpticalDistortion", "none", 3),
        (places, "_newton", lambda maps, start, points: (start.copy(), np.full(len(start), 9.0))),
    ),
}
test_planted_faults_are_found = planted_faults(FAULTS)
