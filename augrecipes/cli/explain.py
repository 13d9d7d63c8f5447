"""`augrecipes explain`: what a recipe does, and how it will run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from augrecipes.cli.answers import Json, answer, renamed
from augrecipes.cli.folders import Data, Words, sources_or_none
from augrecipes.cli.options import Masks, Mode, Optimize, Recipe, Seed, Set, Without, one_of, overrides
from augrecipes.cli.progress import progress
from augrecipes.cli.terminal import say

if TYPE_CHECKING:
    from augrecipes.compiler.explain import Explanation


def explain(
    recipe: Recipe,
    words: Words = None,
    mode: Mode = "train",
    optimize: Optimize = None,
    data: Data = None,
    image: Annotated[list[str] | None, typer.Option("--image", metavar="DATA", hidden=True)] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.01, max=600, help="How long the plan is timed, and the recipe.")
    ] = 2.0,
    masks: Masks = None,
    seed: Seed = 0,
    json_: Json = None,
    set_: Set = None,
    without: Without = None,
) -> None:
    """Show a recipe's steps with the arguments that take effect, the plan, the rules that made it, and what stayed.

    \b
    Examples:
      augrecipes explain stained-tissue
      augrecipes explain my.yaml --mode eval --optimize none --json
      augrecipes explain stained-tissue tile.png
      augrecipes explain sr-x4 hr=0001.png lr=0001x4.png

    With data, of which the first picture, pair or tile is taken, each step's time is shown, in ms a sample: as it is
    written, and as it is planned. Both run the same draws in turns; a step that acts in some samples only counts as
    nothing in the others, and work that is put off counts where it is done: that of a crop in a later step, or in the
    sink.

    Exit status: 0 printed, 1 a lint error of the recipe, 2 a recipe or picture that cannot be used.
    """
    section = one_of(mode, ("train", "eval"), "--mode")
    chosen = one_of(optimize, ("none", "exact", "fast"), "--optimize")
    changes = overrides(set_)
    if image:
        renamed("--image", "--data")
    picture = sources_or_none(recipe, words, data, image)
    from augrecipes.compat.guard import without_torch
    from augrecipes.recipe import load

    if picture is None:
        without_torch()  # this process looks at recipes and at no pixels
    loaded = load(recipe, overrides=changes, without=without or ())
    from augrecipes.compiler.explain import explain as explain_recipe

    explained = explain_recipe(loaded, section, chosen, "encoded" if picture is None else "uint8")
    if picture is not None:
        explained = _timed(explained, loaded, picture, masks, seed, seconds)
    report = explained.to_json()

    def tell() -> None:
        from augrecipes.cli.tables import render

        say(render(report))

    answer(report, json_, tell)


def _timed(
    explained: Explanation, recipe: Any, data: Any, masks: Path | None, seed: int, seconds: float
) -> Explanation:
    """The explanation with every step's time on a picture."""
    from augrecipes.compiler.timing import measure
    from augrecipes.errors import DataError
    from augrecipes.machine import tune_allocator
    from augrecipes.sources.opening import read_first

    given = read_first(recipe, recipe.compile(explained.mode, explained.optimize, seed).targets, data, masks)
    tune_allocator()  # as the loader does
    try:
        with progress("timing") as advance:
            measured = measure(
                recipe, given.targets, mode=explained.mode, optimize=explained.optimize, seed=seed,
                seconds=seconds, progress=advance,
            )  # fmt: skip
    except DataError as error:
        raise (error if error.path else error.with_path(given.path)) from error.__cause__
    sizes = ", ".join(f"{image.shape[0]}×{image.shape[1]} px" for image in given.images.values())
    return explained.with_times(measured, f"{Path(given.path).name}, {sizes}")
