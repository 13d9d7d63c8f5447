"""What earlier releases of albumentations (0.3 to 2.0), torchvision, BasicSR and imgaug call classes and arguments.

The tables of names.json, and what has to be computed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

from augrecipes.ops.constants import to_name

Arguments = Mapping[str, Any]


class RangeEnds(NamedTuple):
    """Two arguments that are one range today. A default of None means: as the other end.

    beyond: by how much the range ends further on than the larger argument did.
    least: what smaller values did, too.
    """

    low: str
    high: str
    low_default: float | None = None
    high_default: float | None = None
    beyond: int = 0
    least: float = float("-inf")


_TABLES = json.loads(Path(__file__).with_name("names.json").read_text(encoding="utf-8"))


def _by_class(table: str) -> dict[tuple[str, str], Any]:
    """A table of what stands for `Class.argument`."""
    return {tuple(key.split(".")): value for key, value in _TABLES[table].items()}


# Names of torchvision, BasicSR, imgaug and others and the name here, or words; `...` is YAML that a recipe may hold.
STEPS: dict[str, str] = _TABLES["steps"]
ARGUMENTS: dict[str, str] = _TABLES["arguments"]  # of every class that takes the one here
ARGUMENTS_OF: dict[tuple[str, str], str] = _by_class("arguments_of")
KEYS: dict[str, str] = _TABLES["keys"]
# Why a value is out of range, where people of other libraries mean something else by it.
VALUES: dict[tuple[str, str], str] = _by_class("values")
# torchvision's `size` where height and width are written apart; its one number is the shorter side.
SIZES: dict[str, list[str]] = _TABLES["sizes"]
OF_ONE_NUMBER = {"Resize": "SmallestMaxSize"}

# Classes that are gone, and the class that does their work.
CLASSES: dict[str, str] = _TABLES["classes"]
# A class that is gone, and the two of which it drew one, or both.
FLIP, FLIPS = "Flip", ("HorizontalFlip", "VerticalFlip")
# Names of arguments by their places, as releases up to 1.4 had them (always_apply and p behind them), of classes where
# today's differ, of groups behind their transforms, and of what `output:` does.
PLACES: dict[str, str] = _TABLES["places"]
# Old names of arguments, in every class that takes the new one and not the old.
RENAMED: dict[str, str] = _TABLES["renamed"]
# The borders of scikit-image and imgaug, which PiecewiseAffine and the classes of imgaug took.
MODES = {"edge": "replicate", "symmetric": "reflect", "reflect": "reflect_101"}
OF_MODES = ("PiecewiseAffine",)
JOINED = {key: RangeEnds(**ends) for key, ends in _by_class("joined").items()}
# Ranges that both count pixels, or are both fractions: with pixels the other is written, too, as its default was.
TOGETHER = {"hole_height_range": "hole_width_range", "hole_width_range": "hole_height_range"}
# What releases before 2.0, and classes that are gone, did where nothing was said, and today's class does not.
DEFAULTS: dict[str, Arguments] = _TABLES["defaults"]
# Arguments that nothing replaces: why, and what comes nearest.
GONE: dict[tuple[str, str], str] = _by_class("gone")
ALWAYS_APPLY = "it is gone: for true write `p: 1.0`, for false leave it out, and p decides alone"


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

# Of what is `GONE`, what did nothing: whether a value was as good as none.
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
