"""The gain of steps whose arguments decide it: the largest factor by which a difference grows; None: unbounded.

`values` are arguments with defaults merged. `tests/laws/test_records.py` compares every gain with albumentations.
"""

from collections.abc import Mapping
from typing import Any

from augrecipes.ops.intervals import numbers

Values = Mapping[str, Any]

# The largest sum of absolute weights of a sample in the plane; 1 without negative weights. Lanczos is OpenCV's 8 × 8.
_SAMPLED = {"cubic": 1.9, "lanczos4": 3.0}


def largest(value: Any) -> float:
    """The largest absolute value of a number or of a range.

    >>> largest([-0.3, 0.2]), largest(0.5), largest(None)
    (0.3, 0.5, 0.0)
    """
    return max((abs(float(number)) for number in numbers(value)), default=0.0)


def sampled(values: Values) -> float:
    """The gain of a step that interpolates."""
    return _SAMPLED.get(str(values.get("interpolation", "linear")), 1.0)


def downscaled(values: Values) -> float:
    """The gain of Downscale."""
    pair = values.get("interpolation_pair") or {}
    down, up = (_SAMPLED.get(str(pair.get(way)), 1.0) for way in ("downscale", "upscale"))
    return down * up


def holes(values: Values) -> float | None:
    """The gain of a step that makes holes; inpainting depends on the order of gradients and has none."""
    return None if str(values.get("fill", "")).startswith("inpaint") else 1.0


def jitter(values: Values) -> float:
    """The gain of ColorJitter's brightness, contrast and saturation in sequence."""
    total = 1.0
    for name in ("brightness", "contrast", "saturation"):
        value = values.get(name)
        factor = max(1.0, largest(value) if isinstance(value, list | tuple) else 1 + largest(value))
        # Saturation mixes a channel's difference into the others through the grey, the most into blue.
        total *= factor + 0.772 * (factor - 1) if name == "saturation" else factor
    return total


def color_jitter(values: Values) -> float | None:
    """The gain of ColorJitter; with a hue shift none, since nearly grey pixels may have any hue."""
    return None if turns_hue(values) else jitter(values)


def jitter_error(values: Values) -> tuple[float, float]:
    """The error of a joined ColorJitter in levels, and its gain.

    OpenCV's uint8 hue has steps of two degrees, so that one level may become a whole step: 8.5 levels on a pure colour.
    """
    return 14 if turns_hue(values) else 4, jitter(values)


def turns_hue(values: Values) -> bool:
    """Whether ColorJitter shifts the hue."""
    return largest(values.get("hue")) > 0


def multiplied(values: Values) -> float:
    """The gain of MultiplicativeNoise: its largest multiplier."""
    return max(1.0, largest(values.get("multiplier")))


def brightness_contrast(values: Values) -> float:
    """The gain of RandomBrightnessContrast, whose brightness may be a share of the image's mean."""
    by_mean = not values.get("brightness_by_max", True)
    return 1 + largest(values.get("contrast_limit")) + by_mean * largest(values.get("brightness_limit"))


def gamma(values: Values) -> float | None:
    """The gain of RandomGamma: that at white; a gamma below 1 is infinitely steep at black."""
    gammas = [float(number) / 100 for number in numbers(values.get("gamma_limit"))] or [1.0]
    return None if min(gammas) < 1 else max(gammas)


def illumination(values: Values) -> float:
    """The gain of Illumination, whose oblique slope goes on beyond the corners."""
    return 1 + 4 * largest(values.get("intensity_range"))


def solarize(values: Values) -> float | None:
    """The gain of Solarize, which is continuous only at threshold 0.5."""
    return 1.0 if all(threshold == 0.5 for threshold in numbers(values.get("threshold_range"))) else None


def to_gray(values: Values) -> float | None:
    """The gain of ToGray; none for `pca`, whose axis depends on the image, and `from_lab`, which rounds in Lab."""
    return None if values.get("method") in ("pca", "from_lab") else 1.0
