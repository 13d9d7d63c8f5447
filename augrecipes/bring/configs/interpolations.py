"""OmegaConf's interpolations, `${a.b}`, replaced by what stands there; resolvers, which run code, stay as they are.

A value stays one node wherever it is named, so a short config can stand for any number of values: the limits of a file
hold for what it says written out. What names itself stays as it is.
"""

from __future__ import annotations

import re

from augrecipes.recipe import limits
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Place, Scalar
from augrecipes.recipe.problems import Problems

# The name begins with no dot: those before it are all counted, at once.
_WHOLE = re.compile(r"\$\{\s*(\.*)([\w\[\]-][\w.\[\]-]*)\s*\}")
_MOST = 16  # interpolations that lead to each other


def resolved(top: Node) -> Node:
    """The config with every interpolation that names a value of the same file replaced by that value.

    Raises:
        RecipeError: written out, that is larger or nested deeper than a file may be.
    """
    return _Tree(top).of(top, (), 1)


class _Tree:
    def __init__(self, top: Node) -> None:
        self.top = top
        self.made: dict[int, Node] = {}  # one node stays one node, wherever it is named
        self.open: set[int] = set()  # what is being made, and can be no part of itself
        self.sizes: dict[int, tuple[int, int]] = {}  # values written out, and levels, of each list and mapping made

    def of(self, node: Node, path: tuple[str, ...], level: int) -> Node:
        if id(node) in self.made:
            found = self.made[id(node)]
            self.bounded(node.place, level, *self.size(found))
            return found
        if isinstance(node, Scalar):
            found = self.named(node, path, level)
        else:
            self.bounded(node.place, level, 1, 1)
            self.open.add(id(node))
            found = self.written_out(node, path, level + 1)
            self.open.remove(id(node))
        self.made[id(node)] = found
        return found

    def written_out(self, node: ListNode | MappingNode, path: tuple[str, ...], level: int) -> Node:
        parts = node.entries if isinstance(node, MappingNode) else {str(k): item for k, item in enumerate(node.items)}
        made: dict[str, Node] = {}
        count, levels = 1, 0
        for key, value in parts.items():
            made[key] = self.of(value, (*path, key), level)
            inside, deep = self.size(made[key])
            count, levels = count + inside, max(levels, deep)
            self.bounded(value.place, 0, count, 0)
        found: Node = ListNode([*made.values()], node.place)
        if isinstance(node, MappingNode):
            found = MappingNode(made, node.place, node.at)
        self.sizes[id(found)] = count, levels + 1
        return found

    def size(self, node: Node) -> tuple[int, int]:
        return self.sizes.get(id(node), (1, 0))

    def bounded(self, place: Place, level: int, count: int, levels: int) -> None:
        problems, written_out = Problems(), "with every `${...}` written out, a config"
        if count > limits.MAX_NODES:
            problems.add("E107", place, f"{written_out} holds at most {limits.MAX_NODES:,} values", "config")
        if levels and level + levels - 1 > limits.MAX_DEPTH:
            problems.add("E106", place, f"{written_out} nests at most {limits.MAX_DEPTH} levels", "config")
        if problems:
            raise problems.error()

    def named(self, node: Scalar, path: tuple[str, ...], level: int) -> Node:
        """What an interpolation stands for, followed to its end; itself, where that is not in the file."""
        found: Node = node
        for _ in range(_MOST):
            text = found.value if isinstance(found, Scalar) else None
            match = _WHOLE.fullmatch(text) if isinstance(text, str) else None
            if match is None:
                return self.of(found, path, level) if found is not node else found
            up = len(match[1])
            base = path[:-up] if up else ()
            target = (*base, *re.findall(r"[\w-]+", match[2]))
            other = self.at(target)
            if other is None:
                return found
            if id(other) in self.open:
                return node
            found, path = other, target
        return node

    def at(self, path: tuple[str, ...]) -> Node | None:
        node: Node | None = self.top
        for key in path:
            if isinstance(node, MappingNode):
                node = node.entries.get(key)
            elif isinstance(node, ListNode) and key.isdigit() and int(key) < len(node.items):
                node = node.items[int(key)]
            else:
                return None
        return node
