"""docs/OPS.md is what the records say; and what these say of arguments is what the encoders do."""

import re
from typing import Any

import pytest
from ops_page import PAGE, page

from augrecipes.compiler.lowering.walk import encode
from augrecipes.native.kernels import library
from augrecipes.ops.record import OpRecord
from augrecipes.ops.records import op_record, record_names
from augrecipes.ops.registry import construct
from augrecipes.recipe.model import Arguments, Step

NATIVE = [name for name in record_names() if op_record(name).native]
HAS_KERNELS = pytest.mark.skipif(library() is None, reason="no native kernels here")
_SIDES = {"height": 9, "width": 8}
# What a class needs to be built at all.
NEEDED: dict[str, dict[str, Any]] = {
    "Crop": {"x_max": 9, "y_max": 8},
    **dict.fromkeys(("CenterCrop", "RandomCrop", "AtLeastOneBBoxRandomCrop", "Resize"), _SIDES),
    "RandomSizedBBoxSafeCrop": _SIDES,
    "LongestMaxSize": {"max_size": 9},
    "SmallestMaxSize": {"max_size": 9},
    "RandomResizedCrop": {"size": [9, 8]},
    "RandomSizedCrop": {"min_max_height": [3, 5], "size": [9, 8]},
    "ResizeToTarget": {"method": "area"},
}
_RESIZES = ({"interpolation": "lanczos4"},)
_WARPS = ({"interpolation": "cubic"},)
_SIZES = (*_RESIZES, {"max_size": [*range(20, 51)]})
# Of each class that is not native with all arguments: what it is not native with.
OPAQUE_WITH: dict[str, tuple[dict[str, Any], ...]] = {
    **dict.fromkeys(
        ("Affine", "CornerAffine"), (*_WARPS, {"fit_output": True}, {"balanced_scale": True, "scale": [0.5, 2]})
    ),
    "AdditiveNoise": (
        {"noise_type": "gaussian"},
        {"spatial_mode": "shared"},
        {"noise_params": {"ranges": [[0, 0.1], [0, 0.1]]}},
    ),
    "AutoContrast": ({"cutoff": 1}, {"ignore": 0}),
    "Blur": ({"blur_limit": [3, 17]},),
    "CLAHE": ({"tile_grid_size": [65, 8]},),
    "ChannelDropout": ({"fill": 256},),
    "CoarseDropout": ({"fill": "random"}, {"num_holes_range": [1, 257]}),
    "Emboss": ({"strength": [0, 267]},),
    "Equalize": ({"mode": "pil"}, {"by_channels": False}),
    "GaussNoise": ({"noise_scale_factor": 0.5}, {"per_channel": False}),
    "GridDistortion": (*_WARPS, {"num_steps": 127}),
    "GridDropout": ({"fill": "random"},),
    "ImageCompression": ({"compression_type": "webp"}, {"subsampling": "4:4:4"}),
    "LongestMaxSize": _SIZES,
    "MotionBlur": ({"blur_limit": [3, 13]},),
    "MultiplicativeNoise": ({"elementwise": True},),
    "OpticalDistortion": (*_WARPS, {"mode": "fisheye"}),
    "Perspective": (*_WARPS, {"fit_output": True}),
    "RandomBrightnessContrast": ({"brightness_by_max": False}, {"ensure_safe_range": True}),
    **dict.fromkeys(("RandomResizedCrop", "RandomScale", "RandomSizedCrop", "Resize"), _RESIZES),
    "RandomShadow": ({"num_shadows_limit": [1, 8]}, {"shadow_dimension": 17}),
    "RandomSizedBBoxSafeCrop": _RESIZES,
    "ResizeToTarget": ({"method": "matlab_bicubic"},),
    "Rotate": (*_WARPS, {"crop_border": True}),
    **dict.fromkeys(("SafeRotate", "ShiftScaleRotate"), _WARPS),
    "Sharpen": ({"method": "gaussian"}, {"lightness": [0, 267]}),
    "SmallestMaxSize": _SIZES,
    "StainNormalize": ({"method": "reinhard"}, {"source": "tile"}),
    "ToGray": ({"method": "max"}, {"num_output_channels": 1}),
}


def numbers_of(name: str, arguments: dict[str, Any]) -> Any:
    made = {**NEEDED.get(name, {}), **arguments}
    return encode(construct(Step(name, Arguments(made), p=1.0, site=f"{name}#1")))


def test_the_page_is_what_the_records_say(monkeypatch: pytest.MonkeyPatch) -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python tests/ops_page.py writes it"
    # A planted fault: a record that says something else.
    seen = {name: op_record(name) for name in record_names()} | {"Blur": OpRecord("Blur", native=lambda _: None)}
    monkeypatch.setattr("ops_page.op_record", seen.__getitem__)
    assert "| `Blur` | native | any | stay |" in page()
    assert PAGE.read_text(encoding="utf-8") != page()


def test_every_class_is_on_it_once() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", page(), flags=re.MULTILINE)
    assert sorted(rows) == sorted(record_names())


@pytest.mark.parametrize("name", NATIVE)
def test_what_is_said_of_arguments_names_those_that_decide(name: str) -> None:
    said = set(re.findall(r"`(\w+)`", op_record(name).native_when)) - {"exact"}
    decide = {key for arguments in OPAQUE_WITH.get(name, ()) for key, value in arguments.items() if value is not None}
    assert decide - {"scale"} == said


@HAS_KERNELS
@pytest.mark.parametrize("name", NATIVE)
def test_a_class_is_native_with_its_defaults(name: str) -> None:
    found = numbers_of(name, {})
    assert (op_record(name).runs == "host-drawn") == found.drawn_in_python


@HAS_KERNELS
@pytest.mark.parametrize(
    ("name", "arguments"), [(name, one) for name, several in OPAQUE_WITH.items() for one in several], ids=str
)
def test_a_class_is_opaque_with_other_arguments(name: str, arguments: dict[str, Any]) -> None:
    assert numbers_of(name, arguments) is None
