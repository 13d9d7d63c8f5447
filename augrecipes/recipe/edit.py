"""Edit a recipe's text and keep all else as written: comments, layout, order.

The fixes of problems become edits here, and so do the sliders and switches of the studio.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from augrecipes.errors import Fix
from augrecipes.recipe import addresses, parse, write
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Place, Scalar, plain, same, walk
from augrecipes.recipe.problems import Problems, Stop

GONE = object()  # the value of an argument that is removed


class TextSpan(NamedTuple):
    """The characters `start` to `end`, exclusive, of a text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Spans:
    """A text and its nodes, whose places count the characters of `text`."""

    text: str
    top: Node

    def entry(self, mapping: MappingNode, name: str) -> TextSpan:
        """The span of a key with its value."""
        key, value = mapping.at[name], mapping.entries[name].place
        return TextSpan(key.start, max(key.end, value.end))

    def starting_at(self, offset: int) -> TextSpan | None:
        """The shortest span that begins at an offset: that of a key, not of the mapping that it opens."""
        places = [place for place in self.places() if place.start == offset]
        place = min(places, key=lambda place: (place.end == place.start, place.end), default=None)
        return None if place is None else TextSpan(place.start, place.end)

    def places(self) -> list[Place]:
        """The places of all keys and values."""
        nodes = list(walk(self.top))
        keys = [place for node in nodes if isinstance(node, MappingNode) for place in node.at.values()]
        return [*(node.place for node in nodes), *keys]


def read_spans(text: str) -> Spans:
    """Read a recipe's text as nodes with spans.

    Raises:
        RecipeError: `read_nodes` cannot read the text; `problems` says why.

    >>> spans = read_spans("version: 1\\nsteps: [Rotate, {Blur: {p: 0.5}}]")
    >>> spans.starting_at(27)
    TextSpan(start=27, end=43)
    """
    problems = Problems()
    try:
        return Spans(text, parse.read_nodes(text, "<recipe>", problems)[0])
    except Stop:
        raise problems.error() from None


class QuickFix(NamedTuple):
    """A fix of a text: its title and its edits."""

    title: str
    edits: "list[TextEdit]"


@dataclass(frozen=True, slots=True)
class TextEdit:
    """A span of a text and its replacement."""

    span: TextSpan | Place
    text: str


