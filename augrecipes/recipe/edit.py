"""Edits of a recipe's text that leave everything else of it as it was written: comments, layout, order.

The fixes that problems carry become edits here, and so do the sliders and switches of the studio.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from augrecipes.recipe.addresses import SECTIONS, FoundStep, walk_steps
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Scalar, plain
from augrecipes.recipe.parse import parse_value
from augrecipes.recipe.problems import Fix
from augrecipes.recipe.spans import Spans, TextSpan
from augrecipes.recipe.write import flow

GONE = object()  # the value of an argument that is removed


class QuickFix(NamedTuple):
    """A fix of one text: its title, and the edits."""

    title: str
    edits: list[TextEdit]


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


def steps_of(spans: Spans) -> dict[str, FoundStep]:
    """Every step that stands in a text, by path such as `steps.2.steps.0`; shapes that are no step are skipped."""
    entries = spans.top.entries if isinstance(spans.top, MappingNode) else {}
    return {step.path: step for key in SECTIONS for step in walk_steps(entries.get(key), key, key)}


def quick_fix(spans: Spans, line: int, col: int, fix: Fix) -> QuickFix | None:
    """A problem's fix in a text that has the problem at a line and column; None where it cannot be made there.

    >>> from augrecipes.recipe.spans import read_spans
    >>> text = "steps:\\n  - Blur: {limit: 3}"
    >>> found = quick_fix(read_spans(text), 2, 12, Fix("word", "blur_limit"))
    >>> found.title, applied(text, found.edits)
    ('Change limit to blur_limit', 'steps:\\n  - Blur: {blur_limit: 3}')
    """
    start, top = spans.offset(line, col), spans.top
    span = None if start is None else spans.starting_at(start)
    if start is None or span is None or not isinstance(top, MappingNode):
        return None
    step = _innermost(spans, start)
    held = top if step is None else step.arguments
    argument = held and _entry_at(spans, held, start)
    match fix.action:
        case "key":
            return _fix(f"Write {fix.text}", _key(spans, top, *next(iter(_pairs(fix.text).items()))))
        case "word":
            word = spans.text[span.start : span.end]
            quote = word[:1] if word[:1] in "'\"" and word[-1:] == word[:1] else ""
            return _fix(f"Change {word} to {fix.text}", [TextEdit(span, f"{quote}{fix.text}{quote}")])
        case "value":
            return _fix(f"Write {fix.text}", [TextEdit(span, fix.text)])
        case "entry" if held and argument and not held.entries.keys().isdisjoint(_pairs(fix.text).keys() - {argument}):
            return _fix(f"Remove {argument}", [entry_removed(spans, held, argument)])  # what it stands for is there
        case "entry" if held and argument:
            return _fix(f"Write {fix.text}", [TextEdit(spans.entry(held, argument), fix.text)])
        case "remove" if held and argument:
            return _fix(f"Remove {argument}", [entry_removed(spans, held, argument)])
        case "remove" if step is not None:
            return _fix(f"Remove {step.name}", [item_removed(spans, step.parent, step.index)])
        case "step" if step is not None:
            text = f"{{{fix.text}}}" if step.parent.flow and ":" in fix.text else fix.text
            return _fix(f"Write {fix.text}", [TextEdit(spans.span(step.item), text)])
        case "set" if step is not None:
            return _fix(f"Write {fix.text}", argument_set(spans, step, *next(iter(_pairs(fix.text).items()))))
        case "silence" if step is not None:
            end = _line_end(spans.text, step.key.start)
            comment = f"  # augrecipes: ignore[{fix.text}]"
            return _fix(f"Silence {fix.text} here", [TextEdit(TextSpan(end, end), comment)])
    return None


def _fix(title: str, edits: list[TextEdit]) -> QuickFix:
    return QuickFix(title if len(title) <= 60 else f"{title[:59]}…", edits)


def _pairs(text: str) -> dict[str, Any]:
    """Keys and values, as they are written in braces."""
    return dict(parse_value(f"{{{text}}}"))


def _innermost(spans: Spans, start: int) -> FoundStep | None:
    inside = [step for step in steps_of(spans).values() if _holds(step.item, start)]
    return min(inside, key=lambda step: step.item.place.end - step.item.place.start, default=None)


def _holds(node: Node, start: int) -> bool:
    return node.place.start <= start < max(node.place.end, node.place.start + 1)


def _entry_at(spans: Spans, mapping: MappingNode, start: int) -> str | None:
    """The key of a mapping that a place is in."""
    for name in mapping.entries:
        entry = spans.entry(mapping, name)
        if entry.start <= start < max(entry.end, entry.start + 1):
            return name
    return None


def _key(spans: Spans, top: MappingNode, key: str, value: Any) -> list[TextEdit]:
    """A key of the recipe with a value, behind the last one where there is none."""
    if key in top.entries:
        return [TextEdit(spans.entry(top, key), f"{key}: {flow(value)}")]
    if top.flow:
        return [entry_added(spans, top, key, value)]
    end = _line_end(spans.text, spans.span(top).end)
    return [TextEdit(TextSpan(end, end), f"{_break(spans.text)}{key}: {flow(value)}")]


def argument_set(spans: Spans, step: FoundStep, argument: str, value: Any) -> list[TextEdit]:
    """What to change for a step's argument to have a value, or to be `GONE`."""
    mapping = step.arguments
    if mapping is not None and argument in mapping.entries:
        if value is GONE:
            return [entry_removed(spans, mapping, argument)]
        return changes_of(spans, mapping.entries[argument], value)
    if value is GONE:
        return []
    if mapping is not None:
        return [entry_added(spans, mapping, argument, value)]
    arguments = flow({argument: value})
    if step.body is not None:  # `Name:` with nothing behind it, or null
        span = spans.span(step.body)
        return [TextEdit(span, f" {arguments}" if span.start == span.end else arguments)]
    span = spans.span(step.item)
    if step.parent.flow:
        return [TextEdit(span, f"{{{spans.text[span.start : span.end]}: {arguments}}}")]
    return [TextEdit(TextSpan(span.end, span.end), f": {arguments}")]


