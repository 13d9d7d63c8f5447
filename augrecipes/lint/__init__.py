"""Lints: what a valid recipe says that it cannot mean.

A lint speaks only of what the optimiser cannot repair by itself. Codes are stable and severities fixed:
L1xx meaning, L2xx geometry, L3xx colour and channels, L4xx speed, L5xx style, L6xx targets, L7xx evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from augrecipes.errors import Diagnostic
from augrecipes.lint import colour, evaluation, geometry, meaning, pairs, style
from augrecipes.lint.record import Finding, Lint, registered
from augrecipes.recipe.loading import Source, as_recipe
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.problems import Fix, noted

__all__ = ["Finding", "Lint", "colour", "evaluation", "geometry", "lint", "lints", "meaning", "pairs", "style"]


def lints() -> dict[str, Lint]:
    """Every lint by its code, sorted.

    >>> lints()["L101"].severity
    'error'
    """
    return dict(sorted(registered.items()))


def lint(recipe: Recipe | Source) -> tuple[Diagnostic, ...]:
    """Everything the lints say of a recipe, in file order, without what the recipe silences.

    What a variant inherits is reported at its `extends:`, and the message names the place. A finding is silenced by
    `# augrecipes: ignore[CODE]` on the line of the step that it speaks of. Imports no albumentations.

    >>> found = lint({"version": 1, "recipe": "tiny", "steps": [{"Rotate": {"limit": 0}}], "eval": []})
    >>> [problem.code for problem in found]
    ['L103']
    """
    findings = _findings(as_recipe(recipe))
    return tuple(sorted(findings, key=lambda found: (found.file, found.line, found.col, found.code)))


def _findings(recipe: Recipe) -> Iterator[Diagnostic]:
    if recipe.derived:  # of its steps nobody has written a line; what they inherit is reported at the training steps
        recipe = replace(recipe, eval=())
    for record in lints().values():
        for finding in record.check(recipe):
            if finding.step is not None and record.code in finding.step.ignored:
                continue
            silence = () if finding.step is None else (Fix("silence", record.code),)
            fixes = (*finding.fixes, *silence)
            yield noted(recipe.file, finding.place, finding.message, record.code, record.name, record.severity, fixes)
