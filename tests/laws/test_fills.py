"""Fills are levels of every channel in the image's own unit, and what was written in masks of every dtype."""

from typing import Any

import numpy as np
import pytest
from support.checks import planted_faults

import augrecipes as ar
from augrecipes.compiler.run import targets
from augrecipes.ops import fills

# Each with arguments under which it fills something.
FILLING: dict[str, dict[str, Any]] = {
    "Rotate": {"limit": [40, 40], "border_mode": "constant"},
    "SafeRotate": {"limit": [40, 40], "border_mode": "constant"},
    "Affine": {"rotate": [40, 40], "border_mode": "constant"},
    "CornerAffine": {"shear": [20, 20], "border_mode": "constant"},
    "ShiftScaleRotate": {"rotate_limit": [40, 40], "border_mode": "constant"},
    "Perspective": {"scale": [0.2, 0.2], "fit_output": True},
    "ElasticTransform": {"alpha": 300, "sigma": 6, "border_mode": "constant"},
    "GridDistortion": {"distort_limit": [0.9, 0.9], "normalized": False, "border_mode": "constant"},
    "ThinPlateSpline": {"scale_range": [0.5, 0.5], "border_mode": "constant"},
    "Pad": {"padding": 4},
    "PadIfNeeded": {"min_height": 80, "min_width": 90, "border_mode": "constant"},
    "CropAndPad": {"px": 6},
    "RandomCrop": {"height": 80, "width": 90, "pad_if_needed": True},
    "CenterCrop": {"height": 80, "width": 90, "pad_if_needed": True},
    "CoarseDropout": {},
    "GridDropout": {},
    "Erasing": {"scale": [0.1, 0.2]},
    "XYMasking": {"num_masks_x": [1, 1], "num_masks_y": [1, 1], "mask_x_length": [5, 9], "mask_y_length": [5, 9]},
    "PixelDropout": {"dropout_prob": 0.3},
}
NAMES = {"PixelDropout": ("drop_value", "mask_drop_value")}
MODES = pytest.mark.parametrize("mode", ["none", "exact", "fast"])
EACH = pytest.mark.parametrize("name", FILLING)


def run(mode: str, name: str, more: dict[str, Any], output: str = "float32", **sample: Any) -> dict[str, Any]:
    step = {name: {**FILLING[name], **more, **({} if name.endswith(("Pad", "Needed", "Crop")) else {"p": 1.0})}}
    made = {"version": 1, "recipe": "t", "optimize": mode, "inputs": {"mask": "optional"}, "steps": [step], "eval": []}
    made["output"] = {"dtype": output, "layout": "hwc"}
    return dict(ar.load(made).compile(seed=0).at(0)(**sample))


def levels_law(mode: str, name: str, channels: int, dtype: str) -> None:
    """Of a black image there is black, the fill, and between them what is interpolated, alike in all channels."""
    key = NAMES.get(name, ("fill",))[0]
    made = np.asarray(run(mode, name, {key: 114}, image=np.zeros((60, 70, channels), dtype))["image"]) * 255
    assert abs(made.max() - 114) < 0.01
    np.testing.assert_allclose(made, np.broadcast_to(made[..., :1], made.shape), atol=0.01)


@MODES
@EACH
@pytest.mark.parametrize("channels", [1, 2, 3, 5])
def test_one_number_is_for_all_channels_of_floats_and_levels(mode: str, name: str, channels: int) -> None:
    for dtype in ("uint8", "float32"):
        levels_law(mode, name, channels, dtype)


@MODES
@EACH
def test_a_list_is_a_level_for_each_channel(mode: str, name: str) -> None:
    key = NAMES.get(name, ("fill",))[0]
    if name == "CropAndPad":  # draws from a list
        return
    for dtype in ("uint8", "float32"):
        image = np.zeros((60, 70, 3), dtype)
        made = np.asarray(run(mode, name, {key: [30, 60, 90]}, image=image)["image"]) * 255
        np.testing.assert_allclose(made.max(axis=(0, 1)), [30, 60, 90], atol=0.01)
        with pytest.raises(ar.DataError, match="2 levels and the image has 3 channels"):
            run(mode, name, {key: [30, 60]}, image=image)


def masks_law(mode: str, name: str, dtype: str, fill: int) -> None:
    key = NAMES.get(name, ("", "fill_mask"))[1]
    mask = (np.arange(60 * 70).reshape(60, 70) % 2).astype(dtype)
    image = np.random.default_rng(0).integers(0, 256, (60, 70, 3), np.uint8)
    for output in ("float32", "uint8"):
        made = run(mode, name, {key: fill}, output, image=image, mask=mask)["mask"]
        assert set(np.unique(made).tolist()) == {0, 1, fill}, made.dtype


@MODES
@EACH
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "uint16", "int16", "int32", "int64", "float32", "float64"])
def test_masks_hold_what_was_written(mode: str, name: str, dtype: str) -> None:
    for fill in (-100, 255, 65535):
        masks_law(mode, name, dtype, fill)


test_planted_faults_are_found = planted_faults(
    {
        "floats in levels": (lambda _: levels_law("exact", "Pad", 3, "float32"), (fills, "_MOST_LEVEL", 1)),
        "one channel": (
            lambda _: levels_law("none", "Perspective", 3, "uint8"),
            (fills, "_is_for_opencv", lambda *_: False),
        ),
        "narrow masks": (
            lambda _: masks_law("exact", "Pad", "uint8", -100),
            (targets, "mask_dtype", lambda dtype, _: dtype),
        ),
    }
)
