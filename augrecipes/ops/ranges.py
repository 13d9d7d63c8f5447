"""What the ranges of a class's arguments say: what a step may draw, and where it changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from augrecipes.ops.capabilities import capability
from augrecipes.ops.registry import effective

if TYPE_CHECKING:
    from augrecipes.recipe.model import Step

Meaning = Literal["symmetric", "around_one", "from_zero", "from_one", "from_three", "exact"]

# How albumentations turns one number into a range, and the value at which nothing changes.
# tests/lint/test_lint_arguments.py compares the table with albumentations' own objects.
RANGES: dict[str, dict[str, tuple[Meaning, float]]] = {
    "Affine": {
        "scale": ("exact", 1),
        "translate_percent": ("exact", 0),
        "translate_px": ("exact", 0),
        "rotate": ("exact", 0),
        "shear": ("exact", 0),
    },
    "ColorJitter": {
        "brightness": ("around_one", 1),
        "contrast": ("around_one", 1),
        "saturation": ("around_one", 1),
        "hue": ("symmetric", 0),
    },
    "CropAndPad": {"px": ("exact", 0), "percent": ("exact", 0)},
    "ElasticTransform": {"alpha": ("exact", 0)},
    "Emboss": {"alpha": ("exact", 0)},
    "FancyPCA": {"alpha": ("exact", 0)},
    "GaussNoise": {"std_range": ("exact", 0), "mean_range": ("exact", 0)},
    "GridDistortion": {"distort_limit": ("symmetric", 0)},
    "HueSaturationValue": {
        "hue_shift_limit": ("symmetric", 0),
        "sat_shift_limit": ("symmetric", 0),
        "val_shift_limit": ("symmetric", 0),
    },
    "MultiplicativeNoise": {"multiplier": ("exact", 1)},
    "OpticalDistortion": {"distort_limit": ("symmetric", 0)},
    "Pad": {"padding": ("exact", 0)},
    "Perspective": {"scale": ("from_zero", 0)},
    "PiecewiseAffine": {"scale": ("from_zero", 0)},
    "PixelDropout": {"dropout_prob": ("exact", 0)},
    "PlasmaBrightnessContrast": {"brightness_range": ("exact", 0), "contrast_range": ("exact", 0)},
    "RGBShift": {
        "r_shift_limit": ("symmetric", 0),
        "g_shift_limit": ("symmetric", 0),
        "b_shift_limit": ("symmetric", 0),
    },
    "RandomBrightnessContrast": {"brightness_limit": ("symmetric", 0), "contrast_limit": ("symmetric", 0)},
    "RandomCropFromBorders": {
        "crop_left": ("exact", 0),
        "crop_right": ("exact", 0),
        "crop_top": ("exact", 0),
        "crop_bottom": ("exact", 0),
    },
    "RandomGamma": {"gamma_limit": ("from_one", 100)},
    "RandomScale": {"scale_limit": ("symmetric", 0)},
    "RandomToneCurve": {"scale": ("exact", 0)},
    "Rotate": {"limit": ("symmetric", 0)},
    "SafeRotate": {"limit": ("symmetric", 0)},
    "SaltAndPepper": {"amount": ("exact", 0)},
    "Sharpen": {"alpha": ("exact", 0)},
    "ShiftScaleRotate": {
        "shift_limit": ("symmetric", 0),
        "shift_limit_x": ("symmetric", 0),
        "shift_limit_y": ("symmetric", 0),
        "scale_limit": ("symmetric", 0),
        "rotate_limit": ("symmetric", 0),
    },
    "StainJitter": {"sigma": ("symmetric", 0), "bias": ("symmetric", 0)},
    "Superpixels": {"p_replace": ("from_zero", 0)},
    "UnsharpMask": {"alpha": ("from_zero", 0)},
}

# Steps whose only draws are those of the ranges named here: with every range one value, they draw nothing.
ONLY_DRAWS: dict[str, dict[str, Meaning]] = {
    "Blur": {"blur_limit": "from_three"},
    "CLAHE": {"clip_limit": "from_one"},
    "Downscale": {"scale_range": "exact"},
    "GaussianBlur": {"sigma_limit": "from_zero", "blur_limit": "from_zero"},
    "ImageCompression": {"quality_range": "exact"},
    "MedianBlur": {"blur_limit": "from_three"},
    "Posterize": {"num_bits": "exact"},
    "Sharpen": {"alpha": "exact", "lightness": "exact"},
    "Solarize": {"threshold_range": "exact"},
    **{
        name: {argument: meaning for argument, (meaning, _) in RANGES[name].items()}
        for name in (
            "Affine", "HueSaturationValue", "RGBShift", "RandomBrightnessContrast", "RandomGamma",
            "RandomScale", "Rotate", "SafeRotate", "ShiftScaleRotate",
        )
    },
}  # fmt: skip


def interval(meaning: Meaning, value: Any) -> tuple[float, float] | None:
    """Least and greatest value that an argument lets its step draw; None where it is no number or range.

    >>> interval("symmetric", 25), interval("around_one", 0.2), interval("exact", [3, 5])
    ((-25, 25), (0.8, 1.2), (3, 5))
    """
    if isinstance(value, Mapping):
        parts = [interval(meaning, part) for part in value.values() if not isinstance(part, str)]
        known = [part for part in parts if part is not None]
        return (min(low for low, _ in known), max(high for _, high in known)) if known else None
    if isinstance(value, list | tuple):
        numbers = [number for number in value if isinstance(number, int | float)]
        return (min(numbers), max(numbers)) if numbers and len(numbers) == len(value) else None
    if not isinstance(value, int | float):
        return None
    match meaning:
        case "symmetric":
            return (-abs(value), abs(value))
        case "around_one":
            return (max(0, 1 - value), 1 + value)
        case "from_zero":
            return (min(0, value), max(0, value))
        case "from_one":
            return (min(1, value), max(1, value))
        case "from_three":
            return (min(3, value), max(3, value))
        case "exact":
            return (value, value)


def is_neutral(step: Step) -> bool:
    """Whether every range of the step is the one value at which it changes nothing."""
    ranges = RANGES.get(step.name)
    if not ranges:
        return False
    values = effective(step)
    # `shift_limit` speaks only where its two halves are silent.
    found = [(interval(meaning, values.get(name)), neutral) for name, (meaning, neutral) in ranges.items()]
    given = [(span, neutral) for span, neutral in found if span is not None]
    unreadable = any(
        values.get(name) is not None and span is None for name, (span, _) in zip(ranges, found, strict=True)
    )
    return bool(given) and not unreadable and all(span == (neutral, neutral) for span, neutral in given)


def makes_draws(step: Step) -> bool:
    """Whether the step, when it acts, draws anything. A registered class is taken at its word: it does not."""
    record = capability(step.name)
    if record is None or is_neutral(step):
        return False
    values = effective(step)
    if not record.random:
        return record.steady_when is not None and not record.steady_when(values)
    ranges = ONLY_DRAWS.get(step.name)
    if ranges is None:
        return True
    return not all(_one(meaning, values[name]) for name, meaning in ranges.items() if values.get(name) is not None)


def _one(meaning: Meaning, value: Any) -> bool:
    """Whether an argument leaves one value to draw; each axis of a mapping has its own."""
    if isinstance(value, Mapping):
        return all(_one(meaning, part) for part in value.values())
    span = interval(meaning, value)
    return span is not None and span[0] == span[1]
