"""`augrecipes check-data`: every defect of the files that a recipe would read, at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from augrecipes.cli.answers import Json, answer
from augrecipes.cli.folders import Data, Words, sources
from augrecipes.cli.options import Masks, Mode, Recipe, Set, Without, loaded, option
from augrecipes.cli.terminal import good, listed, parts, say
from augrecipes.errors import counted

if TYPE_CHECKING:
    from augrecipes.recipe.model import Recipe as Parsed
    from augrecipes.sources.check import Checked


def check_data(
    recipe: Recipe,
    words: Words = None,
    data: Data = None,
    masks: Masks = None,
    names: Annotated[
        list[str] | None, option("--names", "TARGET={}x4", "How names of pairs are made of the scene's. Repeatable.")
    ] = None,
    split: Annotated[str | None, option("--split", None, "Of a CSV file: the rows of this split.")] = None,
    content: Annotated[
        bool, option("--content", None, "Also decode every image; of pairs compare small and large.")
    ] = False,
    json_: Json = None,
    mode: Mode = "train",
    set_: Set = None,
    without: Without = None,
) -> None:
    """Check the files that a recipe would read: headers, sizes, labels, masks, boxes, partners; all defects at once.

    \b
    Examples:
      augrecipes check-data imagenet-train photos/
      augrecipes check-data segmentation photos/ --masks masks/ --content
      augrecipes check-data detection boxes.csv
      augrecipes check-data detection instances.json
      augrecipes check-data detection data.yaml split=val crowds=keep
      augrecipes check-data stained-tissue-bag slides/
      augrecipes check-data my.yaml my_data.py:train
      augrecipes check-data sr-x4 hr=DIV2K/HR lr=DIV2K/LR_bicubic/X4 --content
      augrecipes check-data sr-x4 hr=Set5/HR lr=Set5/X4 --names lr={}x4

    \b
    Exit status:
      0  all files are fine
      1  defects, or nothing to read
      2  arguments that cannot be used
    """
    templates = _templates(names or [])
    given = sources(recipe, words, data)
    from augrecipes.compat.guard import without_torch

    without_torch()
    parsed = loaded(recipe, set_, without)
    _fits(parsed, given, masks, templates)
    found, report = _check(
        parsed, mode, given, masks=None if masks is None else str(masks), names=templates, split=split, content=content
    )
    answer(report, json_, lambda: _tell(found))
    raise typer.Exit(1 if found.defects or not found.fine else 0)


def _templates(given: Sequence[str]) -> dict[str, str]:
    """TARGET={}x4 texts by target."""
    found: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key or not value:
            raise typer.BadParameter(f"{text!r} is not TARGET=TEMPLATE, such as lr={{}}x4", param_hint="--names")
        found[key] = value
    return found


def _fits(recipe: Parsed, data: Any, masks: Any, names: Any) -> None:
    """BadParameter for what does not go with a recipe of this kind."""
    from augrecipes.sources.opening import is_source, words_of

    if is_source(data):
        if names or masks is not None or recipe.facts.tiles:
            what = "--names" if names else "--masks" if masks is not None else f"a recipe of kind {recipe.kind}"
            raise typer.BadParameter(f"{what} goes with files, and {words_of(data)} is a source of samples")
        return
    if not recipe.facts.scales and (names or not (isinstance(data, str) or "files" in data)):
        what = "--names" if names else "TARGET=PATH"
        raise typer.BadParameter(f"{what} is for pairs, and recipe {recipe.name!r} is of kind {recipe.kind}")
    if not recipe.facts.annotated and masks is not None:
        raise typer.BadParameter(f"masks go with images, and recipe {recipe.name!r} is of kind {recipe.kind}",
                                 param_hint="--masks")  # fmt: skip


def _check(
    recipe: Parsed, mode: Any, data: Any, *, masks: str | None, names: dict[str, str], split: str | None, content: bool
) -> tuple[Checked, dict[str, Any]]:
    """What was found, and the same as JSON."""
    from augrecipes import kinds
    from augrecipes.compiler.compile import check, steps_of

    steps_of(recipe, mode)  # or the recipe has no such section
    check(recipe)
    from augrecipes.sources.opening import is_source, look_at_source

    found: Checked
    with parts() as advance:
        if is_source(data):
            found = look_at_source(recipe, mode, data, advance)
        else:
            found = kinds.part(recipe.kind, "reader").check(
                recipe, mode, data, masks=masks, names=names, split=split, content=content, advance=advance
            )
    report = {
        "kind": recipe.kind,
        "targets": dict(found.listed),
        "fine": found.fine,
        "content": content,
        "defects": found.defects,
        "notes": found.notes,
        **found.more,
    }
    return found, report


def _tell(found: Checked) -> None:
    widest = max(map(len, found.listed))
    for name, count in found.listed.items():
        rows = {"bag": "", "tile": "", "boxes": " rows", "keypoints": " rows"}
        what = rows.get(name, " samples" if found.given else " files")
        say(f"{name:<{widest}}  {count:>7,}{what.removesuffix('s') if count == 1 else what}")
    listed("note: ", found.notes, len(found.notes))
    if found.defects or not found.fine:
        say(found.report(), wrap=False)
    else:
        good(f"{counted(found.fine, found.unit)}, all fine")
