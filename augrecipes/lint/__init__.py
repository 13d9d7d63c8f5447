"""Lints: what a valid recipe says that it cannot mean. One file a lint; a new file is a new lint.

A lint speaks only of what the plan cannot repair by itself. Codes are stable and severities fixed:
L1xx meaning, L2xx geometry, L3xx colour and channels, L4xx speed, L5xx style, L6xx targets.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module

from augrecipes.errors import Diagnostic
from augrecipes.lint.record import Finding, Lint
from augrecipes.recipe.loading import Source, as_recipe
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.problems import noted
from augrecipes.recipe.spelling import Fix

__all__ = ["Finding", "Lint", "lint", "lints"]


@cache
def lints() -> dict[str, Lint]:
    """Every lint by its code, sorted.

    >>> lints()["L101"].severity
    'error'
    """
    modules = (import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__))
    records = [record for module in modules if isinstance(record := getattr(module, "LINT", None), Lint)]
    return {record.code: record for record in sorted(records, key=lambda record: record.code)}


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
            fixes = (*finding.fixes, *([Fix("silence", record.code)] if finding.step is not None else ()))
            yield noted(recipe.file, finding.place, finding.message, record.code, record.name, record.severity, fixes)
