"""Names of classes and arguments in earlier albumentations (0.3 to 2.0), torchvision, BasicSR and imgaug.

The tables of names.json and the conversions that need code turn a step of an earlier release into today's.
"""

import json
from collections.abc import Callable, Mapping
from math import inf, sqrt
from pathlib import Path
from typing import Any

from augrecipes.ops import constants, registry
from augrecipes.recipe.arguments import check_value
from augrecipes.recipe.nodes import NOWHERE, from_value

Arguments = Mapping[str, Any]


_TABLES = json.loads(Path(__file__).with_name("names.json").read_text(encoding="utf-8"))


def _by_class(table: str) -> dict[tuple[str, str], Any]:
    """A table whose keys are `Class.argument`."""
    return {tuple(key.split(".")): value for key, value in _TABLES[table].items()}


# Names in torchvision, BasicSR, imgaug and others: the name here, or an explanation in which `...` is YAML.
STEPS: dict[str, str] = _TABLES["steps"]
ARGUMENTS: dict[str, str] = _TABLES["arguments"]  # for every class that takes the new name
ARGUMENTS_OF: dict[tuple[str, str], str] = _by_class("arguments_of")
KEYS: dict[str, str] = _TABLES["keys"]
# Hints for values out of range that mean something else in other libraries.
VALUES: dict[tuple[str, str], str] = _by_class("values")
# The arguments for torchvision's `size`, of which a single number is the shorter side.
SIZES: dict[str, list[str]] = _TABLES["sizes"]
OF_ONE_NUMBER = {"Resize": "SmallestMaxSize"}

# Removed classes, and the class that replaces them.
CLASSES: dict[str, str] = _TABLES["classes"]
# A removed class, and the two of which it drew one, or both.
FLIP, FLIPS = "Flip", ("HorizontalFlip", "VerticalFlip")
# Positional arguments in releases up to 1.4 (always_apply and p behind them): for classes whose order has changed, for
# groups (behind their transforms), and for classes that `output:` replaces.
PLACES: dict[str, str] = _TABLES["places"]
# Old names of arguments, for every class that takes the new name and not the old.
RENAMED: dict[str, str] = _TABLES["renamed"]
# Border modes of scikit-image and imgaug, which PiecewiseAffine and imgaug's classes took.
BORDERS = {"edge": "replicate", "symmetric": "reflect", "reflect": "reflect_101"}
BORDER_CLASSES = ("PiecewiseAffine",)
# Two arguments, `low` and `high`, that are one range today. Without a default an end equals the other. `beyond`: added
# to the upper end. `least`: smaller values counted as this.
JOINED: dict[tuple[str, str], dict[str, Any]] = _by_class("joined")
# Ranges that must both be pixels or both fractions: if one is in pixels, the other's old default is written too.
TOGETHER = {"hole_height_range": "hole_width_range", "hole_width_range": "hole_height_range"}
# Defaults of releases before 2.0, and of removed classes, that differ from today's class.
DEFAULTS: dict[str, Arguments] = _TABLES["defaults"]
# Removed arguments without replacement: why, and what comes nearest.
REMOVED: dict[tuple[str, str], str] = _by_class("gone")
ALWAYS_APPLY = "it was removed: for true write `p: 1.0`, for false leave it out"


def as_range(value: Any) -> Any:
    """A range; a number becomes both of its ends."""
    return value if isinstance(value, list) else [value, value]


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def _both_ways(value: Any) -> Any:
    ways = value if isinstance(value, Mapping) else {"downscale": value, "upscale": value}
    return {key: constants.to_name("interpolation", way) for key, way in ways.items()}


def _is_range(value: Any) -> bool:
    return value is None or isinstance(value, list | Mapping)


