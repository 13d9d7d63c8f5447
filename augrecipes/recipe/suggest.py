"""The likely valid name, or what to write: what it is called elsewhere first, then the nearest spelling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from augrecipes.ops import registry
from augrecipes.ops.judge import verdict
from augrecipes.ops.rules import is_number
from augrecipes.recipe import history, synonyms
from augrecipes.recipe.arguments import check_value
from augrecipes.recipe.model import Arguments, Step
from augrecipes.recipe.nodes import Place, from_value
from augrecipes.recipe.spelling import hint
from augrecipes.recipe.today import instead, step_today
from augrecipes.recipe.write import flow

_OWN_CLASS = (
    "; a class of yours is made known with augrecipes.register(cls), a plugin of an installed package by its name "
    "under `plugins:`"
)


def step(name: str, given: Any, valid: Iterable[str]) -> str:
    """What to write for an unknown step with the arguments `given`.

    >>> step("RandomRotation", None, ["Rotate"])
    '; did you mean Rotate?'
    >>> step("horizontalflip", None, ["HorizontalFlip", "VerticalFlip"])
    "; did you mean 'HorizontalFlip'?"
    >>> step("RandomContrast", {"limit": 0.1}, [])
    '; write `RandomBrightnessContrast: {brightness_limit: 0, contrast_limit: 0.1}`'
    """
    if name in history.CLASSES:
        new, today = history.CLASSES[name], step_today(name, given if isinstance(given, Mapping) else {})
        fine = today and _accepted(new, today) and verdict(Step(new, Arguments(today))) is None
        return f"; write `{new}: {flow(today)}`" if fine else f"; did you mean {new}?"
    return _known(synonyms.STEPS.get(name)) or hint(name, valid) or _OWN_CLASS


def argument(cls: str, name: str, given: Mapping[str, Any], valid: Iterable[str]) -> str:
    """What to write for an unknown argument of a step `cls` with the arguments `given`, or an empty text.

    >>> argument("RandomCrop", "sise", {"sise": 3}, ["height", "width"])
    ''
    >>> argument("Rotate", "degrees", {"degrees": 3}, ["limit"])
    '; did you mean limit?'
    >>> argument("Rotate", "value", {"value": [0, 0, 255]}, ["limit", "fill"])
    '; write `fill: [0, 0, 255]`'
    """
    names = list(valid)
    if name == "always_apply":
        return f"; {history.ALWAYS_APPLY}"
    if (cls, name) in history.GONE:
        return f"; {history.GONE[cls, name]}"
    today = instead(cls, name, given)
    if today is None and name == "size" and cls in synonyms.SIZES:
        return _size(cls, given[name])
    if today is not None:
        return _instead(cls, today)
    specific = synonyms.ARGUMENTS_OF.get((cls, name))
    if specific:
        return _known(specific)
    general = synonyms.ARGUMENTS.get(name)
    return _known(general) if general in (*names, "p", "id") else hint(name, names)


def _instead(cls: str, today: Mapping[str, Any]) -> str:
    if not today:
        return "; it is gone, and null asked for nothing: leave it out"
    if _accepted(cls, today):
        return f"; write `{_inline(today)}`"
    return f"; did you mean {', '.join(today)}?"


def _size(cls: str, value: Any) -> str:
    height, width = value if isinstance(value, list) and len(value) == 2 else (value, value)
    other = synonyms.OF_ONE_NUMBER.get(cls)
    if other and not isinstance(value, list):
        shorter = {"max_size": value}
        if _accepted(other, shorter):
            return f"; one number is the shorter side, and the shape is kept: write `{other}: {flow(shorter)}`"
    sides = dict(zip(synonyms.SIZES[cls], (height, width), strict=True))
    return f"; write `{_inline(sides)}`" if _accepted(cls, sides) else f"; did you mean {' and '.join(sides)}?"


def _inline(arguments: Mapping[str, Any]) -> str:
    return flow(arguments)[1:-1]


def _accepted(cls: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a class's schema takes all of these."""
    takes = (registry.arguments(cls) or {"properties": {}})["properties"]
    return all(
        name in takes and not check_value(takes[name], from_value(arguments[name], Place())) for name in arguments
    )


def value(cls: str, name: str, code: str, given: Any) -> str:
    """What to say beside a value that an argument does not take, or an empty text.

    >>> value("Solarize", "threshold_range", "E307", [0, 128])
    '; it is in fractions of full scale: level 128 is 0.5'
    >>> value("RandomResizedCrop", "size", "E306", 224)
    '; write `size: [224, 224]`'
    """
    text = synonyms.VALUES.get((cls, name)) if code == "E307" else None
    if text:
        return f"; {text}"
    pair = {name: [given, given]}
    one = code == "E306" and is_number(given)
    return f"; write `{_inline(pair)}`" if one and _accepted(cls, pair) else ""


def top_key(name: str, valid: Iterable[str]) -> str:
    """What to write for an unknown key of the recipe, or an empty text."""
    return _known(synonyms.TOP_KEYS.get(name)) or hint(name, valid)


def _known(text: str | None) -> str:
    """A name of the tables as a question, words as they are."""
    if not text:
        return ""
    return f"; did you mean {text}?" if " " not in text else f"; {text}"
