"""What stands today for a step as an earlier release of albumentations had it, by the tables of `history`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.ops import registry
from augrecipes.ops.constants import to_name
from augrecipes.recipe import history
from augrecipes.recipe.arguments import check_value
from augrecipes.recipe.history import Arguments
from augrecipes.recipe.nodes import NOWHERE, from_value


def meant(cls: str, name: str, given: Arguments) -> dict[str, Any] | None:
    """What stands today for an argument that has its name still, and another meaning; None: it means what it did.

    >>> meant("ImageCompression", "compression_type", {"compression_type": 0})
    {'compression_type': 'jpeg'}
    >>> meant("GaussianBlur", "sigma_limit", {"blur_limit": [3, 7], "sigma_limit": 0})
    {'sigma_limit': [0.8, 1.4]}
    """
    value = given[name]
    other = history.MEANT[cls, name](value, given) if (cls, name) in history.MEANT else None
    if other is not None:
        return {name: other}
    schema = (registry.arguments(cls) or {"properties": {}})["properties"].get(name, {})
    if (
        value is None
        and "default" in schema
        and schema["default"] is not None
        and check_value(schema, from_value(None, NOWHERE))
    ):
        return {}  # once the default, which was the same in effect
    return None


def instead(cls: str, name: str, given: Arguments) -> dict[str, Any] | None:
    """What stands today for the argument `name` of a step with the arguments `given`; empty: it is left out.

    None where earlier releases had no such argument. The value is not checked against the class.

    >>> instead("ImageCompression", "quality_lower", {"quality_lower": 60})
    {'quality_range': [60, 100]}
    >>> instead("Rotate", "value", {"value": None}), instead("Rotate", "mask_value", {"mask_value": 255})
    ({}, {'fill_mask': 255})
    """
    value = given.get(name)
    for (owner, joined), ends in history.JOINED.items():
        if owner == cls and name in (ends.low, ends.high):
            return _joined(cls, joined, given)
    if (cls, name) in history.CONVERTED:
        new, convert = history.CONVERTED[cls, name]
        try:
            return {} if value is None else {new: convert(value)}
        except (TypeError, ValueError):  # no value of that argument, and none of the new one
            return {new: value}
    takes, new = _takes(cls), history.CLASSES.get(cls, cls)
    if name in takes or history.RENAMED.get(name) not in takes:
        return None
    if value is None:  # as if it were not there: nothing is filled in, or black
        return {}
    if history.RENAMED[name] == "border_mode":
        names = history.MODES if cls in history.OF_MODES or cls != new else {}
        value = names.get(value, value) if isinstance(value, str) else to_name("border_mode", value)
        return {"border_mode": value}
    return {history.RENAMED[name]: value}


def is_old(cls: str, name: str, given: Arguments) -> bool:
    """Whether only earlier releases, or Python, have an argument of this name."""
    old = name in ("always_apply", "transforms") or (cls, name) in history.GONE
    return old or instead(cls, name, given) is not None


def _joined(cls: str, name: str, given: Arguments) -> dict[str, Any] | None:
    ends = history.JOINED[cls, name]
    low, high = given.get(ends.low), given.get(ends.high)
    low = ends.low_default if low is None else low
    high = ends.high_default if high is None else high
    low, high = (high if low is None else low), (low if high is None else high)
    if high is None:
        return {}
    if not isinstance(high, int | float) or not isinstance(low, int | float):
        return {name: [low, high]}
    found: dict[str, Any] = {name: [max(low, ends.least), max(high, ends.least) + ends.beyond]}
    other = history.TOGETHER.get(name)
    if other is not None and high >= 1:
        beside = history.JOINED[cls, other]
        if not {other, beside.low, beside.high} & given.keys():
            found[other] = history.twice(beside.high_default)
    return found


def today(cls: str, name: str, given: Arguments) -> dict[str, Any] | None:
    """What stands today for any argument of a step, whatever it is called; None: no release has it, or it is `GONE`.

    >>> today("Blur", "blur_limit", {"blur_limit": 5}), today("GaussNoise", "var_limit", {"var_limit": [10, 50]})
    ({'blur_limit': 5}, {'std_range': [0.0124, 0.0277]})
    """
    found = instead(cls, name, given)
    if found is None and name in _takes(cls):
        found = meant(cls, name, given)
        found = {name: given[name]} if found is None else found
    return None if found is None else {key: to_name(key, value) for key, value in found.items()}


def predates(cls: str, given: Arguments) -> bool:
    """Whether a step with these arguments was written for a release before 2.0.

    >>> predates("Rotate", {"limit": 5, "value": 0}), predates("Rotate", {"limit": 5}), predates("Flip", {})
    (True, False, True)
    """
    takes = _takes(cls)
    changed = (bool(meant(cls, name, given)) if name in takes else is_old(cls, name, given) for name in given)
    return cls in history.CLASSES or cls == history.FLIP or any(changed)


def unsaid(cls: str, found: Arguments, given: Arguments) -> dict[str, Any]:
    """What a step before 2.0 did where nothing was said, and has to be told today.

    Args:
        cls: its class.
        found: today's arguments so far.
        given: those that it was written with.
    """
    added: dict[str, Any] = {}
    for name, value in history.DEFAULTS.get(cls, {}).items():
        if name not in given:
            added |= {name: value} if name == "p" else today(cls, name, {**given, name: value}) or {}
    return {key: value for key, value in added.items() if key not in found}


def step_today(name: str, given: Arguments) -> dict[str, Any] | None:
    """The arguments that `CLASSES[name]` takes for those of a step of the class `name`, which is gone.

    >>> step_today("Cutout", {"num_holes": 4, "max_h_size": 16, "always_apply": True})
    {'num_holes_range': [4, 4], 'hole_height_range': [16, 16], 'hole_width_range': [8, 8], 'p': 1.0}
    """
    found: dict[str, Any] = {}
    for key, value in given.items():
        if key == "always_apply" or value is None:
            continue
        new = today(name, key, given)
        if new is None:
            return None
        found |= new
    if given.get("always_apply") is True:
        found["p"] = 1.0
    return ordered(name, found | unsaid(name, found, given))


def ordered(cls: str, args: Arguments) -> dict[str, Any]:
    """Arguments in the order in which the class that does the work today takes them, p behind them."""
    places = [key for key in (*_takes(cls), *args) if key != "p"]
    return {key: args[key] for key in (*places, "p") if key in args}


def _takes(cls: str) -> Mapping[str, Any]:
    schema = registry.arguments(history.CLASSES.get(cls, cls)) or {"properties": {}}
    properties: Mapping[str, Any] = schema["properties"]
    return properties
