"""What earlier releases of albumentations (0.3 to 2.0) called classes and arguments, and what to write today."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any, NamedTuple

from augrecipes.ops import registry
from augrecipes.ops.constants import to_name
from augrecipes.recipe.arguments import check_value
from augrecipes.recipe.nodes import NOWHERE, from_value

Arguments = Mapping[str, Any]

# Classes that are gone, and the class that does their work.
CLASSES: dict[str, str] = {
    "Cutout": "CoarseDropout",
    "JpegCompression": "ImageCompression",
    "RandomBrightness": "RandomBrightnessContrast",
    "RandomContrast": "RandomBrightnessContrast",
    "IAAAffine": "Affine",
    "IAAAdditiveGaussianNoise": "GaussNoise",
    "IAACropAndPad": "CropAndPad",
    "IAAEmboss": "Emboss",
    "IAAFliplr": "HorizontalFlip",
    "IAAFlipud": "VerticalFlip",
    "IAAPerspective": "Perspective",
    "IAAPiecewiseAffine": "PiecewiseAffine",
    "IAASharpen": "Sharpen",
    "IAASuperpixels": "Superpixels",
}

# A class that is gone, and the two of which it drew one, or both.
FLIP, FLIPS = "Flip", ("HorizontalFlip", "VerticalFlip")

# Old names of arguments, in every class that takes the new one and not the old.
RENAMED: dict[str, str] = {
    "value": "fill",
    "fill_value": "fill",
    "image_fill_value": "fill",
    "cval": "fill",
    "pad_val": "fill",
    "pad_cval": "fill",
    "mask_value": "fill_mask",
    "mask_fill_value": "fill_mask",
    "cval_mask": "fill_mask",
    "mask_pad_val": "fill_mask",
    "pad_cval_mask": "fill_mask",
    "mode": "border_mode",
    "pad_mode": "border_mode",
    "sigmaX_limit": "sigma_x_limit",
    "sigmaY_limit": "sigma_y_limit",
    "cropping_box_key": "cropping_bbox_key",
    "method": "rotate_method",
}
# The borders of scikit-image and imgaug, which PiecewiseAffine and the classes of imgaug took.
_MODES = {"edge": "replicate", "symmetric": "reflect", "reflect": "reflect_101"}


class RangeEnds(NamedTuple):
    """Two arguments that are one range today. A default of None means: as the other end.

    beyond: by how much the range ends further on than the larger argument did.
    """

    low: str
    low_default: float | None
    high: str
    high_default: float | None
    beyond: int = 0


JOINED: dict[tuple[str, str], RangeEnds] = {
    ("CoarseDropout", "num_holes_range"): RangeEnds("min_holes", None, "max_holes", 8),
    ("CoarseDropout", "hole_height_range"): RangeEnds("min_height", None, "max_height", 8),
    ("CoarseDropout", "hole_width_range"): RangeEnds("min_width", None, "max_width", 8),
    ("Downscale", "scale_range"): RangeEnds("scale_min", 0.25, "scale_max", 0.25),
    ("GridDropout", "unit_size_range"): RangeEnds("unit_size_min", None, "unit_size_max", None, beyond=1),
    ("GridDropout", "holes_number_xy"): RangeEnds("holes_number_x", None, "holes_number_y", None),
    ("GridDropout", "shift_xy"): RangeEnds("shift_x", 0, "shift_y", 0),
    ("ImageCompression", "quality_range"): RangeEnds("quality_lower", 99, "quality_upper", 100),
    ("JpegCompression", "quality_range"): RangeEnds("quality_lower", 99, "quality_upper", 100),
    ("RandomFog", "fog_coef_range"): RangeEnds("fog_coef_lower", 0.3, "fog_coef_upper", 1),
    ("RandomRain", "slant_range"): RangeEnds("slant_lower", -10, "slant_upper", 10),
    ("RandomResizedCrop", "size"): RangeEnds("height", None, "width", None),
    ("RandomShadow", "num_shadows_limit"): RangeEnds("num_shadows_lower", 1, "num_shadows_upper", 2),
    ("RandomSizedCrop", "size"): RangeEnds("height", None, "width", None),
    ("RandomSnow", "snow_point_range"): RangeEnds("snow_point_lower", 0.1, "snow_point_upper", 0.3),
    ("RandomSunFlare", "angle_range"): RangeEnds("angle_lower", 0, "angle_upper", 1),
    ("RandomSunFlare", "num_flare_circles_range"): RangeEnds(
        "num_flare_circles_lower", 6, "num_flare_circles_upper", 10
    ),
}
# Ranges that both count pixels, or are both fractions: with pixels the other is written, too, as its default was.
_TOGETHER = {"hole_height_range": "hole_width_range", "hole_width_range": "hole_height_range"}


def _twice(value: Any) -> Any:
    return value if isinstance(value, list) else [value, value]


def _levels(value: Any) -> Any:
    """A level of 255, or a pair of them, as a range of fractions of full scale."""
    return [round(level / 255, 4) for level in _twice(value)]


def _deviations(value: Any) -> Any:
    """A variance in levels of 255 squared (a number means: from 0) as a range of standard deviations."""
    return [round(sqrt(level) / 255, 4) for level in (value if isinstance(value, list) else [0, value])]


def _both_ways(value: Any) -> Any:
    ways = value if isinstance(value, Mapping) else {"downscale": value, "upscale": value}
    return {key: to_name("interpolation", way) for key, way in ways.items()}


def _keep(value: Any) -> Any:
    return value


# Arguments that are counted or written in another way today: the new name, and the new value.
CONVERTED: dict[tuple[str, str], tuple[str, Callable[[Any], Any]]] = {
    ("Cutout", "num_holes"): ("num_holes_range", _twice),
    ("Cutout", "max_h_size"): ("hole_height_range", _twice),
    ("Cutout", "max_w_size"): ("hole_width_range", _twice),
    ("Downscale", "interpolation"): ("interpolation_pair", _both_ways),
    ("GaussNoise", "mean"): ("mean_range", _levels),
    ("GaussNoise", "var_limit"): ("std_range", _deviations),
    ("IAAAdditiveGaussianNoise", "loc"): ("mean_range", _levels),
    ("IAAAdditiveGaussianNoise", "scale"): ("std_range", _levels),
    ("IAAAffine", "order"): ("interpolation", {0: "nearest", 1: "linear", 3: "cubic"}.get),
    ("IAAPiecewiseAffine", "order"): ("interpolation", {0: "nearest", 1: "linear", 3: "cubic"}.get),
    ("RandomBrightness", "limit"): ("brightness_limit", _keep),
    ("RandomContrast", "limit"): ("contrast_limit", _keep),
    ("Solarize", "threshold"): ("threshold_range", _levels),
}

_COMPRESSIONS = {0: "jpeg", 1: "webp"}


def meant(cls: str, name: str, given: Arguments) -> dict[str, Any] | None:
    """What stands today for an argument that has its name still, and another meaning; None: it means what it did.

    >>> meant("ImageCompression", "compression_type", {"compression_type": 0})
    {'compression_type': 'jpeg'}
    >>> meant("GaussianBlur", "sigma_limit", {"blur_limit": [3, 7], "sigma_limit": 0})
    {'sigma_limit': [0.8, 1.4]}
    """
    value = given[name]
    if (cls, name) == ("ImageCompression", "compression_type") and value in (0, 1) and not isinstance(value, bool):
        return {name: _COMPRESSIONS[value]}
    if (cls, name) == ("GaussianBlur", "sigma_limit") and value in (0, [0, 0]):
        # OpenCV took it from the size of the kernel.
        limits = given.get("blur_limit", [3, 7])
        sizes = limits if isinstance(limits, list) else [3, limits]
        if all(isinstance(size, int | float) and size >= 3 for size in sizes):
            return {name: [round(0.3 * ((size - 1) * 0.5 - 1) + 0.8, 4) for size in sizes]}
    schema = (registry.arguments(cls) or {"properties": {}})["properties"].get(name, {})
    if (
        value is None
        and "default" in schema
        and schema["default"] is not None
        and check_value(schema, from_value(None, NOWHERE))
    ):
        return {}  # once the default, which was the same in effect
    return None


# What a class that is gone did not do, and the class that replaces it does unless told.
_ALSO: dict[str, Arguments] = {
    "Cutout": {"num_holes_range": [8, 8], "hole_height_range": [8, 8], "hole_width_range": [8, 8]},
    "RandomBrightness": {"contrast_limit": 0},
    "RandomContrast": {"brightness_limit": 0},
}

# Arguments that nothing replaces: why, and what comes nearest. `...` is YAML that a recipe may hold.
GONE: dict[tuple[str, str], str] = {
    ("ElasticTransform", "alpha_affine"): "it is gone: for the affine part put a step `Affine: {scale: [0.9, 1.1]}` "
    "beside it, as strong as you need",
    ("Equalize", "mask"): "it took an array or a function, which a recipe cannot hold; leave it out to equalise the "
    "whole picture",
    ("OpticalDistortion", "shift_limit"): "it is gone, the centre stays in the middle: leave it out, or put a step "
    "`Affine: {translate_percent: [-0.05, 0.05]}` beside it",
    ("PiecewiseAffine", "keypoints_threshold"): "it is gone: leave it out",
    ("PlasmaShadow", "plasma_size"): "it is gone, the plasma is as large as the picture: leave it out",
    ("RandomGamma", "eps"): "it is gone, and did nothing: leave it out",
}
ALWAYS_APPLY = "it is gone: for true write `p: 1.0`, for false leave it out, and p decides alone"


def instead(cls: str, name: str, given: Arguments) -> dict[str, Any] | None:
    """What stands today for the argument `name` of a step with the arguments `given`; empty: it is left out.

    None where earlier releases had no such argument. The value is not checked against the class.

    >>> instead("ImageCompression", "quality_lower", {"quality_lower": 60})
    {'quality_range': [60, 100]}
    >>> instead("Rotate", "value", {"value": None}), instead("Rotate", "mask_value", {"mask_value": 255})
    ({}, {'fill_mask': 255})
    """
    value = given.get(name)
    new = CLASSES.get(cls, cls)
    for (owner, joined), ends in JOINED.items():
        if owner == cls and name in (ends.low, ends.high):
            return _joined(joined, ends, given)
    if (cls, name) in CONVERTED:
        today, convert = CONVERTED[cls, name]
        try:
            return {} if value is None else {today: convert(value)}
        except (TypeError, ValueError):  # no value of that argument, and none of the new one
            return {today: "?"}
    takes = (registry.arguments(new) or {"properties": {}})["properties"]
    if name in takes or RENAMED.get(name) not in takes:
        return None
    if value is None:  # as if it were not there: nothing is filled in, or black
        return {}
    if RENAMED[name] == "border_mode":
        names = _MODES if new == "PiecewiseAffine" or cls != new else {}
        value = names.get(value, value) if isinstance(value, str) else to_name("border_mode", value)
        return {"border_mode": value}
    return {RENAMED[name]: value}


def is_old(cls: str, name: str, given: Arguments) -> bool:
    """Whether only earlier releases, or Python, have an argument of this name."""
    old = name in ("always_apply", "transforms") or (cls, name) in GONE
    return old or instead(cls, name, given) is not None


def _joined(name: str, ends: RangeEnds, given: Arguments) -> dict[str, Any] | None:
    low, high = given.get(ends.low), given.get(ends.high)
    low = ends.low_default if low is None else low
    high = ends.high_default if high is None else high
    low, high = (high if low is None else low), (low if high is None else high)
    if high is None:
        return {}
    if not isinstance(high, int | float):
        return {name: [low, high]}
    found = {name: [low, high + ends.beyond]}
    other = _TOGETHER.get(name)
    if other is not None and high >= 1:
        beside = JOINED["CoarseDropout", other]
        if not {other, beside.low, beside.high} & given.keys():
            found[other] = _twice(beside.high_default)
    return found


def step_today(name: str, given: Arguments) -> dict[str, Any] | None:
    """The arguments that `CLASSES[name]` takes for those of a step of the class `name`, which is gone.

    >>> step_today("Cutout", {"num_holes": 4, "max_h_size": 16, "always_apply": True})
    {'num_holes_range': [4, 4], 'hole_height_range': [16, 16], 'hole_width_range': [8, 8], 'p': 1.0}
    """
    takes = (registry.arguments(CLASSES[name]) or {"properties": {}})["properties"]
    found: dict[str, Any] = dict(_ALSO.get(name, {}))
    for key, value in given.items():
        if key == "always_apply" or value is None:
            continue
        if key in takes and (name, key) not in CONVERTED:
            found[key] = value
        else:
            new = instead(name, key, given)
            if new is None:
                return None
            found.update(new)
    if given.get("always_apply") is True:
        found["p"] = 1.0
    return found
