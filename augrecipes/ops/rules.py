"""What constructors of albumentations check by hand-written code, as rules that need no import of it.

A rule sees a step's arguments, defaults merged, after the schema has accepted each of them; it returns the argument at
fault and a message, or None. A property test holds every rule to the verdict of the class's constructor. Where a rule
is stricter on purpose, the class accepts what its own documentation rules out, or what fails on the first image.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Fault = tuple[str, str] | None
ArgumentRule = Callable[[Mapping[str, Any]], Fault]


def _pair(value: Any, low: float | None = None) -> tuple[float, float]:
    """A number as albumentations makes a range of it: from `low`, or from its negative (which may be the larger)."""
    if isinstance(value, list | tuple):
        return min(value), max(value)
    return (-value, value) if low is None else (min(low, value), max(low, value))


# Keys of AdditiveNoise's noise_params by noise_type, with the bounds of each range.
_NOISE: dict[str, dict[str, tuple[float, float]]] = {
    "uniform": {"ranges": (-1, 1)},
    "gaussian": {"mean_range": (-1, 1), "std_range": (0, 1)},
    "laplace": {"mean_range": (-1, 1), "scale_range": (0, 1)},
    "beta": {"alpha_range": (0, float("inf")), "beta_range": (0, float("inf")), "scale_range": (0, 1)},
}


def _additive_noise(a: Mapping[str, Any]) -> Fault:
    given, kind = a["noise_params"], a["noise_type"]
    if given is None:
        return None
    wanted = _NOISE[kind]
    if set(given) != set(wanted):  # stricter: the class ignores other keys
        return "noise_params", f"for noise_type {kind} give {', '.join(wanted)}; got {', '.join(given) or 'nothing'}"
    for name, (low, high) in wanted.items():
        ranges = given[name] if name == "ranges" else [given[name]]
        if not isinstance(ranges, list) or not ranges:
            return "noise_params", f"{name} must be a list of pairs of numbers, one a channel"
        for pair in ranges:
            if not isinstance(pair, list) or len(pair) != 2 or not all(is_number(item) for item in pair):
                return "noise_params", f"{name} must be {'pairs' if name == 'ranges' else 'a pair'} of numbers"
            if not low <= min(pair) <= max(pair) <= high or pair[0] > pair[1]:
                bound = f"at least {low}" if high > 1 else f"between {low} and {high}"
                return "noise_params", f"{name} must be {bound}, smaller number first, got {pair}"
    return None


def is_number(value: Any) -> bool:
    """Whether a value is a number: `true` is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _odd_kernel(a: Mapping[str, Any]) -> Fault:
    value = a["blur_limit"]
    low, high = (value[0], value[1]) if isinstance(value, list) else (3, value)
    if low < 3 or high < 3:
        return "blur_limit", f"kernel sizes are 3 or more, got {value}"
    if low % 2 == 0 or high % 2 == 0:
        return "blur_limit", f"kernel sizes are odd, got {value}"
    if low > high:
        return "blur_limit", f"the first value may not exceed the second, got {value}"
    return None


def _advanced_blur(a: Mapping[str, Any]) -> Fault:
    if fault := _odd_kernel(a):
        return fault
    if _pair(a["sigma_x_limit"], 0)[0] == 0 and _pair(a["sigma_y_limit"], 0)[0] == 0:
        return "sigma_x_limit", "sigma_x_limit and sigma_y_limit may not both start at 0"
    low, high = _pair(a["beta_limit"], 0)
    return None if low < 1 < high else ("beta_limit", f"the range must include 1, got {a['beta_limit']}")


def _affine(a: Mapping[str, Any]) -> Fault:
    if a["translate_percent"] is not None and a["translate_px"] is not None:
        return "translate_px", "give translate_percent or translate_px, not both"
    for name in ("scale", "shear", "translate_percent", "translate_px"):
        value = a[name]
        if isinstance(value, Mapping) and (not value or set(value) - {"x", "y"}):
            return name, f"a mapping has the keys x and y, got {', '.join(value) or 'none'}"
    scale = a["scale"]
    x, y = (_range(scale.get(axis, 1.0) if isinstance(scale, Mapping) else scale) for axis in "xy")
    if a["keep_ratio"] and x != y:
        return "scale", "keep_ratio: true needs one scale for x and y"
    if min(x) <= 0 <= max(x) or min(y) <= 0 <= max(y):
        return "scale", f"an image of scale 0 has no size: it must stay above 0, got {scale}"
    return None


def _range(value: Any) -> tuple[float, float]:
    return _pair(value) if isinstance(value, list) else (value, value)


