"""Where every key and value of a recipe stands in its text, from its first character to behind its last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from augrecipes.recipe.nodes import MappingNode, Node, Scalar
from augrecipes.recipe.parse import YamlReader, read_nodes
from augrecipes.recipe.problems import Problems, Stop


class TextSpan(NamedTuple):
    """Characters `start` to `end`, exclusive, of a text; of lists and mappings, whether they stand in brackets."""

    start: int
    end: int
    flow: bool = False


@dataclass(frozen=True, slots=True)
class Spans:
    """The nodes of a text, and where they stand.

    Attributes:
        text: as it was read; offsets count its characters.
        top: the nodes.
        of: the span of each node.
        keys: the span of each key, by the mapping that has it and its name.
    """

    text: str
    top: Node
    of: dict[int, tuple[Node, TextSpan]]
    keys: dict[tuple[int, str], TextSpan]

    def span(self, node: Node) -> TextSpan:
        """Of a node; a list or mapping without brackets ends behind its last value."""
        return self.of[id(node)][1]

    def key(self, mapping: MappingNode, name: str) -> TextSpan:
        """Of a key."""
        return self.keys[id(mapping), name]

    def entry(self, mapping: MappingNode, name: str) -> TextSpan:
        """Of a key with its value."""
        key, value = self.key(mapping, name), self.span(mapping.entries[name])
        return TextSpan(key.start, max(key.end, value.end))

    def starting_at(self, offset: int) -> TextSpan | None:
        """The shortest span that begins at an offset: of the key, not of the mapping that it opens."""
        found = [span for _, span in self.of.values() if span.start == offset]
        return min(found, key=lambda span: (span.end == span.start, span.end), default=None)


def read_spans(text: str, file: str = "<recipe>") -> Spans:
    """The nodes of a recipe's text with their spans.

    Raises:
        RecipeError: the text is beyond what `read_nodes` reads; `problems` says why.

    >>> found = read_spans("version: 1\\nsteps: [Rotate, {Blur: {p: 0.5}}]")
    >>> found.span(found.top.entries["steps"].items[1])
    TextSpan(start=27, end=43, flow=True)
    """
    problems = Problems()
    readers: list[SpanReader] = []

    def reader(file: str, problems: Problems) -> SpanReader:
        readers.append(SpanReader(file, problems))
        return readers[-1]

    try:
        top, _ = read_nodes(text.encode("utf-8", "surrogatepass"), file, problems, reader)
    except Stop:
        raise problems.error() from None
    (made,) = readers
    return Spans(text, top, {key: (node, _trimmed(text, span)) for key, (node, span) in made.of.items()}, made.keys)


def _trimmed(text: str, span: TextSpan) -> TextSpan:
    """Without the white space that block scalars, and what ends with one, have behind them."""
    end = span.end
    while end > span.start and text[end - 1].isspace():
        end -= 1
    return span._replace(end=end)


@dataclass(slots=True)
class _Open:
    node: Node
    start: int
    flow: bool
    end: int


class SpanReader(YamlReader):
    """Notes where nodes stand as it builds them."""

    def __init__(self, file: str, problems: Problems) -> None:
        super().__init__(file, problems)
        self.of: dict[int, tuple[Node, TextSpan]] = {}  # the node too, so that its id stays its own
        self.keys: dict[tuple[int, str], TextSpan] = {}
        self._at: Any = None
        self._stack: list[_Open] = []

    def take(self, event: Any) -> None:
        """Build on."""
        self._at = event
        depth = len(self._open)
        super().take(event)
        if len(self._open) > depth:
            mark = event.start_mark.index
            self._stack.append(_Open(self._open[-1], mark, bool(event.flow_style), event.end_mark.index))
        elif len(self._open) < depth:
            done = self._stack.pop()
            end = event.end_mark.index if done.flow else done.end
            self.of[id(done.node)] = done.node, TextSpan(done.start, end, done.flow)
            self._reach(end)

    def _add(self, node: Node) -> None:
        start, end = self._at.start_mark.index, self._at.end_mark.index
        if isinstance(node, Scalar):
            self.of[id(node)] = node, TextSpan(start, end)
            self._reach(end)
        super()._add(node)

    def _key(self, node: Node) -> Scalar:
        key = super()._key(node)
        if isinstance(node, Scalar):
            self.keys.setdefault((id(self._open[-1]), key.written), self.of[id(node)][1])
        return key

    def _reach(self, end: int) -> None:
        if self._stack:
            self._stack[-1].end = max(self._stack[-1].end, end)
