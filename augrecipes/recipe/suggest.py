"""Suggest a valid name or value: first by names in other libraries, then by spelling."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from augrecipes.errors import NO_HINT, Fix, Hint
from augrecipes.ops import bounds, checks
from augrecipes.recipe import history
from augrecipes.recipe.arguments import check_value
from augrecipes.recipe.model import Arguments, Step
from augrecipes.recipe.nodes import Place, from_value
from augrecipes.recipe.problems import hint_at, near
from augrecipes.recipe.write import flow

_OWN_CLASS = Hint("; register your own class with augrecipes.register(cls), or name its plugin under `plugins:`")
_SNIPPET = re.compile(r"`([^`]+)`")  # YAML in the words of the tables


def step(name: str, args: Any, valid: Iterable[str]) -> Hint:
    """The hint for an unknown step with the arguments `args`.

    >>> step("RandomRotation", None, ["Rotate"])
    Hint(text='; did you mean Rotate?', fixes=(Fix(action='word', text='Rotate'),))
    >>> step("horizontalflip", None, ["HorizontalFlip", "VerticalFlip"]).text
    "; did you mean 'HorizontalFlip'?"
    >>> step("RandomContrast", {"limit": 0.1}, []).text
    '; write `RandomBrightnessContrast: {brightness_limit: 0, contrast_limit: 0.1}`'
    """
    if name in history.CLASSES:
        new, today = history.CLASSES[name], history.current_step(name, args if isinstance(args, Mapping) else {})
        is_valid = today and _is_accepted(new, today) and bounds.verdict(Step(new, Arguments(today))) is None
        return _write(f"{new}: {flow(today)}", "step") if is_valid else hint_at(new)
    return _table_hint(history.STEPS.get(name), "step") or near(name, valid) or _OWN_CLASS


def argument(cls: str, name: str, args: Mapping[str, Any], valid: Sequence[str]) -> Hint:
    """The hint for an unknown argument of a step `cls` with the arguments `args`; may be empty.

    >>> argument("RandomCrop", "sise", {"sise": 3}, ["height", "width"]).text
    ''
    >>> argument("Rotate", "degrees", {"degrees": 3}, ["limit"]).text
    '; did you mean limit?'
    >>> argument("Rotate", "value", {"value": [0, 0, 255]}, ["limit", "fill"]).text
    '; write `fill: [0, 0, 255]`'
    """
    if name == "always_apply":
        fix = Fix("entry", "p: 1.0") if args.get(name) is True else Fix("remove")
        return Hint(f"; {history.ALWAYS_APPLY}", (fix,))
    if (cls, name) in history.REMOVED:
        return Hint(f"; {history.REMOVED[cls, name]}", (Fix("remove"),))
    today = history.replacement(cls, name, args)
    if today is None and name == "size" and cls in history.SIZES:
        return _size(cls, args[name])
    if today is not None:
        gone = Hint("; it was removed, and null meant nothing: leave it out", (Fix("remove"),))
        return _entries(cls, today, ", ") if today else gone
    general = history.ARGUMENTS.get(name)
    known = history.ARGUMENTS_OF.get((cls, name)) or (general if general in (*valid, "p", "id") else None)
    return _table_hint(known, "entry") or near(name, valid)


def _size(cls: str, value: Any) -> Hint:
    height, width = value if isinstance(value, list) and len(value) == 2 else (value, value)
    other = history.OF_ONE_NUMBER.get(cls)
    if other and not isinstance(value, list) and _is_accepted(other, {"max_size": value}):
        why = "one number is the shorter side, and the shape is kept: "
        return _write(f"{other}: {{max_size: {flow(value)}}}", "step", why)
    return _entries(cls, dict(zip(history.SIZES[cls], (height, width), strict=True)), " and ")


def _entries(cls: str, arguments: Mapping[str, Any], joint: str) -> Hint:
    """A hint to write arguments; their names alone where the class does not take the values."""
    return _write(flow(arguments)[1:-1], "entry") if _is_accepted(cls, arguments) else hint_at(joint.join(arguments))


def _is_accepted(cls: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a class's schema accepts all of the arguments."""
    takes = history.valid_arguments(cls)
    return all(key in takes and not check_value(takes[key], from_value(arguments[key], Place())) for key in arguments)


def value(cls: str, name: str, code: str, written: Any) -> Hint:
    """The hint for a value that an argument does not take; may be empty.

    >>> value("Solarize", "threshold_range", "E307", [0, 128]).text
    '; it is in fractions of full scale: level 128 is 0.5'
    >>> value("RandomResizedCrop", "size", "E306", 224).text
    '; write `size: [224, 224]`'
    """
    if code == "E307" and (cls, name) in history.VALUES:
        return Hint(f"; {history.VALUES[cls, name]}")
    pair = {name: [written, written]}
    is_one = code == "E306" and checks.is_number(written)
    return _write(flow(pair)[1:-1], "entry") if is_one and _is_accepted(cls, pair) else NO_HINT


def top_key(name: str, valid: Iterable[str]) -> Hint:
    """The hint for an unknown key of the recipe; may be empty."""
    return _table_hint(history.KEYS.get(name), "entry") or near(name, valid)


def _write(yaml: str, action: Literal["step", "entry"], why: str = "") -> Hint:
    return Hint(f"; {why}write `{yaml}`", (Fix(action, yaml),))


def _table_hint(text: str | None, action: Literal["step", "entry"]) -> Hint:
    """The hint for a table's text: a name becomes a question, and each `snippet` of an explanation a fix."""
    if not text:
        return NO_HINT
    if " " not in text:
        return hint_at(text)
    if text.startswith(("leave it out", "it is not a step")):
        return Hint(f"; {text}", (Fix("remove"),))
    fixes = (Fix("step" if yaml[0].isupper() else action, yaml) for yaml in _SNIPPET.findall(text))
    return Hint(f"; {text}", tuple(fixes))
