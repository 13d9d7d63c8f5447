"""What is wrong with a text, at the words that it is about, with the cure where there is one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.lint import lint, lints
from augrecipes.recipe.codes import CODES
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.nodes import MappingNode
from augrecipes.recipe.spans import Spans, TextSpan, read_spans
from augrecipes.studio.cures import cure_of
from augrecipes.studio.outline import outline
from augrecipes.studio.places import PageText
from augrecipes.studio.workbench import Workbench

_WORD = re.compile(r"[\w.#/-]+|\S")
_MOST_CURED = 12  # problems of one text for which a cure is looked for


def checked(bench: Workbench, text: str) -> dict[str, Any]:
    """Everything that `augrecipes check` says of a text, and the steps in it, for the page."""
    start = perf_counter()
    places = PageText(text)
    recipe, problems = diagnose(bench, text)
    spans = spans_of(text)
    found = []
    for number, problem in enumerate(problems):
        span = span_of(problem, bench.name, spans, places)
        cure = None
        if number < _MOST_CURED and spans is not None and problem.file == bench.name:
            cure = cure_of(problem, span, spans, problems, lambda new: diagnose(bench, new)[1])
        found.append(
            {
                **places.between(span), "severity": problem.severity, "code": problem.code, "name": problem.name,
                "message": _message(problem, bench.name), "more": explained(problem.code),
                "cure": None if cure is None else {
                    "title": cure.title,
                    "edits": [{**places.between(edit.span), "text": edit.text} for edit in cure.edits],
                },
            }
        )  # fmt: skip
    return {
        "problems": found,
        "resolved": recipe.to_yaml() if recipe is not None and _extends(spans) else None,
        "name": None if recipe is None else recipe.name,
        "kind": None if recipe is None else recipe.kind,
        "optimize": None if recipe is None else recipe.optimize,
        "digest": None if recipe is None else recipe.digest,
        "steps": [] if spans is None else outline(spans, places, recipe),
        "ms": 1e3 * (perf_counter() - start),
    }


def diagnose(bench: Workbench, text: str) -> tuple[Recipe | None, tuple[Diagnostic, ...]]:
    """The recipe of a text, or None; and what `check` says of it."""
    try:
        recipe = bench.recipe(text)
    except RecipeError as error:
        return None, error.problems or (Diagnostic(str(error), 1, 1, file=bench.name),)
    return recipe, lint(recipe)


def spans_of(text: str) -> Spans | None:
    """Where everything stands; None of what cannot be read as YAML."""
    try:
        return read_spans(text)
    except RecipeError:
        return None


def span_of(problem: Diagnostic, name: str, spans: Spans | None, places: PageText) -> TextSpan:
    """The words that a problem is about: the key or value that begins at its place, or the word that stands there."""
    if problem.file != name:  # it stands in a file that this one extends
        return _of_extends(spans)
    offset = places.offset(problem.line, problem.col)
    found = spans.starting_at(offset) if spans is not None else None
    if found is not None and found.end > found.start:
        line_end = places.text.find("\n", found.start, found.end)
        return found if line_end < 0 else TextSpan(found.start, line_end)
    word = _WORD.match(places.text, offset)
    if word is not None:
        return TextSpan(word.start(), word.end())
    before = len(places.text[:offset].rstrip())  # nothing stands here: the word before
    start = max((found.start() for found in _WORD.finditer(places.text, max(before - 80, 0), before)), default=offset)
    return TextSpan(start, max(before, start))


def _of_extends(spans: Spans | None) -> TextSpan:
    if _extends(spans) and spans is not None and isinstance(spans.top, MappingNode):
        return spans.entry(spans.top, "extends")
    return TextSpan(0, 0)


def _extends(spans: Spans | None) -> bool:
    return spans is not None and isinstance(spans.top, MappingNode) and "extends" in spans.top.entries


def _message(problem: Diagnostic, name: str) -> str:
    where = "" if problem.file == name else f"{Path(problem.file).name}:{problem.line}:{problem.col}: "
    what = f"{problem.name}: " if problem.name else ""
    return f"{where}{what}{problem.message}"


@cache
def explained(code: str) -> str:
    """What a code means, why it matters, and how to mend it."""
    if code in CODES:
        return f"{CODES[code].title}\n\n{CODES[code].why}\n\n{CODES[code].fix}"
    record = lints().get(code)
    if record is None:
        return ""
    return (
        f"{record.name}\n\n{record.why}\n\n{record.fix}\n\nSilence it on the step's line: # augrecipes: ignore[{code}]"
    )