def applied(text: str, edits: Sequence[TextEdit]) -> str:
    """Apply edits that do not overlap.

    >>> applied("a: 1", [TextEdit(TextSpan(3, 4), "2"), TextEdit(TextSpan(0, 1), "b")])
    'b: 2'
    """
    for edit in sorted(edits, key=lambda edit: edit.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def steps_of(spans: Spans) -> dict[str, addresses.StepNode]:
    """Every step in a text by path, such as `steps.2.steps.0`; nodes that are no steps are skipped."""
    lists = addresses.sections(spans.top) if isinstance(spans.top, MappingNode) else []
    return {step.path: step for section, path, node in lists for step in addresses.walk_steps(node, section, path)}


def quick_fix(spans: Spans, line: int, col: int, fix: Fix) -> QuickFix | None:
    """The edits that fix a problem at a line and column of a text; None where it cannot be fixed there.

    >>> text = "steps:\\n  - Blur: {limit: 3}"
    >>> fixed = quick_fix(read_spans(text), 2, 12, Fix("word", "blur_limit"))
    >>> fixed.title, applied(text, fixed.edits)
    ('Change limit to blur_limit', 'steps:\\n  - Blur: {blur_limit: 3}')
    """
    start = next((place.start for place in spans.places() if (place.line, place.col) == (line, col)), -1)
    top, span = spans.top, spans.starting_at(start)
    if span is None or not isinstance(top, MappingNode):
        return None
    step = _innermost(spans, start)
    table = top if step is None else step.arguments
    argument = table and _entry_at(spans, table, start)
    match fix.action:
        case "key":
            return _fix(f"Write {fix.text}", _key(spans, top, *next(iter(_pairs(fix.text).items()))))
        case "word":
            word = spans.text[span.start : span.end]
            quote = word[:1] if word[:1] in "'\"" and word[-1:] == word[:1] else ""
            return _fix(f"Change {word} to {fix.text}", [TextEdit(span, f"{quote}{fix.text}{quote}")])
        case "value":
            return _fix(f"Write {fix.text}", [TextEdit(span, fix.text)])
        case "entry" if table and argument and table.entries.keys().isdisjoint(_pairs(fix.text).keys() - {argument}):
            return _fix(f"Write {fix.text}", [TextEdit(spans.entry(table, argument), fix.text)])
        case "entry" | "remove" if table and argument:  # the entry exists already under its new name
            return _fix(f"Remove {argument}", [entry_removed(spans, table, argument)])
        case "remove" if step is not None:
            return _fix(f"Remove {step.name}", [item_removed(spans, step.parent, step.index)])
        case "step" if step is not None:
            text = f"{{{fix.text}}}" if step.parent.flow and ":" in fix.text else fix.text
            return _fix(f"Write {fix.text}", [TextEdit(step.item.place, text)])
        case "set" if step is not None:
            return _fix(f"Write {fix.text}", argument_set(spans, step, *next(iter(_pairs(fix.text).items()))))
        case "silence" if step is not None:
            comment = f"  # augrecipes: ignore[{fix.text}]"
            return _fix(f"Silence {fix.text} here", [_insertion(_line_end(spans.text, step.key.start), comment)])
    return None


def _fix(title: str, edits: list[TextEdit]) -> QuickFix:
    return QuickFix(title if len(title) <= 60 else f"{title[:59]}…", edits)


def _pairs(text: str) -> dict[str, Any]:
    """Parse keys and values as written inside braces."""
    return dict(parse.parse_value(f"{{{text}}}"))


def _innermost(spans: Spans, start: int) -> addresses.StepNode | None:
    places = ((step, step.item.place) for step in steps_of(spans).values())
    inside = [(at.end - at.start, step) for step, at in places if at.start <= start < max(at.end, at.start + 1)]
    return min(inside, key=lambda pair: pair[0], default=(0, None))[1]


def _entry_at(spans: Spans, mapping: MappingNode, start: int) -> str | None:
    """The key of a mapping whose entry contains an offset."""
    entries = ((name, spans.entry(mapping, name)) for name in mapping.entries)
    return next((name for name, span in entries if span.start <= start < max(span.end, span.start + 1)), None)


def _key(spans: Spans, top: MappingNode, key: str, value: Any) -> list[TextEdit]:
    """Set a key of the recipe; a new key goes behind the last one."""
    if key in top.entries:
        return [TextEdit(spans.entry(top, key), f"{key}: {write.flow(value)}")]
    if top.flow:
        return [entry_added(spans, top, key, value)]
    return [_insertion(_line_end(spans.text, top.place.end), f"{_break(spans.text)}{key}: {write.flow(value)}")]


def argument_set(spans: Spans, step: addresses.StepNode, argument: str, value: Any) -> list[TextEdit]:
    """The edits that set a step's argument to a value, or remove it (`GONE`)."""
    if step.arguments is not None:
        return _set(spans, step.arguments, argument, value)
    if value is GONE:
        return []
    arguments = write.flow({argument: value})
    if step.body is not None:  # `Name:` with nothing behind it, or null
        place = step.body.place
        return [TextEdit(place, f" {arguments}" if place.start == place.end else arguments)]
    place = step.item.place
    if step.parent.flow:
        return [TextEdit(place, f"{{{spans.text[place.start : place.end]}: {arguments}}}")]
    return [_insertion(place.end, f": {arguments}")]


def override_set(spans: Spans, top: MappingNode, address: str, value: Any) -> list[TextEdit]:
    """The edits that let a variant set an address of its base to a value, or no longer set it (`GONE`)."""
    changes = top.entries.get("set")
    if isinstance(changes, MappingNode) and (changes.entries or changes.flow):
        return _set(spans, changes, address, value)
    if value is GONE:
        return []
    end = _line_end(spans.text, spans.entry(top, "extends").end)
    return [_insertion(end, f"{_break(spans.text)}set: {write.flow({address: value})}")]


def _set(spans: Spans, mapping: MappingNode, key: str, value: Any) -> list[TextEdit]:
    if key not in mapping.entries:
        return [] if value is GONE else [entry_added(spans, mapping, key, value)]
    if value is GONE:
        return [entry_removed(spans, mapping, key)]
    return changes_of(spans, mapping.entries[key], value)


def changes_of(spans: Spans, node: Node, value: Any) -> list[TextEdit]:
    """The edits that give a node another value; in lists and mappings only the parts that differ change.

    >>> spans = read_spans("size: [10,  20]  # px")
    >>> [(edit.span.start, edit.text) for edit in changes_of(spans, spans.top.entries["size"], [10, 24])]
    [(12, '24')]
    """
    if same(plain(node), value):
        return []
    if isinstance(node, ListNode) and isinstance(value, list) and len(node.items) == len(value) and value:
        parts = list(zip(node.items, value, strict=True))
    elif isinstance(node, MappingNode) and isinstance(value, dict) and list(node.entries) == list(value):
        parts = [(item, value[key]) for key, item in node.entries.items()]
    else:
        place = node.place
        bare = place.start == place.end and spans.text[place.start - 1 : place.start] == ":"  # an empty value: null
        return [TextEdit(place, f" {write.flow(value)}" if bare else write.flow(value))]
    return [edit for item, part in parts for edit in changes_of(spans, item, part)]


def entry_added(spans: Spans, mapping: MappingNode, key: str, value: Any) -> TextEdit:
    """Add a key to a mapping, behind the last one; in front of the first where the last spans lines."""
    text, entry = spans.text, f"{write.flow(key)}: {write.flow(value)}"
    names = list(mapping.entries)
    if mapping.flow:
        end = spans.entry(mapping, names[-1]).end if names else mapping.place.start + 1
        return _insertion(end, f", {entry}" if names else entry)
    first, last = mapping.at[names[0]], spans.entry(mapping, names[-1])
    indent = first.start - (text.rfind("\n", 0, first.start) + 1)
    node = mapping.entries[names[-1]]
    block = not isinstance(node, Scalar) and not node.flow
    if not block and "\n" not in text[last.start : last.end]:
        return _insertion(_line_end(text, last.end), f"{_break(text)}{' ' * indent}{entry}")
    return _insertion(first.start, f"{entry}{_break(text)}{' ' * indent}")


def _insertion(offset: int, text: str) -> TextEdit:
    return TextEdit(TextSpan(offset, offset), text)


def entry_removed(spans: Spans, mapping: MappingNode, name: str) -> TextEdit:
    """Remove a key with its value, and with its comma or its line."""
    names = list(mapping.entries)
    entries = [spans.entry(mapping, key) for key in names]
    return _removal(spans.text, mapping, entries, names.index(name), "{}")


def item_removed(spans: Spans, parent: ListNode, index: int) -> TextEdit:
    """Remove a step, with its comma or its lines."""
    text, starts = spans.text, []
    for item in parent.items:
        start = item.place.start
        starts.append(TextSpan(start if parent.flow else text.rfind("-", 0, start), item.place.end))
    return _removal(text, parent, starts, index, "  []")  # indented, since a list may be as far left as its key


def _removal(text: str, whole: ListNode | MappingNode, parts: list[TextSpan], place: int, nothing: str) -> TextEdit:
    part = parts[place]
    if whole.flow and place:
        return TextEdit(TextSpan(parts[place - 1].end, part.end), "")
    if len(parts) == 1 and not whole.flow:
        return TextEdit(whole.place, nothing)
    start = text.rfind("\n", 0, part.start) + 1
    if whole.flow or text[start : part.start].strip():  # before a comma or behind a dash: the next takes its place
        return TextEdit(TextSpan(part.start, parts[place + 1].start if place + 1 < len(parts) else part.end), "")
    after = text.find("\n", part.end)
    return TextEdit(TextSpan(start, len(text) if after < 0 else after + 1), "")


def _break(text: str) -> str:
    """The line break of a text."""
    return "\r\n" if "\r\n" in text else "\n"


def _line_end(text: str, offset: int) -> int:
    """The end of an offset's line, before the line break."""
    end = text.find("\n", offset)
    end = len(text) if end < 0 else end
    return end - 1 if text[end - 1 : end] == "\r" and end > offset else end
