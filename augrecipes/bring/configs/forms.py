"""How a mapping names a class and its arguments: `_target_`, `class_path`, `type`, or `name` and `params`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from augrecipes.bring.calls import Call
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Scalar, short
from augrecipes.recipe.write import flow

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
_POSITIONAL = "_args_"
_CHANCE = ("probability", "prob")
_CHILDREN = ("transforms", "steps", "augmentations")
# Prefixes of registries, which say no more than the class does.
_REGISTRIES = ("mmdet.", "mmseg.", "mmcv.", "mmyolo.", "mmpretrain.", "mmcls.", "mmrotate.", "mmpose.")
# As what people import packages.
_ALIASES = dict.fromkeys(("A", "alb", "albu"), "albumentations")


class Unread(Exception):  # noqa: N818 - a finding about one value, kept with the call around it
    """A value that only running something would tell."""


class Computed:
    """An expression of a Python config that is not a literal."""

    def __init__(self, text: str) -> None:
        self.text = text


def names_class(node: Node) -> bool:
    """Whether a node names a class in one of the forms."""
    return _form(node) is not None


def _form(node: Node) -> str | None:
    if not isinstance(node, MappingNode):
        return None
    for key in _FORMS:
        said = node.entries.get(key)
        if isinstance(said, Scalar) and isinstance(said.value, str) and said.value:
            return key
    return None


def call_of(node: MappingNode) -> Call:
    """What a mapping that names a class builds; `unread` says why its arguments cannot be told."""
    form = _form(node)
    said = node.entries[form or ""]
    full = str(said.value if isinstance(said, Scalar) else "").removeprefix("$")
    for prefix in _REGISTRIES if form == "type" else ():
        full = full.removeprefix(prefix)
    package, _, name = full.rpartition(".")
    package = _ALIASES.get(package, package)
    place = node.place
    children, args, unread = None, {}, ""
    for key, value in _arguments(node, form or ""):
        inside = _calls(value) if key in _CHILDREN else None
        if inside is not None:
            children = inside
            continue
        try:
            args["p" if key in _CHANCE and form != "type" else key] = read(value)
        except Unread as error:
            unread = unread or str(error)
    return Call(name, args, children, place, package, unread)


def _arguments(node: MappingNode, form: str) -> Iterator[tuple[str, Node]]:
    held = [key for key in _FORMS[form] if isinstance(node.entries.get(key), MappingNode)]
    for key, value in node.entries.items():
        if key in held and isinstance(value, MappingNode):
            yield from value.entries.items()
        elif key != form and key not in _HYDRA and not (key in _FORMS[form] and _empty(value)):
            yield key, value


def _empty(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


def _calls(node: Node) -> tuple[Call, ...] | None:
    """The calls of a list that holds nothing else."""
    items = node.items if isinstance(node, ListNode) else []
    found = tuple(call_of(item) for item in items if isinstance(item, MappingNode) and names_class(item))
    return found if found and len(found) == len(items) else None


def read(node: Node) -> Any:
    """A value as it is written; of a class that is built from one value, such as an enumeration's, that value.

    Raises:
        Unread: it is computed, or stands elsewhere.
    """
    match node:
        case Scalar(value=Computed() as computed):
            raise Unread(f"computes `{computed.text}` in line {node.place.line}, and nothing is run: write the value")
        case Scalar(value=str(text)) if "${" in text and not text.startswith(("${as_", "${torch", "${get_")):
            raise Unread(
                f"`{short(text)}` in line {node.place.line} names nothing in this file, or itself: write the value, or "
                "import the config as composed (`python train.py --cfg job --resolve`)"
            )
        case Scalar():
            return node.value
        case ListNode():
            return [read(item) for item in node.items]
        case MappingNode() if names_class(node):
            listed = node.entries.get(_POSITIONAL)
            given = listed.items if isinstance(listed, ListNode) else list(node.entries.values())[1:]
            return read(given[0]) if len(given) == 1 else {key: read(value) for key, value in node.entries.items()}
        case MappingNode():
            return {key: read(value) for key, value in node.entries.items()}


def positional(call: Call, names: list[str]) -> Call:
    """The call with Hydra's positional arguments (`_args_`) under their names.

    >>> positional(Call("Normalize", {"_args_": [[0.5], [0.5]]}), ["mean", "std"]).args
    {'mean': [0.5], 'std': [0.5]}
    """
    given = call.args.get(_POSITIONAL)
    if not isinstance(given, list):
        return call
    rest = {key: value for key, value in call.args.items() if key != _POSITIONAL}
    if len(given) > len(names):
        why = f"{flow(given)}: {len(given)} positional arguments, and {call.name} takes {len(names)}"
        return Call(call.name, {}, call.children, call.place, call.package, why)
    return Call(call.name, dict(zip(names, given, strict=False)) | rest, call.children, call.place, call.package)
