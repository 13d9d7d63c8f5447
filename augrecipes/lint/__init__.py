"""Lints: checks of valid recipes for what they cannot mean.

A lint reports only what the optimiser cannot repair by itself. Codes are stable and severities fixed:
L1xx meaning, L2xx geometry, L3xx colour and channels, L4xx speed, L5xx style, L6xx targets, L7xx evaluation, L8xx
batches.
"""

from dataclasses import replace

from augrecipes.errors import Diagnostic, Fix
from augrecipes.lint import evaluation, geometry, grids, meaning
from augrecipes.lint.record import Finding, Lint, registered
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import Source, as_recipe
from augrecipes.recipe.problems import lint_note

# Lints that a schedule may fail in one epoch on purpose: a step has no effect, or an implicit weight.
_IN_ALL_EPOCHS = frozenset({"L103", "L502"})

__all__ = ["Finding", "Lint", "evaluation", "geometry", "grids", "lint", "lints", "meaning"]


def lints() -> dict[str, Lint]:
    """All lints by code, sorted.

    >>> lints()["L101"].severity
    'error'
    """
    return dict(sorted(registered.items()))


def lint(recipe: Recipe | Source, *, advice: bool = True) -> tuple[Diagnostic, ...]:
    """Lint a recipe; returns the findings in file order, without those that the recipe silences.

    A finding on a step that a variant inherits is reported at `extends:`, and its message names the step's place.
    `# augrecipes: ignore[CODE]` on the line of a step silences findings on it. Imports no albumentations.

    Args:
        recipe: a Recipe, or what `ar.load` takes.
        advice: whether to run lints of taste and speed, too.

    Raises:
        RecipeError: the recipe is not valid.

    >>> problems = lint({"version": 1, "recipe": "tiny", "steps": [{"Rotate": {"limit": 0}}], "eval": []})
    >>> [problem.code for problem in problems]
    ['L103']
    """
    loaded = as_recipe(recipe)
    last = _findings(loaded)
    first = _findings(loaded.in_epoch(0)) if loaded.last_epoch else last
    diagnostics = [
        diagnostic
        for key in first | last
        if (advice or not registered[key[0]].advice) and (key[0] not in _IN_ALL_EPOCHS or key in first.keys() & last)
        for diagnostic in max(last.get(key, ()), first.get(key, ()), key=len)
    ]
    return tuple(sorted(dict.fromkeys(diagnostics), key=_order))


def _findings(loaded: Recipe) -> dict[tuple[str, str, str], list[Diagnostic]]:
    """Run all lints; the findings by code, label of the step, and argument."""
    diagnostics: dict[tuple[str, str, str], list[Diagnostic]] = {}
    if loaded.derived:  # a derived section has no lines; its findings are reported at the training steps
        loaded = replace(loaded, eval=())
    first, *more = loaded.parts()
    for number, part in enumerate((first, *(replace(view, eval=None) for view in more))):  # one `eval:` for all
        for code, record in registered.items():
            if number and code == "L102":
                continue
            for finding in record.check(part):
                fixes = (*finding.fixes, *(() if finding.step is None else (Fix("silence", code),)))
                if finding.step is None or code not in finding.step.ignored:
                    details = finding.message, code, record.name, record.severity, fixes
                    key = code, "" if finding.step is None else finding.step.site, finding.argument or ""
                    diagnostics.setdefault(key, []).append(lint_note(loaded.file, finding.place, *details))
    return diagnostics


def _order(problem: Diagnostic) -> tuple[str, int, int, str]:
    return problem.file, problem.line, problem.col, problem.code
