"""Lints: what a valid recipe says that it cannot mean.

A lint speaks only of what the optimiser cannot repair by itself. Codes are stable and severities fixed:
L1xx meaning, L2xx geometry, L3xx colour and channels, L4xx speed, L5xx style, L6xx targets, L7xx evaluation, L8xx
batches.
"""

from __future__ import annotations

from dataclasses import replace

from augrecipes.errors import Diagnostic, Fix
from augrecipes.lint import evaluation, geometry, grids, meaning
from augrecipes.lint.record import Finding, Lint, registered
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import Source, as_recipe
from augrecipes.recipe.problems import lint_note

# What a schedule may mean in one epoch: that a step does nothing, or has the weight that it has.
_MEANT = frozenset({"L103", "L502"})

__all__ = ["Finding", "Lint", "evaluation", "geometry", "grids", "lint", "lints", "meaning"]


def lints() -> dict[str, Lint]:
    """Every lint by its code, sorted.

    >>> lints()["L101"].severity
    'error'
    """
    return dict(sorted(registered.items()))


def lint(recipe: Recipe | Source, *, advice: bool = True) -> tuple[Diagnostic, ...]:
    """Everything the lints say of a recipe, in file order, without what the recipe silences.

    What a variant inherits is reported at its `extends:`, and the message names the place. A finding is silenced by
    `# augrecipes: ignore[CODE]` on the line of the step that it speaks of. Without `advice` lints of taste and speed
    are left out. Imports no albumentations.

    >>> problems = lint({"version": 1, "recipe": "tiny", "steps": [{"Rotate": {"limit": 0}}], "eval": []})
    >>> [problem.code for problem in problems]
    ['L103']
    """
    loaded = as_recipe(recipe)
    last = _found(loaded)
    first = _found(loaded.in_epoch(0)) if loaded.last_epoch else last
    diagnostics = [
        diagnostic
        for what in first | last
        if (advice or not registered[what[0]].advice) and (what[0] not in _MEANT or (what in first and what in last))
        for diagnostic in max(last.get(what, ()), first.get(what, ()), key=len)
    ]
    return tuple(sorted(dict.fromkeys(diagnostics), key=_order))


def _found(loaded: Recipe) -> dict[tuple[str, str, str], list[Diagnostic]]:
    """What is found, by its code, and the label of the step and the argument that it speaks of."""
    diagnostics: dict[tuple[str, str, str], list[Diagnostic]] = {}
    if loaded.derived:  # of its steps nobody has written a line; what they inherit is reported at the training steps
        loaded = replace(loaded, eval=())
    first, *more = loaded.parts()
    for number, part in enumerate((first, *(replace(view, eval=None) for view in more))):  # which sees the first view
        for code, record in registered.items():
            if number and code == "L102":
                continue
            for finding in record.check(part):
                fixes = (*finding.fixes, *(() if finding.step is None else (Fix("silence", code),)))
                if finding.step is None or code not in finding.step.ignored:
                    details = finding.message, code, record.name, record.severity, fixes
                    what = code, "" if finding.step is None else finding.step.site, finding.argument or ""
                    diagnostics.setdefault(what, []).append(lint_note(loaded.file, finding.place, *details))
    return diagnostics


def _order(problem: Diagnostic) -> tuple[str, int, int, str]:
    return problem.file, problem.line, problem.col, problem.code
