"""Configs as values, and how a mapping names a class: `_target_`, `class_path`, `type`, or `name` and `params`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from augrecipes.interop.draft import POSITIONAL, Call
from augrecipes.interop.source.values import Listed, Mapped, OutsideName, UnknownValue
from augrecipes.recipe import limits
from augrecipes.recipe.nodes import NOWHERE, ListNode, MappingNode, Node, Place, Scalar, short

# The key that names the class, and the keys that hold arguments; without any of these they stand beside the name.
_FORMS: dict[str, tuple[str, ...]] = {
    "_target_": (),
    "class_path": ("init_args", "dict_kwargs"),
    "type": ("params", "args", "kwargs"),
    "name": ("params", "parameters", "args", "kwargs", "init_args"),
    "class_name": ("params", "parameters", "args", "kwargs"),
    "CLASS_NAME": ("params", "PARAMS", "args"),
}
# Keys of Hydra's own, and what a probability is called beside a name.
_HYDRA = frozenset({"_convert_", "_recursive_", "_partial_", "_target_"})
_CHANCE = ("probability", "prob")
_CHILDREN = ("transforms", "steps", "augmentations")
# Prefixes of registries, which say no more than the class does.
_REGISTRIES = ("mmdet.", "mmseg.", "mmcv.", "mmyolo.", "mmpretrain.", "mmcls.", "mmrotate.", "mmpose.")
# As what people import packages.
_ALIASES = dict.fromkeys(("A", "alb", "albu"), "albumentations")


class Unread(Exception):  # noqa: N818 - a finding about one value, kept with the call around it
    """A value that only running something would tell."""


@dataclass(frozen=True, slots=True)
class Interpolation(UnknownValue):
    """`${...}` that names no number and no text in the file."""

    def why(self) -> str:
        """Why it cannot be read, and what to do."""
        return (
            f"`{short(self.text)}` in line {self.at.line} names no single value of this file: write the value, or "
            "import the config as composed (`python train.py --cfg job --resolve`)"
        )


def names_class(value: Any) -> bool:
    """Whether a value names a class in one of the forms."""
    return _form(value) is not None


def are_calls(items: Any) -> bool:
    """Whether these are calls; among those of a list, some may be `${...}`."""
    each = [item for item in items if not (isinstance(items, list) and isinstance(item, Interpolation))]
    return bool(each) and all(map(names_class, each))


def _form(value: Any) -> str | None:
    return next((key for key in _FORMS if _class(value, key)), None) if isinstance(value, Mapping) else None


def _class(mapping: Mapping[Any, Any], key: str) -> str:
    """The class that stands at a key, as text or as a name of Python; or nothing."""
    said = mapping.get(key)
    said = said.last if isinstance(said, OutsideName) and said.bound else said
    return said if isinstance(said, str) else ""


def call_of(value: Any) -> Call:
    """What a mapping that names a class builds; `unread` says why its arguments cannot be told."""
    if isinstance(value, Interpolation):
        return Call(value.text, place=value.at, unread=value.why())
    form = _form(value) or ""
    full = _class(value, form).removeprefix("$")
    for prefix in _REGISTRIES if form == "type" else ():
        full = full.removeprefix(prefix)
    package, _, name = full.rpartition(".")
    children, args, unread = None, {}, ""
    for key, item in _arguments(value, form):
        if key in _CHILDREN and isinstance(item, list | tuple) and are_calls(item):
            children = tuple(map(call_of, item))
            continue
        try:
            args["p" if key in _CHANCE and form != "type" else key] = read(item)
        except Unread as error:
            unread = unread or str(error)
    return Call(name, args, children, place_of(value), _ALIASES.get(package, package), unread)


def _arguments(value: Mapping[str, Any], form: str) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        if key in _FORMS[form] and isinstance(item, Mapping):
            yield from item.items()
        elif key != form and key not in _HYDRA and not (key in _FORMS[form] and item is None):
            yield key, item


def place_of(value: Any) -> Place:
    """Where a list or a mapping of a config stands."""
    return getattr(value, "at", NOWHERE)


def read(value: Any) -> Any:
    """A value as a transform takes it; of a class that is built from one value, such as an enumeration's, that value.

    Raises:
        Unread: it is computed, or stands elsewhere.
    """
    return _Plain().of(value, 0)


class _Plain:
    """Values as plain ones, as many as a file may hold."""

    def __init__(self) -> None:
        self.left = limits.MAX_NODES

    def of(self, value: Any, depth: int) -> Any:
        self.left -= 1
        match value:
            case _ if self.left < 0 or depth > limits.MAX_DEPTH:
                raise Unread("computes `...`, which is too large: write the value")
            case Interpolation():
                raise Unread(value.why())
            case UnknownValue(text=text, at=at):
                raise Unread(f"computes `{text}` in line {at.line}, and nothing is run: write the value")
            case OutsideName(bound=True):
                return value.last
            case list() | tuple():
                return [self.of(item, depth + 1) for item in value]
            case Mapping() if names_class(value):
                listed = value.get(POSITIONAL)
                inside = listed if isinstance(listed, list) else list(value.values())[1:]
                if len(inside) == 1:
                    return self.of(inside[0], depth + 1)
        if isinstance(value, Mapping):
            return {str(key): self.of(item, depth + 1) for key, item in value.items()}
        if not isinstance(value, str | int | float | None):
            name = getattr(value, "path", getattr(value, "name", "an object"))
            raise Unread(f"computes `{name}`, and nothing is run: write the value")
        return value


_NAMED = re.compile(r"\$\{\s*([\w\[\]-][\w.\[\]-]*)\s*\}")  # OmegaConf's `${a.b}`
_RESOLVERS = ("${as_", "${torch", "${get_")  # which run code
_MOST = 16  # that lead to each other


def values_of(top: Node) -> Any:
    """The config as values: for `${...}` the number or text that it names in the file, lists of calls as mappings."""
    return _value(top, top)


def _value(node: Node, top: Node) -> Any:
    if isinstance(node, MappingNode):
        return Mapped(((key, _value(each, top)) for key, each in node.entries.items()), node.place)
    if isinstance(node, ListNode):
        return _as_mapping(Listed([_value(each, top) for each in node.items], node.place))
    for _ in range(_MOST):
        text = node.value
        match = _NAMED.fullmatch(text) if isinstance(text, str) else None
        other = top if match else None
        for key in re.findall(r"[\w-]+", match[1]) if match else ():
            if isinstance(other, ListNode):
                other = dict(zip(map(str, range(len(other.items))), other.items, strict=True)).get(key)
            else:
                other = other.entries.get(key) if isinstance(other, MappingNode) else None
        if not isinstance(other, Scalar):
            break
        node = other
    unresolved = isinstance(node.value, str) and "${" in node.value and not node.value.startswith(_RESOLVERS)
    return Interpolation(str(node.value), node.place) if unresolved else node.value


def _as_mapping(items: Listed) -> Any:
    """A list `[class, arguments, [what is in it]]`, as tables of pipelines have it, as a mapping; else itself."""
    match items:
        case [str() as name, dict() as args, *rest] if name[:1].isupper() and len(rest) < 2:
            inside = {"transforms": rest[0]} if rest and isinstance(rest[0], list) and rest[0] else {}
            return Mapped({"name": name, "params": Mapped({**args, **inside}, place_of(args))}, items.at)
    return items
