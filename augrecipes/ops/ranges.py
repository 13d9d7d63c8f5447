"""What the ranges of a class's arguments say: what a step may draw, and where it changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.ops.intervals import Meaning, interval
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import effective, takes
from augrecipes.ops.step import Step

# The value of each range at which a step changes nothing. tests/lint/test_lints.py compares what one number
# means with albumentations' own objects.
_AFFINE: dict[str, float] = {"scale": 1, "translate_percent": 0, "translate_px": 0, "rotate": 0, "shear": 0}
NEUTRAL: dict[str, dict[str, float]] = {
    "Affine": _AFFINE,
    "CornerAffine": _AFFINE,
    "ColorJitter": {"brightness": 1, "contrast": 1, "saturation": 1, "hue": 0},
    "CropAndPad": {"px": 0, "percent": 0},
    "ElasticTransform": {"alpha": 0},
    "Emboss": {"alpha": 0},
    "FancyPCA": {"alpha": 0},
    "GaussNoise": {"std_range": 0, "mean_range": 0},
    "GridDistortion": {"distort_limit": 0},
    "HueSaturationValue": {"hue_shift_limit": 0, "sat_shift_limit": 0, "val_shift_limit": 0},
    "MultiplicativeNoise": {"multiplier": 1},
    "OpticalDistortion": {"distort_limit": 0},
    "Pad": {"padding": 0},
    "Perspective": {"scale": 0},
    "PiecewiseAffine": {"scale": 0},
    "PixelDropout": {"dropout_prob": 0},
    "PlasmaBrightnessContrast": {"brightness_range": 0, "contrast_range": 0},
    "RGBShift": {"r_shift_limit": 0, "g_shift_limit": 0, "b_shift_limit": 0},
    "RandomBrightnessContrast": {"brightness_limit": 0, "contrast_limit": 0},
    "RandomCropFromBorders": {"crop_left": 0, "crop_right": 0, "crop_top": 0, "crop_bottom": 0},
    "RandomGamma": {"gamma_limit": 100},
    "RandomScale": {"scale_limit": 0},
    "RandomToneCurve": {"scale": 0},
    "Rotate": {"limit": 0},
    "SafeRotate": {"limit": 0},
    "SaltAndPepper": {"amount": 0},
    "Sharpen": {"alpha": 0},
    "ShiftScaleRotate": {"shift_limit": 0, "shift_limit_x": 0, "shift_limit_y": 0, "scale_limit": 0, "rotate_limit": 0},
    "Sharpness": {"factor": 1},
    "SolarizeAdd": {"addition": 0},
    "StainJitter": {"sigma": 0, "bias": 0},
    "Superpixels": {"p_replace": 0},
    "UnsharpMask": {"alpha": 0},
}

# Steps that draw nothing but how much they do.
BY_STRENGTH = (
    "Affine", "CornerAffine", "HueSaturationValue", "RGBShift", "RandomBrightnessContrast", "RandomGamma",
    "RandomScale", "Rotate", "SafeRotate", "ShiftScaleRotate",
)  # fmt: skip
# Steps whose only draws are those of the ranges named here: with every range one value, they draw nothing.
ONLY_DRAWS: dict[str, tuple[str, ...]] = {
    "Blur": ("blur_limit",),
    "CLAHE": ("clip_limit",),
    "Downscale": ("scale_range",),
    "GaussianBlur": ("sigma_limit", "blur_limit"),
    "ImageCompression": ("quality_range",),
    "MedianBlur": ("blur_limit",),
    "Posterize": ("num_bits",),
    "Sharpen": ("alpha", "lightness"),
    "Solarize": ("threshold_range",),
    **{name: tuple(NEUTRAL[name]) for name in BY_STRENGTH},
}

# Arguments of two numbers that are no range, and what the numbers are.
_PAIRS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("size", "max_size_hw"), ("height", "width")),
    **dict.fromkeys(("grid", "tile_grid_size"), ("rows", "columns")),
    **dict.fromkeys(("holes_number_xy", "num_grid_xy", "shift_xy"), ("x", "y")),
    "padding": ("left, right", "top, bottom"),
}
_TWO = 2
_RANGE_WORDS = {"x-range", "x-nondecreasing"}

# What one number means to validators that are written for one class; of the others the schema says it.
_MEANINGS: dict[tuple[str, str], Meaning] = {
    **dict.fromkeys((("ColorJitter", name) for name in ("brightness", "contrast", "saturation")), "around_one"),
    **dict.fromkeys((("Blur", "blur_limit"), ("MedianBlur", "blur_limit")), "from_three"),
    ("ColorJitter", "hue"): "symmetric",
    ("RandomScale", "scale_limit"): "symmetric",
    **dict.fromkeys((("ShiftScaleRotate", f"shift_limit_{axis}") for axis in "xy"), "symmetric"),
}


def meaning_of(name: str, argument: str) -> Meaning:
    """What one number means for an argument of a class that takes ranges.

    >>> meaning_of("Rotate", "limit"), meaning_of("GaussNoise", "std_range")
    ('symmetric', 'exact')
    """
    if (name, argument) in _MEANINGS:
        return _MEANINGS[name, argument]
    schema = takes(name).get(argument, {})
    return next((part["x-range"] for part in (schema, *schema.get("anyOf", ())) if "x-range" in part), "exact")


def pair_names(argument: str, schema: Mapping[str, Any]) -> tuple[str, str] | None:
    """What the two numbers of an argument are called that is a pair but no range; None of every other argument.

    Args:
        argument: its name.
        schema: its JSON Schema, with the keywords of `class_schema`.

    >>> pair_names("size", takes("RandomResizedCrop")["size"]), pair_names("limit", takes("Rotate")["limit"])
    (('height', 'width'), None)
    """
    parts = (schema, *schema.get("anyOf", ()))
    items = next((one["prefixItems"] for one in parts if len(one.get("prefixItems", ())) == _TWO), None)
    if items is None or argument in _PAIRS:
        return items and _PAIRS[argument]
    # A range says so: by its validators, by one number that may stand for it, or by its name.
    said = any(_RANGE_WORDS & one.keys() or one.get("type") in ("number", "integer") for one in parts)
    whole = all("number" not in [part.get("type") for part in (one, *one.get("anyOf", ()))] for one in items)
    return ("first", "second") if whole and not said and not argument.endswith(("_range", "_limit")) else None


def is_neutral(step: Step) -> bool:
    """Whether every range of the step is the one value at which it changes nothing."""
    ranges = NEUTRAL.get(step.name)
    if not ranges:
        return False
    values = effective(step)
    # `shift_limit` speaks only where its two halves are silent.
    given = {name: values[name] for name in ranges if values.get(name) is not None}
    spans = {name: interval(meaning_of(step.name, name), value) for name, value in given.items()}
    return bool(spans) and all(span == (ranges[name], ranges[name]) for name, span in spans.items())


def makes_draws(step: Step) -> bool:
    """Whether the step, when it acts, draws anything. A registered class is taken at its word: it does not."""
    record = op_record(step.name)
    if not record.is_known or is_neutral(step):
        return False
    values = effective(step)
    if not record.random:
        return record.steady_when is not None and not record.steady_when(values)
    ranges = ONLY_DRAWS.get(step.name)
    if ranges is None:
        return True
    return not all(_one(meaning_of(step.name, name), values[name]) for name in ranges if values.get(name) is not None)


def _one(meaning: Meaning, value: Any) -> bool:
    """Whether an argument leaves one value to draw; each axis of a mapping has its own."""
    if isinstance(value, Mapping):
        return all(_one(meaning, part) for part in value.values())
    span = interval(meaning, value)
    return span is not None and span[0] == span[1]
