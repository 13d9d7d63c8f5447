"""`augrecipes diff`: what tells two recipes apart in effect."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from augrecipes.cli.answers import Json, answer
from augrecipes.cli.folders import Data, apart, data_of
from augrecipes.cli.options import Masks, Optimize, Seed, Set, Without, choice, here, option, overrides
from augrecipes.cli.terminal import complain, exit_status, progress, say_line, show

if TYPE_CHECKING:
    from augrecipes.recipe.model import Mode, Recipe

_MODES: dict[str, tuple[Mode, ...]] = {"train": ("train",), "eval": ("eval",), "both": ("train", "eval")}


def diff(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="A [B] [DATA]",
            help="Recipe files, or names of the gallery; without B it is A. Then the data of --data.",
        ),
    ],
    mode: Annotated[str, choice("--mode", "train|eval|both", "Which sections.")] = "both",
    data: Data = None,
    out: Annotated[Path, option("--out -o", "FILE", "The PNG or JPEG to write.", parser=here)] = Path("diff.png"),
    rows: Annotated[int, option("--rows", None, "Samples in the image.", min=1, max=64)] = 4,
    optimize: Optimize = None,
    seed: Seed = 0,
    epoch: Annotated[int, option("--epoch", None, "Epoch of the samples in the image.", min=0)] = 0,
    masks: Masks = None,
    json_: Json = None,
    set_: Set = None,
    without: Without = None,
) -> None:
    """Say what differs in effect between two recipes: steps, arguments, order, random parameters, inputs and output.

    \b
    Examples:
      augrecipes diff old.yaml new.yaml
      augrecipes diff stained-tissue --set RandomResizedCrop.size=[128,128]
      augrecipes diff old.yaml new.yaml --data tiles/ -o grid.png

    Layout, comments, the order of keys and defaults that are written out are no difference. --set and --without change
    B. With data a picture shows source, A, B and their difference, with the same seed, epoch and index; of `both`
    sections the training steps.

    \b
    Exit status:
      0  the same in effect
      1  they differ
      2  not a valid recipe, or trouble with the data or the image
    """
    modes = _MODES[mode]
    changes = overrides(set_)
    a, b, sources = _given(words, data or [])
    from augrecipes.compat.guard import without_torch

    if sources is None:
        without_torch()  # this process looks at recipes and at no pixels
    from augrecipes.diff import diff as compare

    first, second = _both(a, b, changes, without or [])
    found = compare(first, second, modes)
    report = found.to_json()
    if sources is not None:
        report["picture"] = _render(
            first, second, sources, out, mode=modes[0], rows=rows, optimize=optimize, seed=seed, epoch=epoch,
            masks=masks,
        )  # fmt: skip

    def tell() -> None:
        from augrecipes.cli.reports import of_difference

        show(of_difference(found))
        if "picture" in report:
            say_line(report["picture"])

    answer(report, json_, tell)
    raise typer.Exit(0 if found.same else 1)


def _given(words: list[str], data: list[str]) -> tuple[str, str, Any]:
    """The two recipes, and the data or None."""
    recipes, more = apart(words)
    if not 1 <= len(recipes) <= 2:
        message = f"two recipes are compared, or one with its changes; these are {len(recipes)}"
        raise typer.BadParameter(message, param_hint="A B")
    return recipes[0], recipes[-1], data_of([*more, *data]) if more or data else None


def _both(a: str, b: str, changes: Mapping[str, Any], without: list[str]) -> tuple[Recipe, Recipe]:
    """The two recipes; the problems of both at once, each reported once."""
    from augrecipes.errors import RecipeError
    from augrecipes.recipe import load

    try:
        first = load(a)
    except RecipeError as error:
        problems = list(error.problems)
        try:
            load(b, overrides=changes, without=without)
        except RecipeError as other:
            problems += [problem for problem in other.problems if problem not in problems]
        raise RecipeError(problems=problems) from None
    return first, load(b, overrides=changes, without=without)


def _render(first: Recipe, second: Recipe, sources: Any, out: Path, **how: Any) -> Path:
    """The image's path; status 2 for a recipe that lints keep from running, as 1 says that recipes differ."""
    from augrecipes.diff.picture import render
    from augrecipes.errors import LintError
    from augrecipes.preview.sheet import checked_path, save_sheet

    checked_path(out)
    try:
        with progress("rendering") as advance:
            return save_sheet(render(first, second, sources, progress=advance, **how), out)
    except LintError as error:
        complain(error)
        raise typer.Exit(exit_status(error) + 1) from None
