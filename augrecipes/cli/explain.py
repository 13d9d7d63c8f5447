"""`augrecipes explain`: what a recipe does, and how it will run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from augrecipes.cli.answers import Json, answer
from augrecipes.cli.folders import Data, Words, sources_or_none
from augrecipes.cli.options import Masks, Mode, Optimize, Recipe, Seed, Set, Without, loaded, option
from augrecipes.cli.terminal import progress, show

if TYPE_CHECKING:
    from augrecipes.compiler.explain import Explanation


def explain(
    recipe: Recipe,
    words: Words = None,
    mode: Mode = "train",
    optimize: Optimize = None,
    data: Data = None,
    seconds: Annotated[
        float, option("--seconds", None, "How long the plan is timed, and the recipe.", min=0.01, max=600)
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

    With data, of which the first image, pair or tile is taken, each step's time is shown, in ms a sample: as it is
    written, and as it is planned. Both run with the same random parameters in turns; a step that acts in some samples
    only counts as nothing in the others, and work that is put off counts where it is done: that of a crop in a later
    step, or in the output conversion.

    Exit status: 0 printed, 1 a lint error of the recipe, 2 a recipe or image that cannot be used.
    """
    given = sources_or_none(recipe, words, data)
    from augrecipes.compat.guard import without_torch

    if given is None:
        without_torch()  # this process looks at recipes and at no pixels
    parsed = loaded(recipe, set_, without)
    from augrecipes.compiler.explain import explain as explain_recipe

    explained = explain_recipe(parsed, mode, optimize, "encoded" if given is None else "uint8")
    if given is not None:
        explained = _timed(explained, parsed, given, masks, seed, seconds)
    found = explained.to_json()

    def tell() -> None:
        from augrecipes.cli.reports import of_explanation

        show(of_explanation(found))

    answer(found, json_, tell)


def _timed(
    explained: Explanation, recipe: Any, data: Any, masks: Path | None, seed: int, seconds: float
) -> Explanation:
    """The explanation with every step's time on an image."""
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