# Conversions of values, by the words of the table. `levels`: levels of 255 to fractions of full scale; `deviations`:
# variances in squared levels of 255 (a single number means from 0) to standard deviations.
_WAYS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda value: value,
    "twice": as_range,
    "levels": lambda value: [_short(level / 255) for level in as_range(value)],
    "deviations": lambda value: [_short(sqrt(level) / 255) for level in (value if _is_range(value) else [0, value])],
    "from one": lambda value: value if _is_range(value) else sorted([1.0, value]),
    "both signs": lambda value: value if _is_range(value) else [-abs(value), abs(value)],
    "both ways": _both_ways,
    "order": {0: "nearest", 1: "linear", 3: "cubic"}.get,
}
# Arguments with another unit or form today: the new name, and the conversion.
CONVERTED = {key: (new, _WAYS[way]) for key, (new, way) in _by_class("converted").items()}


def _sigma(value: Any, args: Arguments) -> list[float] | None:
    """The sigma that OpenCV derives from the kernel's size; None where sigma was given."""
    limits = args.get("blur_limit", [3, 7])
    sizes = limits if isinstance(limits, list) else [3, limits]
    is_given = value not in (0, [0, 0]) or not all(isinstance(size, int | float) and size >= 3 for size in sizes)
    return None if is_given else [round(0.3 * ((size - 1) * 0.5 - 1) + 0.8, 4) for size in sizes]


def is_idle(cls: str, name: str, value: Any) -> bool:
    """Whether the value of a `REMOVED` argument had no effect.

    >>> is_idle("OpticalDistortion", "shift_limit", [-0.5, 0.05]), is_idle("ElasticTransform", "alpha_affine", 50)
    (True, False)
    """
    most = _TABLES["idle"][f"{cls}.{name}"]
    return all(isinstance(end, int | float) and abs(end) <= most for end in as_range(value or 0))


def new_meaning(cls: str, name: str, args: Arguments) -> dict[str, Any] | None:
    """Today's arguments for one that kept its name and changed its meaning; None: the meaning is the same.

    >>> new_meaning("ImageCompression", "compression_type", {"compression_type": 0})
    {'compression_type': 'jpeg'}
    >>> new_meaning("GaussianBlur", "sigma_limit", {"blur_limit": [3, 7], "sigma_limit": 0})
    {'sigma_limit': [0.8, 1.4]}
    """
    value = args[name]
    if (cls, name) == ("GaussianBlur", "sigma_limit") and (sigma := _sigma(value, args)) is not None:
        return {name: sigma}
    if (cls, name) == ("ImageCompression", "compression_type") and type(value) is int and value in (0, 1):
        return {name: ("jpeg", "webp")[value]}  # cv2's numbers of formats
    schema = {} if cls in CLASSES else valid_arguments(cls).get(name, {})
    no_null = value is None and schema.get("default") is not None and check_value(schema, from_value(None, NOWHERE))
    return {} if no_null else None  # null once stood for the default


def replacement(cls: str, name: str, args: Arguments) -> dict[str, Any] | None:
    """Today's arguments for the argument `name` of a step with arguments `args`; empty: leave it out.

    None where earlier releases had no such argument. Values are not checked against the class.

    >>> replacement("ImageCompression", "quality_lower", {"quality_lower": 60})
    {'quality_range': [60, 100]}
    >>> replacement("Rotate", "value", {"value": None}), replacement("Rotate", "mask_value", {"mask_value": 255})
    ({}, {'fill_mask': 255})
    """
    value = args.get(name)
    for (owner, joined), ends in JOINED.items():
        if owner == cls and name in (ends["low"], ends["high"]):
            return _joined(cls, joined, args)
    if (cls, name) in CONVERTED:
        new, convert = CONVERTED[cls, name]
        try:
            return {} if value is None else {new: convert(value)}
        except (TypeError, ValueError):  # an invalid value stays, and is reported for the new argument
            return {new: value}
    if name in valid_arguments(cls) or RENAMED.get(name) not in valid_arguments(cls):
        return None
    if value is None:  # null meant the default
        return {}
    if RENAMED[name] == "border_mode":
        names = BORDERS if cls in BORDER_CLASSES or cls in CLASSES else {}
        value = names.get(value, value) if isinstance(value, str) else constants.to_name("border_mode", value)
        return {"border_mode": value}
    return {RENAMED[name]: value}


