"""OmegaConf's interpolations, `${a.b}`, replaced by what stands there; resolvers, which run code, stay as they are."""

from __future__ import annotations

import re

from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Scalar

_WHOLE = re.compile(r"\$\{\s*(\.*)([\w.\[\]-]+)\s*\}")
_MOST = 16  # interpolations that lead to each other


def resolved(top: Node) -> Node:
    """The config with every interpolation that names a value of the same file replaced by that value."""
    return _Tree(top).of(top, ())


class _Tree:
    def __init__(self, top: Node) -> None:
        self.top = top
        self.made: dict[int, Node] = {}  # one node stays one node, wherever it is named

    def of(self, node: Node, path: tuple[str, ...]) -> Node:
        if id(node) in self.made:
            return self.made[id(node)]
        match node:
            case Scalar():
                found = self.named(node, path)
            case ListNode():
                found = ListNode([], node.place)
                self.made[id(node)] = found
                found.items += [self.of(item, (*path, str(index))) for index, item in enumerate(node.items)]
            case MappingNode():
                found = MappingNode({}, node.place, node.at)
                self.made[id(node)] = found
                found.entries |= {key: self.of(value, (*path, key)) for key, value in node.entries.items()}
        self.made[id(node)] = found
        return found

    def named(self, node: Scalar, path: tuple[str, ...]) -> Node:
        """What an interpolation stands for, followed to its end; itself, where that is not in the file."""
        found: Node = node
        for _ in range(_MOST):
            text = found.value if isinstance(found, Scalar) else None
            match = _WHOLE.fullmatch(text) if isinstance(text, str) else None
            if match is None:
                return self.of(found, path) if found is not node else found
            up = len(match[1])
            base = path[:-up] if up else ()
            target = (*base, *re.findall(r"[\w-]+", match[2]))
            other = self.at(target)
            if other is None:
                return found
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
