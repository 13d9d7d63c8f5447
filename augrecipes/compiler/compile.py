"""The compiler, in the order in which it works: read this page first.

Recipe ─ check ─→ Recipe ─ rewrite ─→ Plan ─ lower ─→ Pipeline
"""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from augrecipes.compiler.rewrite import ARRIVALS, Compiled, plan
from augrecipes.compiler.rewrite.rules import RULES
from augrecipes.errors import LintError, RecipeError, logger
from augrecipes.lint import lint
from augrecipes.ops import plugins
from augrecipes.recipe import kinds
from augrecipes.recipe.model import Mode, Optimize, Recipe, Step

if TYPE_CHECKING:
    from augrecipes.compiler.run.pipeline import Pipeline

_warned: set[tuple[str, object]] = set()


def compile_recipe(recipe: Recipe, mode: Mode, optimize: Optimize | None, seed: int, **options: Any) -> Pipeline:
    """Compile a recipe: see `Recipe.compile`."""
    _run_plugins(recipe)
    steps_of(recipe, mode)
    check(recipe)
    return build(recipe, mode, optimize, seed, **options)


def _run_plugins(recipe: Recipe) -> None:
    """Load the plugins that the recipe names; a recipe unpickled in another process may come before its plugins."""
    for name in recipe.plugins:
        try:
            plugins.load(name)
        except KeyError:
            raise RecipeError(f"{recipe.file}: no package that is installed here announces a plugin {name!r}") from None
        except plugins.BrokenPlugin as error:
            raise RecipeError(f"{recipe.file}: plugin {name!r}: {error}") from error


def build(
    recipe: Recipe,
    mode: Mode,
    optimize: Optimize | None,
    seed: int,
    *,
    save_applied_params: bool = False,
    threads: int | None = None,
    **part: Any,
) -> Pipeline:
    """Compile a checked recipe, or a part of one; `part` sets the fields of `Compiled` that describe the part."""
    optimize = recipe.optimize if optimize is None else optimize
    if optimize not in RULES:
        raise RecipeError(f"optimize must be one of {', '.join(RULES)}, got {optimize!r}")
    seed = operator.index(seed)
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    steps = steps_of(recipe, mode)
    plans = {arrival: plan(recipe, steps, optimize, arrival) for arrival in ARRIVALS}
    return pipeline_of(Compiled(recipe, mode, optimize, seed, save_applied_params, plans, threads, **part))


def pipeline_of(compiled: Compiled) -> Pipeline:
    """Build the pipeline, of the class that belongs to the recipe's kind."""
    return kinds.part(compiled.recipe.kind, "pipeline").PIPELINE(compiled)


def steps_of(recipe: Recipe, mode: Mode) -> tuple[Step, ...]:
    """The steps of `mode`; RecipeError where the recipe has none."""
    if mode not in ("train", "eval"):
        raise RecipeError(f"mode must be train or eval, got {mode!r}")
    steps = recipe.section(mode)
    if steps is None:
        raise RecipeError(
            f"{recipe.file}: the recipe has no `eval:` section; write `eval: derived` for the steps "
            "without their draws, or `eval: []` for whole images"
        )
    return steps


def check(recipe: Recipe) -> None:
    """Raise on lint errors that the recipe does not silence; log each warning once."""
    diagnostics = lint(recipe, advice=False)
    errors = tuple(d for d in diagnostics if d.severity == "error")
    if errors:
        raise LintError(problems=errors)
    digest = recipe.digest if diagnostics else ""
    for diagnostic in diagnostics:
        _warn_once(digest, diagnostic)


def warn_of_floats(pipeline: Pipeline, image: Any) -> None:
    """Log once, at the first float32 image, which steps round floats; declared float32 inputs are `check`'s."""
    if pipeline.floats_are_news and getattr(image, "dtype", None) == "float32":
        pipeline.floats_are_news, recipe = False, pipeline.recipe
        for diagnostic in lint(replace(recipe, inputs=replace(recipe.inputs, dtype="float32"))):
            if diagnostic.code == "L304":
                _warn_once(recipe.digest, diagnostic)


def _warn_once(digest: str, diagnostic: object) -> None:
    if (digest, diagnostic) not in _warned:
        _warned.add((digest, diagnostic))
        logger.warning("%s", diagnostic)
