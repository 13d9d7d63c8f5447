"""Python configs of the MM frameworks as nodes, read as literals: nothing in them is run.

Assignments of literals are read, names that were assigned before, `dict(...)`, lists that others are spliced into, sums
of lists, and arithmetic of plain numbers. What else stands in the file is passed over; what else is used as a value is
kept as computed, and named where a step needs it. Files that `_base_` names are read the same way, where they are.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

from augrecipes.bring.configs.forms import Computed
from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.recipe import limits
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Place, Scalar
from augrecipes.recipe.problems import Problems, Stop

_BASE = "_base_"
_DELETE = "_delete_"
_DEEPEST = 8  # files that extend each other
_SUMS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
}  # fmt: skip


def read(text: str, file: str, depth: int = 0) -> MappingNode:
    """The names that a config assigns at its top, and those of the files that it extends.

    Raises:
        RecipeError: it is no Python, or too large; names the line.

    >>> found = read("size = 512\\npipeline = [dict(type='Resize', scale=(size, size), keep_ratio=False)]", "c.py")
    >>> found.entries["pipeline"].items[0].entries["scale"].items[1].value
    512
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        message = f"no Python that can be read: {getattr(error, 'msg', None) or error}"
        raise _error(message, Place(file, line, getattr(error, "offset", None) or 1)) from None
    try:
        return _Module(file, text, depth).of(tree)
    except RecursionError:
        raise _error("an expression is nested too deeply", Place(file, 1, 1)) from None


def _error(message: str, place: Place) -> RecipeError:
    return RecipeError(problems=[Diagnostic(message, place.line, place.col, "E603", "", place.file)])


