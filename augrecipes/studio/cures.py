"""The cure that a message names, as edits of the text: offered only where the problem is gone after it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from augrecipes.errors import Diagnostic
from augrecipes.recipe.edit import TextEdit, applied, entry_removed
from augrecipes.recipe.nodes import MappingNode
from augrecipes.recipe.spans import Spans, TextSpan
from augrecipes.studio.outline import WrittenStep, written_steps

# How messages name what to write: see augrecipes.recipe.suggest and augrecipes.recipe.problems.
_MEANT = re.compile(r"did you mean '?([\w.#/-]+)'?\?")
_WRITE = re.compile(r"write `([^`]+)`|write ([\w.-]+: [\w.\[\], -]+)$")
_LEAVE_OUT = re.compile(r"leave it out\b")


@dataclass(frozen=True, slots=True)
class Cure:
    """What mends a problem."""

    title: str
    edits: tuple[TextEdit, ...]


Diagnose = Callable[[str], Sequence[Diagnostic]]


def cure_of(
    problem: Diagnostic, span: TextSpan, spans: Spans, problems: Sequence[Diagnostic], diagnose: Diagnose
) -> Cure | None:
    """The first of the cures that may be meant after which the problem is gone, and no other has come."""
    before = {(one.code, one.name, one.message) for one in problems}
    for cure in _meant(problem, span, spans):
        after = [(one.code, one.name, one.message) for one in diagnose(applied(spans.text, cure.edits))]
        gone = (problem.code, problem.name, problem.message) not in after
        if gone and (len(after) < len(before) or before.issuperset(after) or not _worse(after, before)):
            return cure
    return None


def _worse(after: Sequence[tuple[str, str, str]], before: set[tuple[str, str, str]]) -> bool:
    """Whether something is now no recipe, or cannot be read, that was not so before."""
    return any(one[0].startswith("E1") and one not in before for one in after)


def _meant(problem: Diagnostic, span: TextSpan, spans: Spans) -> Iterator[Cure]:
    word = spans.text[span.start : span.end]
    step = _step_at(spans, span)
    for found in _WRITE.finditer(problem.message):
        text = (found[1] or found[2]).strip()
        yield from _written(text, span, spans, step)
    for found in _MEANT.finditer(problem.message):
        quote = word[:1] if word[:1] in "'\"" and word[-1:] == word[:1] else ""
        yield Cure(f"Change {_short(word)} to {found[1]}", (TextEdit(span, f"{quote}{found[1]}{quote}"),))
    if _LEAVE_OUT.search(problem.message) and step is not None and (entry := _entry_at(spans, step, span)):
        yield Cure(f"Leave out {entry}", (entry_removed(spans, _arguments(step), entry),))
    if not problem.code.startswith("E") and step is not None:
        yield _silenced(problem.code, spans, step)


def _written(text: str, span: TextSpan, spans: Spans, step: WrittenStep | None) -> Iterator[Cure]:
    """What `write ...` may stand for: a step, an argument with its value, a key, or a word."""
    if step is not None:
        name = text.partition(":")[0]
        if name[:1].isupper():
            yield Cure(f"Write {_short(text)}", (TextEdit(step.span, _as_item(text, spans, step)),))
        entry = _entry_at(spans, step, span)
        if entry is not None:
            yield Cure(f"Write {_short(text)}", (TextEdit(spans.entry(_arguments(step), entry), text),))
    if ":" in text and isinstance(spans.top, MappingNode):
        for key in spans.top.entries:
            entry_span = spans.entry(spans.top, key)
            if entry_span.start <= span.start < entry_span.end:
                yield Cure(f"Write {_short(text)}", (TextEdit(entry_span, text),))
    yield Cure(f"Write {_short(text)}", (TextEdit(span, text),))


def _as_item(text: str, spans: Spans, step: WrittenStep) -> str:
    """A step as it is written in its list: in brackets, a mapping has braces."""
    return f"{{{text}}}" if spans.span(step.parent).flow and ":" in text else text


def _arguments(step: WrittenStep) -> MappingNode:
    return step.arguments or MappingNode({}, step.item.place)


def _step_at(spans: Spans, span: TextSpan) -> WrittenStep | None:
    """The innermost step that a place is in."""
    inside = [one for one in written_steps(spans).values() if one.span.start <= span.start < max(one.span.end, 1)]
    return min(inside, key=lambda one: one.span.end - one.span.start, default=None)


def _entry_at(spans: Spans, step: WrittenStep, span: TextSpan) -> str | None:
    """The argument that a place is in."""
    if step.arguments is None:
        return None
    for name in step.arguments.entries:
        entry = spans.entry(step.arguments, name)
        if entry.start <= span.start < max(entry.end, entry.start + 1):
            return name
    return None


def _silenced(code: str, spans: Spans, step: WrittenStep) -> Cure:
    """A comment on the step's line that lets a lint be."""
    text = spans.text
    end = text.find("\n", step.key.start)
    end = len(text) if end < 0 else end
    end = end - 1 if text[end - 1 : end] == "\r" else end
    return Cure(f"Silence {code} here", (TextEdit(TextSpan(end, end), f"  # augrecipes: ignore[{code}]"),))


def _short(text: str) -> str:
    return text if len(text) <= 48 else f"{text[:47]}…"
