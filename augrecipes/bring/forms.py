"""How a mapping names a class and its arguments: `_target_`, `class_path`, `type`, or `name` and `params`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from augrecipes.bring.draft import POSITIONAL, Call
from augrecipes.recipe import limits
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Place, Scalar, short
from augrecipes.recipe.problems import Problems

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
            listed = node.entries.get(POSITIONAL)
            given = listed.items if isinstance(listed, ListNode) else list(node.entries.values())[1:]
            return read(given[0]) if len(given) == 1 else {key: read(value) for key, value in node.entries.items()}
        case MappingNode():
            return {key: read(value) for key, value in node.entries.items()}


# OmegaConf's `${a.b}`. The name begins with no dot: those before it are all counted, at once.
_NAMED = re.compile(r"\$\{\s*(\.*)([\w\[\]-][\w.\[\]-]*)\s*\}")
_MOST = 16  # that lead to each other


def resolved(top: Node) -> Node:
    """The config with each `${...}` that names a value of the same file replaced by it, and lists of calls as mappings.

    Resolvers, which run code, stay as they are, and so does what names itself.

    Raises:
        RecipeError: written out, that is larger or nested deeper than a file may be.
    """
    return _Resolver(top).of(top, (), 1)[0]


class _Resolver:
    """Writes a config out, value by value, as many as a file may hold; one node stays one, wherever it is named."""

    def __init__(self, top: Node) -> None:
        self.top, self.count = top, 0
        self.open: set[int] = set()  # what is being written out, and can be no part of itself
        self.made: dict[int, tuple[Node, int, int]] = {}  # of each what it became, its values and its levels

    def of(self, node: Node, path: tuple[str, ...], level: int, where: Place | None = None) -> tuple[Node, int]:
        """A node at a path, written out, and its levels; `where` stands the first interpolation that leads to it."""
        found, path = self.named(node, path)
        where = node.place if where is None and found is not node else where
        node, at = found, where or node.place
        made, count, levels = self.made.get(id(node), (node, 1, int(not isinstance(node, Scalar))))
        self.count += count
        if self.count > limits.MAX_NODES:
            raise _too_much("E107", at, f"holds at most {limits.MAX_NODES:,} values")
        if level + levels - 1 > limits.MAX_DEPTH and levels:
            raise _too_much("E106", at, f"nests at most {limits.MAX_DEPTH} levels")
        if isinstance(node, Scalar) or id(node) in self.made:
            return made, levels
        before = self.count
        self.open.add(id(node))
        parts = node.entries if isinstance(node, MappingNode) else {str(k): item for k, item in enumerate(node.items)}
        inside: dict[str, Node] = {}
        for key, value in parts.items():
            inside[key], deep = self.of(value, (*path, key), level + 1, where)
            levels = max(levels, deep + 1)
        self.open.remove(id(node))
        if isinstance(node, MappingNode):
            made = MappingNode(inside, node.place, node.at)
        else:
            made = _as_mapping(ListNode([*inside.values()], node.place))
        self.made[id(node)] = made, self.count - before + 1, levels
        return made, levels

    def named(self, node: Node, path: tuple[str, ...]) -> tuple[Node, tuple[str, ...]]:
        """What an interpolation leads to, and where that stands; itself, where it is not in the file."""
        found, where = node, path
        for _ in range(_MOST):
            text = found.value if isinstance(found, Scalar) else None
            match = _NAMED.fullmatch(text) if isinstance(text, str) else None
            if match is None:
                return found, where
            up = len(match[1])
            target = (*(where[:-up] if up else ()), *re.findall(r"[\w-]+", match[2]))
            other: Node | None = self.top
            for key in target:
                if isinstance(other, MappingNode):
                    other = other.entries.get(key)
                elif isinstance(other, ListNode) and key.isdigit() and int(key) < len(other.items):
                    other = other.items[int(key)]
                else:
                    other = None
            if other is None:
                return found, where
            if id(other) in self.open:
                break
            found, where = other, target
        return node, path


def _too_much(code: str, place: Place, what: str) -> Exception:
    problems = Problems()
    problems.add(code, place, f"with every `${{...}}` written out, a config {what}", "config")
    return problems.error()


def _as_mapping(node: ListNode) -> Node:
    """A list `[class, arguments, [what is in it]]`, as tables of pipelines have it, as a mapping; else itself."""
    match node.items:
        case [Scalar(value=str()) as name, MappingNode() as args, *rest] if name.value[:1].isupper() and len(rest) < 2:
            inside = {"transforms": rest[0]} if rest and isinstance(rest[0], ListNode) and rest[0].items else {}
            params = MappingNode({**args.entries, **inside}, args.place, args.at)
            return MappingNode({"name": name, "params": params}, node.place, {})
    return node
