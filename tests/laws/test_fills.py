"""Fills are levels of every channel in the image's own unit, and what was written in masks of every dtype."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from support.checks import planted_faults
from support.every_class import pool

import augrecipes as ar
from augrecipes.compiler.run import targets
from augrecipes.ops import fills

# Each with arguments under which it fills something.
FILLING = dict(
    pool("""
    Rotate: {limit: [40, 40], border_mode: constant}, SafeRotate: {limit: [40, 40], border_mode: constant},
    Affine: {rotate: [40, 40], border_mode: constant}, CornerAffine: {shear: [20, 20], border_mode: constant},
    ShiftScaleRotate: {rotate_limit: [40, 40], border_mode: constant},
    Perspective: {scale: [0.2, 0.2], fit_output: true},
    ElasticTransform: {alpha: 300, sigma: 6, border_mode: constant},
    GridDistortion: {distort_limit: [0.9, 0.9], normalized: false, border_mode: constant},
    ThinPlateSpline: {scale_range: [0.5, 0.5], border_mode: constant}, Pad: {padding: 4},
    PadIfNeeded: {min_height: 80, min_width: 90, border_mode: constant}, CropAndPad: {px: 6},
    RandomCrop: {height: 80, width: 90, pad_if_needed: true}, CenterCrop: {height: 80, width: 90, pad_if_needed: true},
    CoarseDropout, GridDropout, Erasing: {scale: [0.1, 0.2]}, PixelDropout: {dropout_prob: 0.3},
    XYMasking: {num_masks_x: [1, 1], num_masks_y: [1, 1], mask_x_length: [5, 9], mask_y_length: [5, 9]}
""")
)
NAMES = {"PixelDropout": ("drop_value", "mask_drop_value")}
MODES = pytest.mark.parametrize("mode", ["none", "exact", "fast"])
EACH = pytest.mark.parametrize("name", FILLING)


def compiled(mode: str, name: str, more: dict[str, Any], output: str = "float32") -> ar.Pipeline:
    step = {name: {**FILLING[name], **more, **({} if name.endswith(("Pad", "Needed", "Crop")) else {"p": 1.0})}}
    recipe = {"version": 1, "recipe": "t", "inputs": {"mask": "optional"}, "steps": [step], "eval": []}
    return ar.load({**recipe, "output": {"dtype": output, "layout": "hwc"}}).compile(optimize=mode, seed=0)  # type: ignore[arg-type]


def filled(pipeline: ar.Pipeline, channels: int, dtype: str) -> np.ndarray:
    """What becomes of a black image, in levels."""
    return np.asarray(pipeline.at(0)(image=np.zeros((60, 70, channels), dtype))["image"]) * 255


def levels_law(mode: str, name: str, *channels: int) -> None:
    """Of a black image there is black, the fill, and between them what is interpolated, alike in all channels."""
    pipeline = compiled(mode, name, {NAMES.get(name, ("fill",))[0]: 114})
    for count, dtype in product(channels, ("uint8", "float32")):
        found = filled(pipeline, count, dtype)
        assert abs(found.max() - 114) < 0.01
        np.testing.assert_allclose(found, np.broadcast_to(found[..., :1], found.shape), atol=0.01)


@MODES
@EACH
def test_one_number_is_for_all_channels_of_floats_and_levels(mode: str, name: str) -> None:
    levels_law(mode, name, 1, 2, 3, 5)


@MODES
@pytest.mark.parametrize("name", [name for name in FILLING if name != "CropAndPad"])  # which draws from a list
def test_a_list_is_a_level_for_each_channel(mode: str, name: str) -> None:
    key = NAMES.get(name, ("fill",))[0]
    three, two = compiled(mode, name, {key: [30, 60, 90]}), compiled(mode, name, {key: [30, 60]})
    for dtype in ("uint8", "float32"):
        np.testing.assert_allclose(filled(three, 3, dtype).max(axis=(0, 1)), [30, 60, 90], atol=0.01)
        with pytest.raises(ar.DataError, match="2 levels and the image has 3 channels"):
            filled(two, 3, dtype)


INTEGERS = ("uint8", "int8", "uint16", "int16", "int32", "int64")


def masks_law(mode: str, name: str, fill: int, *dtypes: str) -> None:
    key = NAMES.get(name, ("", "fill_mask"))[1]
    image = np.random.default_rng(0).integers(0, 256, (60, 70, 3), np.uint8)
    for output in ("float32", "uint8"):
        pipeline = compiled(mode, name, {key: fill}, output)
        for dtype in dtypes:
            mask = (np.arange(60 * 70).reshape(60, 70) % 2).astype(dtype)
            found = pipeline.at(0)(image=image, mask=mask)["mask"]
            assert set(np.unique(found).tolist()) == {0, 1, fill}, (dtype, found.dtype)


@MODES
@EACH
def test_masks_hold_what_was_written(mode: str, name: str) -> None:
    for fill in (-100, 255, 65535):
        masks_law(mode, name, fill, "bool", *INTEGERS, "float32", "float64")


test_planted_faults_are_found = planted_faults(
    {
        "floats in levels": (lambda _: levels_law("exact", "Pad", 3), (fills, "_MOST_LEVEL", 1)),
        "one channel": (
            lambda _: levels_law("none", "Perspective", 3),
            (fills, "_is_for_opencv", lambda *_: False),
        ),
        "narrow masks": (
            lambda _: masks_law("exact", "Pad", -100, "uint8"),
            (targets, "mask_dtype", lambda dtype, _: dtype),
        ),
    }
)
