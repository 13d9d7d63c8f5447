"""How hard steps amplify differences, where their arguments decide: the factor, or None where there is none.

Arguments come with defaults merged. `tests/laws/test_records.py` holds every factor to what albumentations does.
"""

from collections.abc import Mapping
from typing import Any

from augrecipes.ops.intervals import numbers

Values = Mapping[str, Any]

# The sum of the weights' sizes of a sample in the plane; 1 where none is below zero. Lanczos is OpenCV's with 8 × 8.
_SAMPLED = {"cubic": 1.9, "lanczos4": 3.0}


def largest(value: Any) -> float:
    """The largest size of a number, or of those of a range.

    >>> largest([-0.3, 0.2]), largest(0.5), largest(None)
    (0.3, 0.5, 0.0)
    """
    return max((abs(float(number)) for number in numbers(value)), default=0.0)


def sampled(values: Values) -> float:
    """Of a step that interpolates."""
    return _SAMPLED.get(str(values.get("interpolation", "linear")), 1.0)


def downscaled(values: Values) -> float:
    """Of Downscale."""
    pair = values.get("interpolation_pair") or {}
    down, up = (_SAMPLED.get(str(pair.get(way)), 1.0) for way in ("downscale", "upscale"))
    return down * up


def holes(values: Values) -> float | None:
    """Of a step that makes holes: inpainting goes by where the image is darkest and steepest."""
    return None if str(values.get("fill", "")).startswith("inpaint") else 1.0


def jitter(values: Values) -> float:
    """Of ColorJitter's brightness, contrast and saturation, one after another."""
    total = 1.0
    for name in ("brightness", "contrast", "saturation"):
        value = values.get(name)
        factor = max(1.0, largest(value) if isinstance(value, list | tuple) else 1 + largest(value))
        # What is taken off one channel shows in the others too, the most in blue.
        total *= factor + 0.772 * (factor - 1) if name == "saturation" else factor
    return total


def color_jitter(values: Values) -> float | None:
    """Of ColorJitter as a whole: grey has any hue, and OpenCV counts the hue of uint8 in steps of two degrees."""
    return None if turns_hue(values) else jitter(values)


def jitter_error(values: Values) -> tuple[float, float]:
    """Of ColorJitter as operations: levels by which they may differ, and how hard they amplify.

    OpenCV counts the hue of uint8 in steps of two degrees, so that a value which is one level off may come out of HSV a
    whole step away: 8.5 levels on a pure colour.
    """
    return 14 if turns_hue(values) else 4, jitter(values)


def turns_hue(values: Values) -> bool:
    """Whether ColorJitter turns the hue."""
    return largest(values.get("hue")) > 0


def multiplied(values: Values) -> float:
    """Of MultiplicativeNoise, which multiplies values."""
    return max(1.0, largest(values.get("multiplier")))


def brightness_contrast(values: Values) -> float:
    """Of RandomBrightnessContrast, whose brightness may be a share of the image's mean."""
    by_mean = not values.get("brightness_by_max", True)
    return 1 + largest(values.get("contrast_limit")) + by_mean * largest(values.get("brightness_limit"))


def gamma(values: Values) -> float | None:
    """Of RandomGamma: the steepest is white; where it brightens, black, without bound."""
    gammas = [float(number) / 100 for number in numbers(values.get("gamma_limit"))] or [1.0]
    return None if min(gammas) < 1 else max(gammas)


def illumination(values: Values) -> float:
    """Of Illumination, whose slope, laid askew, goes on beyond the corners that it is meant to end in."""
    return 1 + 4 * largest(values.get("intensity_range"))


def solarize(values: Values) -> float | None:
    """Of Solarize: at the middle, black and white meet; elsewhere there is a step between them."""
    return 1.0 if all(threshold == 0.5 for threshold in numbers(values.get("threshold_range"))) else None


def to_gray(values: Values) -> float | None:
    """Of ToGray: `pca` turns with the colours of the image, `from_lab` goes through levels of another space."""
    return None if values.get("method") in ("pca", "from_lab") else 1.0
