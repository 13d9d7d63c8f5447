"""What is wrong with a text, at the words that it is about, with the fix where there is one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.lint import lint
from augrecipes.recipe.codes import CODES
from augrecipes.recipe.edit import QuickFix, Spans, TextSpan, applied, quick_fix, read_spans
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.nodes import MappingNode
from augrecipes.studio.outline import PageText, outline
from augrecipes.studio.workbench import Workbench

_WORD = re.compile(r"[\w.#/-]+|\S")
_MOST_FIXED = 12  # problems of one text for which a fix is looked for


def checked(bench: Workbench, text: str) -> dict[str, Any]:
    """Everything that `augrecipes check` says of a text, and the steps in it, for the page."""
    start, page = perf_counter(), PageText(text)
    recipe, problems = diagnose(bench, text)
    try:
        spans = read_spans(text)
    except RecipeError:
        spans = None
    extends = None
    if spans is not None and isinstance(spans.top, MappingNode) and "extends" in spans.top.entries:
        extends = spans.entry(spans.top, "extends")
    found = []
    for number, problem in enumerate(problems):
        fix = None
        if number < _MOST_FIXED and spans is not None and problem.file == bench.name:
            fix = fix_of(bench, problem, spans, problems)
        edits = [{**page.between(edit.span), "text": edit.text} for edit in fix.edits] if fix else []
        found.append(
            {
                **page.between(span_of(problem, bench.name, spans, page, extends)),
                "severity": problem.severity,
                "code": problem.code,
                "message": _message(problem, bench.name),
                "more": explained(problem.code),
                "fix": fix and {"title": fix.title, "edits": edits},
            }
        )
    return {
        "problems": found,
        "resolved": recipe.to_yaml() if recipe is not None and extends else None,
        "name": recipe and recipe.name,
        "kind": recipe and recipe.kind,
        "steps": [] if spans is None else outline(spans, page, recipe, extends=extends is not None),
        "ms": 1e3 * (perf_counter() - start),
    }


def diagnose(bench: Workbench, text: str) -> tuple[Recipe | None, Sequence[Diagnostic]]:
    """The recipe of a text, or None; and what `check` says of it."""
    try:
        recipe = bench.recipe(text)
    except RecipeError as error:
        return None, error.problems or (Diagnostic(str(error), 1, 1, file=bench.name),)
    return recipe, lint(recipe)


def fix_of(bench: Workbench, problem: Diagnostic, spans: Spans, problems: Sequence[Diagnostic]) -> QuickFix | None:
    """The first of a problem's fixes after which it is gone, and the recipe has no error that it had not before."""
    before = set(map(_key, problems))
    for one in problem.fixes:
        if (fix := quick_fix(spans, problem.line, problem.col, one)) is None:
            continue
        after = set(map(_key, diagnose(bench, applied(spans.text, fix.edits))[1]))
        worse = any(code.startswith("E1") for code, _, _ in after - before)
        if _key(problem) not in after and (len(after) < len(before) or not worse):
            return fix
    return None


def _key(problem: Diagnostic) -> tuple[str, str, str]:
    return problem.code, problem.name, problem.message


def span_of(problem: Diagnostic, name: str, spans: Spans | None, page: PageText, extends: TextSpan | None) -> TextSpan:
    """The words that a problem is about: the key or value that begins at its place, or the word that stands there."""
    if problem.file != name:  # it stands in a file that this one extends
        return extends or TextSpan(0, 0)
    offset = page.offset(problem.line, problem.col)
    found = spans.starting_at(offset) if spans is not None else None
    if found is not None and found.end > found.start:
        line_end = page.text.find("\n", found.start, found.end)
        return found if line_end < 0 else TextSpan(found.start, line_end)
    if (word := _WORD.match(page.text, offset)) is not None:
        return TextSpan(word.start(), word.end())
    before = len(page.text[:offset].rstrip())  # nothing stands here: the word before
    start = max((found.start() for found in _WORD.finditer(page.text, max(before - 80, 0), before)), default=offset)
    return TextSpan(start, max(before, start))


def _message(problem: Diagnostic, name: str) -> str:
    where = "" if problem.file == name else f"{Path(problem.file).name}:{problem.line}:{problem.col}: "
    what = f"{problem.name}: " if problem.name else ""
    return f"{where}{what}{problem.message}"


@cache
def explained(code: str) -> str:
    """What a code means, why it matters, and how to fix it."""
    entry = CODES.get(code)
    if entry is None:
        return ""
    silence = f"\n\nSilence it on the step's line: # augrecipes: ignore[{code}]" if entry.diff else ""
    return f"{entry.title}\n\n{entry.why}\n\n{entry.fix}{silence}"
