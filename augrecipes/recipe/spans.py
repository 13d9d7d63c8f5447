"""Where every key and value of a recipe stands in its text, from its first character to behind its last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Place, walk
from augrecipes.recipe.parse import read_nodes
from augrecipes.recipe.problems import Problems, Stop


class TextSpan(NamedTuple):
    """Characters `start` to `end`, exclusive, of a text; of lists and mappings, whether they stand in brackets."""

    start: int
    end: int
    flow: bool = False


@dataclass(frozen=True, slots=True)
class Spans:
    """The nodes of a text, and where they stand; offsets count the characters of `text` as it was read."""

    text: str
    top: Node

    def span(self, node: Node) -> TextSpan:
        """Of a node; a list or mapping without brackets ends behind its last value."""
        return TextSpan(node.place.start, node.place.end, isinstance(node, ListNode | MappingNode) and node.flow)

    def key(self, mapping: MappingNode, name: str) -> TextSpan:
        """Of a key."""
        return TextSpan(mapping.at[name].start, mapping.at[name].end)

    def entry(self, mapping: MappingNode, name: str) -> TextSpan:
        """Of a key with its value."""
        key, value = mapping.at[name], mapping.entries[name].place
        return TextSpan(key.start, max(key.end, value.end))

    def starting_at(self, offset: int) -> TextSpan | None:
        """The shortest span that begins at an offset: of the key, not of the mapping that it opens."""
        found = [place for place in self._places() if place.start == offset]
        place = min(found, key=lambda place: (place.end == place.start, place.end), default=None)
        return None if place is None else TextSpan(place.start, place.end)

    def offset(self, line: int, col: int) -> int | None:
        """Where the key or value begins that stands at a line and column."""
        return next((place.start for place in self._places() if (place.line, place.col) == (line, col)), None)

    def _places(self) -> list[Place]:
        nodes = list(walk(self.top))
        keys = [place for node in nodes if isinstance(node, MappingNode) for place in node.at.values()]
        return [*(node.place for node in nodes), *keys]


def read_spans(text: str, file: str = "<recipe>") -> Spans:
    """The nodes of a recipe's text with their spans.

    Raises:
        RecipeError: the text is beyond what `read_nodes` reads; `problems` says why.

    >>> found = read_spans("version: 1\\nsteps: [Rotate, {Blur: {p: 0.5}}]")
    >>> found.span(found.top.entries["steps"].items[1])
    TextSpan(start=27, end=43, flow=True)
    """
    problems = Problems()
    try:
        top, _ = read_nodes(text.encode("utf-8", "surrogatepass"), file, problems)
    except Stop:
        raise problems.error() from None
    return Spans(text, top)