def override_set(spans: Spans, top: MappingNode, address: str, value: Any) -> list[TextEdit]:
    """What to change for a variant to give an address of what it extends a value, or its own no more (`GONE`)."""
    changes = top.entries.get("set")
    if isinstance(changes, MappingNode) and (changes.entries or changes.flow):
        if address in changes.entries:
            if value is GONE:
                return [entry_removed(spans, changes, address)]
            return changes_of(spans, changes.entries[address], value)
        return [] if value is GONE else [entry_added(spans, changes, address, value)]
    if value is GONE:
        return []
    end = _line_end(spans.text, spans.entry(top, "extends").end)
    return [TextEdit(TextSpan(end, end), f"{_break(spans.text)}set: {flow({address: value})}")]


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
    names = list(mapping.entries)
    entries = [spans.entry(mapping, one) for one in names]
    return _removed(spans.text, spans.span(mapping), entries, names.index(name), "{}")


def item_removed(spans: Spans, parent: ListNode, index: int) -> TextEdit:
    """A step taken away, with its comma, or its lines."""
    text, starts = spans.text, []
    for item in parent.items:
        start = item.place.start
        starts.append(TextSpan(start if parent.flow else text.rfind("-", 0, start), item.place.end))
    return _removed(text, spans.span(parent), starts, index, "  []")  # it may stand where its key does


def _removed(text: str, whole: TextSpan, parts: list[TextSpan], place: int, nothing: str) -> TextEdit:
    part = parts[place]
    following = parts[place + 1].start if place + 1 < len(parts) else None
    if whole.flow:
        if place:
            return TextEdit(TextSpan(parts[place - 1].end, part.end), "")
        return TextEdit(TextSpan(part.start, part.end if following is None else following), "")
    if len(parts) == 1:
        return TextEdit(whole, nothing)
    start = text.rfind("\n", 0, part.start) + 1
    if text[start : part.start].strip():  # it stands behind a dash: the next one takes its place
        return TextEdit(TextSpan(part.start, part.end if following is None else following), "")
    after = text.find("\n", part.end)
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
