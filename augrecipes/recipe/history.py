"""What earlier releases of albumentations (0.3 to 2.0) called classes and arguments, and what to write today."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any, NamedTuple

from augrecipes.ops.constants import to_name

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
MODES = {"edge": "replicate", "symmetric": "reflect", "reflect": "reflect_101"}
OF_MODES = ("PiecewiseAffine",)


class RangeEnds(NamedTuple):
    """Two arguments that are one range today. A default of None means: as the other end.

    beyond: by how much the range ends further on than the larger argument did.
    least: what smaller values did, too.
    """

    low: str
    low_default: float | None
    high: str
    high_default: float | None
    beyond: int = 0
    least: float = float("-inf")


JOINED: dict[tuple[str, str], RangeEnds] = {
    ("CoarseDropout", "num_holes_range"): RangeEnds("min_holes", None, "max_holes", 8),
    ("CoarseDropout", "hole_height_range"): RangeEnds("min_height", None, "max_height", 8),
    ("CoarseDropout", "hole_width_range"): RangeEnds("min_width", None, "max_width", 8),
    ("Downscale", "scale_range"): RangeEnds("scale_min", 0.25, "scale_max", 0.25),
    ("GridDropout", "unit_size_range"): RangeEnds("unit_size_min", None, "unit_size_max", None, beyond=1),
    ("GridDropout", "holes_number_xy"): RangeEnds("holes_number_x", None, "holes_number_y", None),
    ("GridDropout", "shift_xy"): RangeEnds("shift_x", 0, "shift_y", 0),
    ("ImageCompression", "quality_range"): RangeEnds("quality_lower", 99, "quality_upper", 100, least=1),
    ("JpegCompression", "quality_range"): RangeEnds("quality_lower", 99, "quality_upper", 100, least=1),
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
TOGETHER = {"hole_height_range": "hole_width_range", "hole_width_range": "hole_height_range"}


def twice(value: Any) -> Any:
    """A number as both ends of a range."""
    return value if isinstance(value, list) else [value, value]


def _levels(value: Any) -> Any:
    """A level of 255, or a pair of them, as a range of fractions of full scale."""
    return [_short(level / 255) for level in twice(value)]


def _deviations(value: Any) -> Any:
    """A variance in levels of 255 squared (a number means: from 0) as a range of standard deviations."""
    return [_short(sqrt(level) / 255) for level in (value if isinstance(value, list) else [0, value])]


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def _from_usual(usual: float) -> Callable[[Any], Any]:
    """A number as the range from what does nothing; a pair as it is."""
    return lambda value: value if isinstance(value, list | Mapping) or value is None else sorted([usual, value])


def _both_signs(value: Any) -> Any:
    return value if isinstance(value, list | Mapping) else [-abs(value), abs(value)]


def _both_ways(value: Any) -> Any:
    ways = value if isinstance(value, Mapping) else {"downscale": value, "upscale": value}
    return {key: to_name("interpolation", way) for key, way in ways.items()}


def _keep(value: Any) -> Any:
    return value


# Arguments that are counted or written in another way today: the new name, and the new value.
CONVERTED: dict[tuple[str, str], tuple[str, Callable[[Any], Any]]] = {
    ("Cutout", "num_holes"): ("num_holes_range", twice),
    ("Cutout", "max_h_size"): ("hole_height_range", twice),
    ("Cutout", "max_w_size"): ("hole_width_range", twice),
    ("Downscale", "interpolation"): ("interpolation_pair", _both_ways),
    ("GaussNoise", "mean"): ("mean_range", _levels),
    ("GaussNoise", "var_limit"): ("std_range", _deviations),
    ("IAAAdditiveGaussianNoise", "loc"): ("mean_range", _levels),
    ("IAAAdditiveGaussianNoise", "scale"): ("std_range", _levels),
    ("IAAAffine", "rotate"): ("rotate", _both_signs),
    ("IAAAffine", "scale"): ("scale", _from_usual(1.0)),
    ("IAAAffine", "shear"): ("shear", _both_signs),
    ("IAAAffine", "order"): ("interpolation", {0: "nearest", 1: "linear", 3: "cubic"}.get),
    ("IAAPiecewiseAffine", "order"): ("interpolation", {0: "nearest", 1: "linear", 3: "cubic"}.get),
    ("IAASuperpixels", "n_segments"): ("n_segments", twice),
    ("IAASuperpixels", "p_replace"): ("p_replace", twice),
    ("RandomBrightness", "limit"): ("brightness_limit", _keep),
    ("RandomContrast", "limit"): ("contrast_limit", _keep),
    ("Solarize", "threshold"): ("threshold_range", _levels),
}

# cv2's numbers of formats.
_COMPRESSIONS = {0: "jpeg", 1: "webp"}


def _sigma(value: Any, given: Arguments) -> list[float] | None:
    """What OpenCV takes from the size of the kernel, where nothing is said."""
    limits = given.get("blur_limit", [3, 7])
    sizes = limits if isinstance(limits, list) else [3, limits]
    given_apart = value not in (0, [0, 0]) or not all(isinstance(size, int | float) and size >= 3 for size in sizes)
    return None if given_apart else [round(0.3 * ((size - 1) * 0.5 - 1) + 0.8, 4) for size in sizes]


# Arguments that have their names still, and some of whose values meant something else: today's, of a value and what
# stands beside it; None: it means what it did.
MEANT: dict[tuple[str, str], Callable[[Any, Arguments], Any]] = {
    ("GaussianBlur", "sigma_limit"): _sigma,
    ("ImageCompression", "compression_type"): lambda value, _: _COMPRESSIONS.get(value) if type(value) is int else None,
}

_REFLECT: Arguments = {"border_mode": "reflect_101"}
_HOLES: Arguments = {"num_holes_range": [8, 8], "hole_height_range": [8, 8], "hole_width_range": [8, 8]}
# What releases before 2.0, and classes that are gone, did where nothing was said, and today's class does not.
DEFAULTS: dict[str, Arguments] = {
    "CoarseDropout": _HOLES,
    "ColorJitter": {"hue": 0.2},
    "Cutout": _HOLES,
    "ElasticTransform": _REFLECT,
    "GaussNoise": {"var_limit": [10, 50]},
    "GaussianBlur": {"blur_limit": [3, 7], "sigma_limit": 0},
    "GridDistortion": {**_REFLECT, "normalized": False},
    "GridDropout": {"random_offset": False},
    "IAAAdditiveGaussianNoise": {"scale": [2.55, 12.75], "per_channel": False},
    "IAAAffine": _REFLECT,
    "IAASuperpixels": {"p_replace": [0.1, 0.1]},
    "LongestMaxSize": {"max_size": 1024},
    "OpticalDistortion": _REFLECT,
    "PadIfNeeded": _REFLECT,
    "RandomBrightness": {"contrast_limit": 0},
    "RandomContrast": {"brightness_limit": 0},
    "RandomRain": {"drop_length": 20},
    "RandomRotate90": {"p": 0.5},
    "Rotate": _REFLECT,
    "SafeRotate": _REFLECT,
    "ShiftScaleRotate": _REFLECT,
    "SmallestMaxSize": {"max_size": 1024},
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
# Of those, what did nothing: whether a value was as good as none.
IDLE: dict[tuple[str, str], Callable[[Any], bool]] = {
    ("ElasticTransform", "alpha_affine"): lambda value: not value,
    ("Equalize", "mask"): lambda value: value is None,
    # Drawn within it, and rounded to whole pixels.
    ("OpticalDistortion", "shift_limit"): lambda value: all(
        isinstance(end, int | float) and -0.5 <= end <= 0.5 for end in twice(value or 0)
    ),
    ("PiecewiseAffine", "keypoints_threshold"): lambda _: True,
    ("PlasmaShadow", "plasma_size"): lambda _: True,
    ("RandomGamma", "eps"): lambda _: True,
}
ALWAYS_APPLY = "it is gone: for true write `p: 1.0`, for false leave it out, and p decides alone"
