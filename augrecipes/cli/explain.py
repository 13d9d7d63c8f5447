"""`augrecipes explain`: what a recipe does, and how it will run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from augrecipes.cli.folders import data_of
from augrecipes.cli.options import Json, Mode, Optimize, Recipe, Seed, Set, Without, one_of, overrides
from augrecipes.cli.terminal import progress

if TYPE_CHECKING:
    from augrecipes.compiler.explain import Explanation


def explain(
    recipe: Recipe,
    mode: Mode = "train",
    optimize: Optimize = None,
    image: Annotated[
        list[str] | None,
        typer.Option(
            "--image",
            metavar="FILE",
            help="Time every step on this picture, of a bag on this tile; for pairs TARGET=FILE, once for each. Of a "
            "folder or a CSV file the first.",
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.01, max=600, help="How long the plan is timed, and the recipe.")
    ] = 2.0,
    seed: Seed = 0,
    as_json: Json = False,
    set_: Set = None,
    without: Without = None,
) -> None:
    """Show a recipe's steps with the arguments that take effect, the plan, the rules that made it, and what stayed.

    \b
    Examples:
      augrecipes explain stained-tissue
      augrecipes explain my.yaml --mode eval --optimize none --json
      augrecipes explain stained-tissue --image tile.png
      augrecipes explain sr-x4 --image hr=0001.png --image lr=0001x4.png

    With a picture each step's time is shown, in ms a sample: as it is written, and as it is planned. Both run the same
    draws in turns; a step that acts in some samples only counts as nothing in the others.

    Exit status: 0 printed, 1 a lint error of the recipe, 2 a recipe or picture that cannot be used.
    """
    section = one_of(mode, ("train", "eval"), "--mode")
    level = one_of(optimize, ("none", "exact", "fast"), "--optimize")
    changes = overrides(set_)
    picture = data_of(image) if image else None
    from augrecipes.ops.albumentations import without_torch
    from augrecipes.recipe import load

    if picture is None:
        without_torch()  # this process looks at recipes and at no pixels
    loaded = load(recipe, overrides=changes, without=without or ())
    from augrecipes.compiler.explain import explain as explain_recipe

    explained = explain_recipe(loaded, section, level, "encoded" if picture is None else "uint8")
    if picture is not None:
        explained = _timed(explained, loaded, picture, seed, seconds)
    told = explained.to_json()
    if as_json:
        typer.echo(json.dumps(told, indent=2, ensure_ascii=False))
        return
    from augrecipes.cli.tables import render

    typer.echo(render(told))


def _timed(explained: Explanation, recipe: Any, data: Any, seed: int, seconds: float) -> Explanation:
    """The explanation with every step's time on a picture."""
    from augrecipes.compiler.timing import measure
    from augrecipes.data.loading import allocator
    from augrecipes.verify.samples import first_of

    given = first_of(recipe, recipe.compile(explained.mode, explained.optimize, seed), data)
    allocator.tune()  # as the loader does
    with progress("timing") as advance:
        measured = measure(
            recipe, {**given.images, **given.rest}, mode=explained.mode, optimize=explained.optimize, seed=seed,
            seconds=seconds, progress=advance,
        )  # fmt: skip
    sizes = ", ".join(f"{image.shape[0]}×{image.shape[1]} px" for image in given.images.values())
    return explained.with_times(measured, f"{Path(given.path).name}, {sizes}")