def _coarse_dropout(a: Mapping[str, Any]) -> Fault:
    # Stricter: the class takes both as what the heights are. A width of 0 is 0 either way.
    height, width = a["hole_height_range"][1], a["hole_width_range"][1]
    if height < 1 < width or 0 < width < 1 <= height:
        what = "hole_height_range and hole_width_range both count pixels, or both are fractions of the image"
        return "hole_width_range", f"{what}, got {a['hole_height_range']} and {a['hole_width_range']}"
    return None


def _color_jitter(a: Mapping[str, Any]) -> Fault:
    for name in ("brightness", "contrast", "saturation", "hue"):
        value = a[name]
        low, high = (-0.5, 0.5) if name == "hue" else (0.0, float("inf"))
        if isinstance(value, list):
            if not all(low <= item <= high for item in value):
                allowed = "between -0.5 and 0.5" if name == "hue" else "at least 0 (1 changes nothing)"
                return name, f"must be {allowed}, got {value}"
            if value[0] > value[1]:
                return name, f"the first value may not exceed the second, got {value}"
        elif value < 0 or value > high:  # stricter: a hue over half the circle, against the documentation
            return name, f"must be {'between 0 and 0.5' if name == 'hue' else 'at least 0'}, got {value}"
    return None


def _crop(a: Mapping[str, Any]) -> Fault:
    for axis in "xy":
        if a[f"{axis}_min"] >= a[f"{axis}_max"]:
            return f"{axis}_max", f"must be greater than {axis}_min ({a[f'{axis}_min']}), got {a[f'{axis}_max']}"
    return None


def _one_of(a: Mapping[str, Any], one: str, other: str) -> Fault:
    """Of two arguments that say the same thing one is given."""
    if a[one] is None and a[other] is None:
        return "", f"give {one} or {other}"
    return (other, f"give {one} or {other}, not both") if None not in (a[one], a[other]) else None


def _grid_distortion(a: Mapping[str, Any]) -> Fault:
    limits = _pair(a["distort_limit"])
    if -1 <= min(limits) <= max(limits) <= 1:
        return None
    return "distort_limit", f"must be between -1 and 1, got {a['distort_limit']}"


def _he_stain(a: Mapping[str, Any]) -> Fault:
    if a["method"] == "random_preset" and a["preset"] is not None:
        return "preset", "a preset needs method: preset"
    return None


def _max_size(a: Mapping[str, Any]) -> Fault:
    if fault := _one_of(a, "max_size", "max_size_hw"):
        return fault
    # Stricter: sizes that fail on the first image.
    name = "max_size" if a["max_size_hw"] is None else "max_size_hw"
    sizes = a[name]
    given = [item for item in (sizes if isinstance(sizes, list) else [sizes]) if item is not None]
    if not given or min(given) < 1:
        return name, f"needs a size of at least 1, got {sizes}"
    return None


def _pad_if_needed(a: Mapping[str, Any]) -> Fault:
    for side in ("height", "width"):
        if (a[f"min_{side}"] is None) == (a[f"pad_{side}_divisor"] is None):
            what = "give one of them" if a[f"min_{side}"] is None else f"with a divisor write min_{side}: null"
            return f"pad_{side}_divisor", f"min_{side} and pad_{side}_divisor exclude each other; {what}"
    return None


def _planckian_jitter(a: Mapping[str, Any]) -> Fault:
    limit = a["temperature_limit"]
    if limit is None:
        return None
    coldest = 3000 if a["mode"] == "blackbody" else 4000
    if min(limit) < coldest or max(limit) > 15000:
        return "temperature_limit", f"must be between {coldest} and 15000 kelvin for mode {a['mode']}, got {limit}"
    return None if limit[0] <= 6000 <= limit[1] else ("temperature_limit", f"must include 6000 kelvin, got {limit}")


def _posterize(a: Mapping[str, Any]) -> Fault:
    value = a["num_bits"]
    if isinstance(value, list) and all(isinstance(item, list) for item in value):
        if len(value) < 3:
            return "num_bits", f"a pair a channel needs three channels or more, got {len(value)}"
        numbers = [number for item in value for number in item]
    else:
        numbers = value if isinstance(value, list) else [value]
    # Stricter: the class lets pairs pass that leave 1..7.
    return (
        None if all(1 <= number <= 7 for number in numbers) else ("num_bits", f"must be between 1 and 7, got {value}")
    )