class _Module:
    """The names of one file, as far as they have been read."""

    def __init__(self, file: str, text: str, depth: int) -> None:
        self.file, self.text, self.depth = file, text, depth
        self.names: dict[str, Node] = {}
        self.at: dict[str, Place] = {}
        self.base: dict[str, Node] = {}
        self.imported: set[str] = set()
        self.sizes: dict[int, tuple[int, int]] = {}  # values, and levels, of a node with all that is inside, by its id
        self.keep: list[Node] = []  # so that ids stay theirs

    def of(self, tree: ast.Module) -> MappingNode:
        for statement in ast.walk(tree):
            if isinstance(statement, ast.ImportFrom | ast.Import):
                self.imported |= {alias.asname or alias.name for alias in statement.names}
        for statement in tree.body:
            match statement:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self.assign(target, value)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self.assign(target, value)
        place = Place(self.file, 1, 1)
        own = MappingNode(self.names, place, self.at)
        return _extended(MappingNode(self.base, place, {}), own) if self.base else own

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        match target:
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(), attr=name):
                self.names[name] = self.node(value)
                self.at[name] = self.place(target)
                if name == _BASE:
                    self.extend(self.names[name])
            case ast.Tuple(elts=targets) if isinstance(value, ast.Tuple) and len(value.elts) == len(targets):
                for each, part in zip(targets, value.elts, strict=True):
                    self.assign(each, part)

    def extend(self, listed: Node) -> None:
        """Read the files that this one extends, those that are there."""
        for item in listed.items if isinstance(listed, ListNode) else [listed]:
            other = getattr(item, "value", None)
            if not isinstance(other, str) or self.depth >= _DEEPEST or not other.endswith(".py"):
                continue
            path = Path(self.file).parent / other
            problems = Problems()
            try:
                text = limits.decode(limits.read_bytes(path, str(path), problems), str(path), problems)
                found = read(text, str(path), self.depth + 1)
            except (Stop, RecipeError):
                continue  # what it holds is missed where it is used
            self.base = _extended(MappingNode(self.base, found.place, {}), found).entries

    def place(self, node: ast.expr) -> Place:
        return Place(self.file, node.lineno, node.col_offset + 1)

    def node(self, value: ast.expr) -> Node:
        found = self.made(value)
        inside = [self.sizes.get(id(inner), (1, 1)) for inner in _inside(found)]
        size, levels = 1 + sum(size for size, _ in inside), 1 + max((levels for _, levels in inside), default=0)
        self.sizes[id(found)] = size, levels
        self.keep.append(found)
        if size > limits.MAX_NODES:
            raise _error(f"a config holds at most {limits.MAX_NODES:,} values", self.place(value))
        if levels > limits.MAX_DEPTH + 1:  # the innermost is a plain value
            raise _error(f"a config nests at most {limits.MAX_DEPTH} levels", self.place(value))
        return found

    def made(self, value: ast.expr) -> Node:
        place = self.place(value)
        match value:
            case ast.Constant(value=None | bool() | int() | float() | str() as plain):
                return Scalar(plain, place, str(plain))
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return ListNode(self.items(items), place)
            case ast.Dict(keys=keys, values=values):
                return self.mapping([(key, each) for key, each in zip(keys, values, strict=True)], place)
            case ast.Call(func=ast.Name(id="dict" | "ConfigDict"), args=[], keywords=named):
                return self.mapping([(each.arg, each.value) for each in named], place)
            case ast.Call(func=ast.Name(id="list" | "tuple"), args=[one], keywords=[]):
                return self.node(one)
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.Name(id=name) if name in self.imported:
                return Scalar(name, place, name)
            case ast.Attribute(value=ast.Name(id="_base_"), attr=name) if name in self.base:
                return self.base[name]
            case ast.Attribute(value=ast.Attribute() | ast.Name() as held, attr=name):
                holder = self.node(held)
                if isinstance(holder, MappingNode) and name in holder.entries:
                    return holder.entries[name]
            case ast.Set(elts=[ast.Set(elts=[inner])]):  # {{_base_.name}}
                return self.node(inner)
            case ast.Subscript(value=held, slice=ast.Constant(value=int() | str() as key)):
                return self.part(self.node(held), key, value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                number = getattr(self.node(operand), "value", None)
                if isinstance(number, int | float):
                    return Scalar(-number, place, str(-number))
            case ast.BinOp(left=left, op=op, right=right):
                return self.sum(self.node(left), op, self.node(right), value)
        return self.computed(value)

    def computed(self, value: ast.expr) -> Node:
        text = " ".join((ast.get_source_segment(self.text, value) or "an expression").split())
        return Scalar(Computed(text if len(text) < 80 else f"{text[:77]}..."), self.place(value), text)

    def items(self, items: list[ast.expr]) -> list[Node]:
        found: list[Node] = []
        for item in items:
            if isinstance(item, ast.Starred):
                inner = self.node(item.value)
                found += inner.items if isinstance(inner, ListNode) else [self.computed(item.value)]
            else:
                found.append(self.node(item))
        return found

    def mapping(self, pairs: list[tuple[Any, ast.expr]], place: Place) -> Node:
        """A mapping; a key of None spreads another one in."""
        found = MappingNode({}, place, {})
        for key, value in pairs:
            name = key.value if isinstance(key, ast.Constant) else key
            node = self.node(value)
            if name is None and isinstance(node, MappingNode):
                found.entries |= node.entries
                found.at |= node.at
            elif isinstance(name, str | int | float):
                found.entries[str(name)] = node
                found.at[str(name)] = self.place(value)
        return found

    def part(self, holder: Node, key: int | str, value: ast.expr) -> Node:
        if isinstance(holder, MappingNode) and str(key) in holder.entries:
            return holder.entries[str(key)]
        if isinstance(holder, ListNode) and isinstance(key, int) and -len(holder.items) <= key < len(holder.items):
            return holder.items[key]
        return self.computed(value)

    def sum(self, left: Node, op: ast.operator, right: Node, value: ast.expr) -> Node:
        """Lists end to end, or the arithmetic of two plain numbers."""
        if isinstance(left, ListNode) and isinstance(right, ListNode) and isinstance(op, ast.Add):
            return ListNode([*left.items, *right.items], self.place(value))
        numbers = [getattr(side, "value", None) for side in (left, right)]
        if type(op) in _SUMS and all(isinstance(each, int | float) and abs(each) < 1e15 for each in numbers):
            try:
                found = _SUMS[type(op)](*numbers)
            except ZeroDivisionError:
                return self.computed(value)
            if math.isfinite(found):
                return Scalar(found, self.place(value), str(found))
        return self.computed(value)


def _inside(node: Node) -> list[Node]:
    if isinstance(node, ListNode):
        return node.items
    return list(node.entries.values()) if isinstance(node, MappingNode) else []


def _extended(base: MappingNode, own: MappingNode, depth: int = 0) -> MappingNode:
    """A mapping as the framework makes it of a base and of what a file says itself."""
    deleted = own.entries.get(_DELETE)
    if depth >= limits.MAX_DEPTH or (isinstance(deleted, Scalar) and deleted.value is True):
        return own
    found = MappingNode({**base.entries}, own.place, {**base.at, **own.at})
    for key, value in own.entries.items():
        before = base.entries.get(key)
        both = isinstance(before, MappingNode) and isinstance(value, MappingNode)
        found.entries[key] = _extended(before, value, depth + 1) if both else value  # type: ignore[arg-type]
    return found
