"""Edits of a recipe's text that leave everything else of it as it was written: comments, layout, order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Scalar, plain
from augrecipes.recipe.spans import Spans, TextSpan
from augrecipes.recipe.write import flow


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Characters of a text, and what takes their place."""

    span: TextSpan
    text: str


def applied(text: str, edits: Sequence[TextEdit]) -> str:
    """The text after the edits, which do not overlap.

    >>> applied("a: 1", [TextEdit(TextSpan(3, 4), "2"), TextEdit(TextSpan(0, 1), "b")])
    'b: 2'
    """
    for edit in sorted(edits, key=lambda edit: edit.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def changes_of(spans: Spans, node: Node, value: Any) -> list[TextEdit]:
    """What to change for a node to have another value: of lists and mappings only the parts that differ.

    >>> from augrecipes.recipe.spans import read_spans
    >>> found = read_spans("size: [10,  20]  # px")
    >>> [(edit.span.start, edit.text) for edit in changes_of(found, found.top.entries["size"], [10, 24])]
    [(12, '24')]
    """
    if same(plain(node), value):
        return []
    if isinstance(node, ListNode) and isinstance(value, list) and len(node.items) == len(value) and value:
        return _all(changes_of(spans, item, part) for item, part in zip(node.items, value, strict=True))
    if isinstance(node, MappingNode) and isinstance(value, dict) and list(node.entries) == list(value):
        return _all(changes_of(spans, item, value[key]) for key, item in node.entries.items())
    span = spans.span(node)
    bare = span.start == span.end  # nothing is written, which is null
    return [
        TextEdit(span, f" {flow(value)}" if bare and spans.text[span.start - 1 : span.start] == ":" else flow(value))
    ]


def same(one: Any, other: Any) -> bool:
    """Whether two plain values are written alike: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


def entry_added(spans: Spans, mapping: MappingNode, key: str, value: Any) -> TextEdit:
    """A key that a mapping has not, behind its last one; in front of the first where the last spans lines."""
    text, entry = spans.text, f"{flow(key)}: {flow(value)}"
    span, names = spans.span(mapping), list(mapping.entries)
    if span.flow:
        if not names:
            return TextEdit(TextSpan(span.start + 1, span.start + 1), entry)
        end = spans.entry(mapping, names[-1]).end
        return TextEdit(TextSpan(end, end), f", {entry}")
    first, last = spans.key(mapping, names[0]), spans.entry(mapping, names[-1])
    indent = first.start - (text.rfind("\n", 0, first.start) + 1)
    node = mapping.entries[names[-1]]
    block = not isinstance(node, Scalar) and not spans.span(node).flow
    if not block and "\n" not in text[last.start : last.end]:
        end = _line_end(text, last.end)
        return TextEdit(TextSpan(end, end), f"{_break(text)}{' ' * indent}{entry}")
    return TextEdit(TextSpan(first.start, first.start), f"{entry}{_break(text)}{' ' * indent}")


def entry_removed(spans: Spans, mapping: MappingNode, name: str) -> TextEdit:
    """A key taken away with its value, and with its comma, or its line."""
    names, entry = list(mapping.entries), spans.entry(mapping, name)
    place, text, whole = names.index(name), spans.text, spans.span(mapping)
    following = spans.entry(mapping, names[place + 1]).start if place + 1 < len(names) else None
    if whole.flow:
        if place:
            return TextEdit(TextSpan(spans.entry(mapping, names[place - 1]).end, entry.end), "")
        return TextEdit(TextSpan(entry.start, entry.end if following is None else following), "")
    if len(names) == 1:
        return TextEdit(whole, "{}")
    start = text.rfind("\n", 0, entry.start) + 1
    if text[start : entry.start].strip():  # it stands behind a dash: the next one takes its place
        return TextEdit(TextSpan(entry.start, entry.end if following is None else following), "")
    after = text.find("\n", entry.end)
    return TextEdit(TextSpan(start, len(text) if after < 0 else after + 1), "")


def _break(text: str) -> str:
    """How lines end."""
    return "\r\n" if "\r\n" in text else "\n"


def _line_end(text: str, offset: int) -> int:
    """Where the line of an offset ends, before its line break."""
    end = text.find("\n", offset)
    end = len(text) if end < 0 else end
    return end - 1 if text[end - 1 : end] == "\r" and end > offset else end


def _all(edits: Iterable[list[TextEdit]]) -> list[TextEdit]:
    return [edit for some in edits for edit in some]
