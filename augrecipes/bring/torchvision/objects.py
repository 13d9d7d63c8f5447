"""Pipelines of torchvision that the caller has built: told by the name of their module, read by their attributes."""

from __future__ import annotations

from typing import Any

from augrecipes.bring.calls import Call
from augrecipes.bring.torchvision.signatures import PARAMETERS
from augrecipes.recipe.nodes import Place

_HOME = "torchvision.transforms"
_CHILDREN = "transforms"
# Arguments whose attribute is called otherwise.
_ATTRIBUTES = {"sampler_options": "options"}
_NONE = object()


def is_torchvision(value: Any) -> bool:
    """Whether an object is one of torchvision's transforms."""
    return type(value).__module__.startswith(_HOME)


def read(value: Any, file: str) -> Call:
    """The transform, and those inside it; lines are counted as `repr` prints them, one a transform."""
    return _read(value, file, [0])


def _read(value: Any, file: str, count: list[int]) -> Call:
    count[0] += 1
    place, cls = Place(file, count[0], 1), type(value)
    if not is_torchvision(value):
        name = getattr(value, "__name__", cls.__name__)
        return Call(name if name.isidentifier() else "Lambda", {}, None, place, cls.__module__)
    found = {key: getattr(value, _ATTRIBUTES.get(key, key), _NONE) for key in PARAMETERS.get(cls.__name__, ())}
    children = found.pop(_CHILDREN, None)
    args = {key: _plain(each) for key, each in found.items() if each is not _NONE}
    inside = tuple(_read(each, file, count) for each in children) if children is not None else None  # type: ignore[attr-defined]
    return Call(cls.__name__, args, inside, place, cls.__module__)


def _plain(value: Any) -> Any:
    """A value as a config would have it."""
    if isinstance(value, dict):
        return {getattr(key, "__name__", str(key)): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
