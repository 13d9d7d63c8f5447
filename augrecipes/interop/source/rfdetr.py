"""RF-DETR's `aug_config`: classes of albumentations by name, each with its arguments; groups hold lists of the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from augrecipes.interop.draft import Call
from augrecipes.interop.source.transforms import call_of, place_of
from augrecipes.interop.source.values import Mapped
from augrecipes.ops import registry
from augrecipes.ops.groups import COMPOSE, ONE_OF, SEQUENTIAL, SOME_OF
from augrecipes.ops.outputs import NORMALIZE, TO_TENSOR
from augrecipes.recipe.nodes import Place

KEY, PACKAGE = "aug_config", "rfdetr"
NOTE = "RF-DETR resizes in front of this: put `Resize: {height: R, width: R}` of its `resolution` first."
_GROUPS, _INSIDE = (ONE_OF, SOME_OF, SEQUENTIAL), "transforms"
_BOXES = {"format": "pascal_voc", "label_fields": ["box_labels"], "clip": True}


def is_config(path: Sequence[str], value: Any) -> bool:
    """Whether a value is an `aug_config`: by its name, or because it maps nothing but known classes to arguments."""
    entries = value if isinstance(value, list) else [value]
    if not entries or not all(isinstance(each, Mapping) and each for each in entries):
        return False
    pairs = [pair for each in entries for pair in each.items()]
    known = (isinstance(name, str) and (name in _GROUPS or registry.arguments(name)) for name, _ in pairs)
    is_named = "".join(path[-1:]).lower() == KEY
    return is_named or (all(known) and all(isinstance(args, Mapping | list) for _, args in pairs))


def compose_of(value: Any) -> Call:
    """An `aug_config` as a Compose, with what RF-DETR does to boxes, and behind it to images."""
    place = place_of(value)
    after = (Call(name, place=place) for name in (NORMALIZE, TO_TENSOR))
    return Call(COMPOSE, {"bbox_params": _BOXES}, (*map(call_of, _mappings(value, place)), *after), place, PACKAGE)


def _mappings(value: Any, place: Place) -> Iterator[Mapped]:
    """Turn each entry into a mapping that names its class, as other configs have it."""
    for entry in [value] if isinstance(value, Mapping) else value:
        for name, args in entry.items() if isinstance(entry, Mapping) else [(entry, {})]:
            at = getattr(entry, "keys_at", {}).get(name, place)
            given = {_INSIDE: args} if isinstance(args, list) else args
            if name in _GROUPS and isinstance(given, Mapping):
                given = {"p": 1.0, **given, _INSIDE: [*_mappings(given.get(_INSIDE) or [], at)]}
            yield Mapped({"name": str(name), "params": given}, at)
