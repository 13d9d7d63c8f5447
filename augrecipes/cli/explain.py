"""`augrecipes explain`: what a recipe does, and how it will run."""

from __future__ import annotations

import json

import typer

from augrecipes.cli.options import Json, Mode, Optimize, Recipe, Set, Without, one_of, overrides


def explain(
    recipe: Recipe,
    mode: Mode = "train",
    optimize: Optimize = None,
    as_json: Json = False,
    set_: Set = None,
    without: Without = None,
) -> None:
    """Show a recipe's steps with the arguments that take effect, the plan, the rules that made it, and what stayed.

    \b
    Examples:
      augrecipes explain stained-tissue
      augrecipes explain my.yaml --mode eval --optimize none --json

    Exit status: 0 printed, 1 a lint error of the recipe, 2 not a valid recipe.
    """
    section = one_of(mode, ("train", "eval"), "--mode")
    level = one_of(optimize, ("none", "exact", "fast"), "--optimize")
    changes = overrides(set_)
    from augrecipes.ops.albumentations import without_torch
    from augrecipes.recipe import load

    # This process looks at recipes and at no pixels.
    without_torch()
    loaded = load(recipe, overrides=changes, without=without or ())
    from augrecipes.compiler.explain import explain as explain_recipe

    told = explain_recipe(loaded, section, level).to_json()
    if as_json:
        typer.echo(json.dumps(told, indent=2, ensure_ascii=False))
        return
    from augrecipes.cli.tables import render

    typer.echo(render(told))