def _crop_from_borders(a: Mapping[str, Any]) -> Fault:
    for one, other in (("crop_left", "crop_right"), ("crop_top", "crop_bottom")):
        if a[one] + a[other] > 1:
            return other, f"{one} and {other} may not exceed 1 together, got {a[one]} and {a[other]}"
    return None


def _region(name: str) -> ArgumentRule:
    def rule(a: Mapping[str, Any]) -> Fault:
        x0, y0, x1, y1 = a[name]
        if x0 < x1 and y0 < y1 and min(x0, y0) >= 0 and max(x1, y1) <= 1:
            return None
        return name, f"must be [x_min, y_min, x_max, y_max] in fractions of the image, 0 to 1, got {a[name]}"

    return rule


def _random_scale(a: Mapping[str, Any]) -> Fault:
    # Stricter: a factor of 0 or less fails on the image that draws it.
    if min(_pair(a["scale_limit"])) > -1:
        return None
    return (
        "scale_limit",
        f"1 is added to it, so it must stay above -1; 0.2 draws from 0.8 to 1.2; got {a['scale_limit']}",
    )


def _shift_scale_rotate(a: Mapping[str, Any]) -> Fault:
    for name in ("shift_limit_x", "shift_limit_y"):
        key = name if a[name] is not None else "shift_limit"
        low, high = _pair(a[key])
        if not -1 <= low <= high <= 1:
            allowed = "a positive number up to 1, or a pair" if isinstance(a[key], int | float) else "a pair"
            return key, f"must be {allowed} between -1 and 1 (fractions of the image), got {a[key]}"
    if min(_pair(a["scale_limit"])) <= -1:
        return "scale_limit", f"1 is added to it, so it must stay above -1, got {a['scale_limit']}"
    return None


def _random_sized_crop(a: Mapping[str, Any]) -> Fault:
    # Stricter: windows without a column fail on the image that draws them.
    least = _pair(a["min_max_height"], 1)[0]
    if int(least * a["w2h_ratio"]) >= 1:
        return None
    return "w2h_ratio", f"windows of {least} rows have no column, got {a['w2h_ratio']}; width is height × w2h_ratio"


def _spatter(a: Mapping[str, Any]) -> Fault:
    color = a["color"]
    return None if color is None or len(color) == 3 else ("color", f"must be three numbers (RGB), got {len(color)}")


def _rgb_shift(a: Mapping[str, Any]) -> Fault:
    for name in ("r_shift_limit", "g_shift_limit", "b_shift_limit"):
        low, high = _pair(a[name])
        # Numbers over 1 are taken as levels of 255.
        if low > high or max(-low, high) > 255:
            return name, f"must be a positive number up to 255, or a pair between -255 and 255, got {a[name]}"
    return None


def _safe_rotate(a: Mapping[str, Any]) -> Fault:
    return ("fill_mask", "must be a number or a list of numbers, got nothing") if a["fill_mask"] is None else None


def _stain_jitter(a: Mapping[str, Any]) -> Fault:
    for name in ("sigma", "bias"):
        if is_number(a[name]) and a[name] < 0:
            return name, f"a single number s means [-s, s], so it must be at least 0, got {a[name]}"
    return None


RULES: dict[str, ArgumentRule] = {
    "AdditiveNoise": _additive_noise,
    "AdvancedBlur": _advanced_blur,
    "Affine": _affine,
    "Blur": _odd_kernel,
    "CoarseDropout": _coarse_dropout,
    "ColorJitter": _color_jitter,
    "Crop": _crop,
    "CornerAffine": _affine,
    "CropAndPad": lambda a: _one_of(a, "px", "percent"),
    "GridDistortion": _grid_distortion,
    "HEStain": _he_stain,
    "LongestMaxSize": _max_size,
    "MedianBlur": _odd_kernel,
    "MotionBlur": _odd_kernel,
    "PadIfNeeded": _pad_if_needed,
    "PlanckianJitter": _planckian_jitter,
    "Posterize": _posterize,
    "RGBShift": _rgb_shift,
    "RandomCropFromBorders": _crop_from_borders,
    "RandomGravel": _region("gravel_roi"),
    "RandomScale": _random_scale,
    "RandomShadow": _region("shadow_roi"),
    "RandomSizedCrop": _random_sized_crop,
    "RandomSunFlare": _region("flare_roi"),
    "RingingOvershoot": _odd_kernel,
    "SafeRotate": _safe_rotate,
    "ShiftScaleRotate": _shift_scale_rotate,
    "SmallestMaxSize": _max_size,
    "Spatter": _spatter,
    "StainJitter": _stain_jitter,
    "UnsharpMask": _odd_kernel,
}