def is_old(cls: str, name: str, args: Arguments) -> bool:
    """Whether only earlier releases, or calls in Python, have an argument of this name."""
    old = name in ("always_apply", "transforms") or (cls, name) in REMOVED
    return old or replacement(cls, name, args) is not None


def _joined(cls: str, name: str, args: Arguments) -> dict[str, Any] | None:
    ends = JOINED[cls, name]
    low, high = args.get(ends["low"]), args.get(ends["high"])
    low = ends.get("low_default") if low is None else low
    high = ends.get("high_default") if high is None else high
    low, high = (high if low is None else low), (low if high is None else high)
    if high is None:
        return {}
    if not isinstance(high, int | float) or not isinstance(low, int | float):
        return {name: [low, high]}
    least = ends.get("least", -inf)
    ranges: dict[str, Any] = {name: [max(low, least), max(high, least) + ends.get("beyond", 0)]}
    other = TOGETHER.get(name)
    if other is not None and high >= 1:
        other_ends = JOINED[cls, other]
        if not {other, other_ends["low"], other_ends["high"]} & args.keys():
            ranges[other] = as_range(other_ends["high_default"])
    return ranges


def current_arguments(cls: str, name: str, args: Arguments) -> dict[str, Any] | None:
    """Today's arguments for any argument of a step, old or new; None: no release has it, or it is `REMOVED`.

    >>> current_arguments("GaussNoise", "var_limit", {"var_limit": [10, 50]})
    {'std_range': [0.0124, 0.0277]}
    """
    current = replacement(cls, name, args)
    if current is None and name in valid_arguments(cls):
        changed = new_meaning(cls, name, args)
        current = {name: args[name]} if changed is None else changed
    return None if current is None else {key: constants.to_name(key, value) for key, value in current.items()}


def predates(cls: str, args: Arguments) -> bool:
    """Whether a step with these arguments was written for a release before 2.0.

    >>> predates("Rotate", {"limit": 5, "value": 0}), predates("Rotate", {"limit": 5}), predates("Flip", {})
    (True, False, True)
    """
    valid = valid_arguments(cls)
    changed = (bool(new_meaning(cls, name, args)) if name in valid else is_old(cls, name, args) for name in args)
    return cls in CLASSES or cls == FLIP or any(changed)


def old_defaults(cls: str, current: Arguments, args: Arguments) -> dict[str, Any]:
    """The defaults of a step before 2.0 that have to be written today.

    Args:
        cls: its class.
        current: today's arguments so far.
        args: the arguments as written.
    """
    added: dict[str, Any] = {}
    for name, value in DEFAULTS.get(cls, {}).items():
        if name not in args:
            added |= {name: value} if name == "p" else current_arguments(cls, name, {**args, name: value}) or {}
    return {key: value for key, value in added.items() if key not in current}


def current_step(name: str, args: Arguments) -> dict[str, Any] | None:
    """The arguments of `CLASSES[name]` that replace those of a step of the removed class `name`.

    >>> current_step("Cutout", {"num_holes": 4, "max_h_size": 16, "always_apply": True})
    {'num_holes_range': [4, 4], 'hole_height_range': [16, 16], 'hole_width_range': [8, 8], 'p': 1.0}
    """
    current: dict[str, Any] = {}
    for key, value in args.items():
        if key == "always_apply" or value is None:
            continue
        new = current_arguments(name, key, args)
        if new is None:
            return None
        current |= new
    if args.get("always_apply") is True:
        current["p"] = 1.0
    return in_order(name, current | old_defaults(name, current, args))


def in_order(cls: str, args: Arguments) -> dict[str, Any]:
    """Arguments in the order of today's class, p last."""
    places = [key for key in (*valid_arguments(cls), *args) if key != "p"]
    return {key: args[key] for key in (*places, "p") if key in args}


def valid_arguments(cls: str) -> Mapping[str, Any]:
    """The arguments of today's class for `cls`, each with its schema; empty: there is no such class."""
    return registry.takes(CLASSES.get(cls, cls))
