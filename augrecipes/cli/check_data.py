"""`augrecipes check-data`: every defect of the files that a recipe would read, at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from augrecipes.cli.answers import Json, answer
from augrecipes.cli.arguments import Data, Masks, Mode, Recipe, Set, Without, Words, sources
from augrecipes.cli.options import loaded, option, refusal
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
    templates = {}
    for text in names or ():
        target, _, template = text.partition("=")
        if not target or not template:
            raise refusal(f"{text!r} is not TARGET=TEMPLATE, such as lr={{}}x4", "--names")
        templates[target] = template
    given = sources(recipe, words, data)
    from augrecipes.compat.guard import without_torch

    without_torch()
    parsed = loaded(recipe, set_, without)
    _fits(parsed, given, masks, templates)
    how = {"masks": None if masks is None else str(masks), "names": templates, "split": split, "content": content}
    found = _check(parsed, mode, given, how)
    report = {
        "kind": parsed.kind,
        "targets": dict(found.listed),
        "fine": found.fine,
        "content": content,
        "defects": found.defects,
        "notes": found.notes,
        **found.more,
    }
    answer(report, json_, lambda: _tell(found), status=int(bool(found.defects or not found.fine)))


def _fits(recipe: Parsed, data: Any, masks: Any, names: Any) -> None:
    """BadParameter for what does not go with a recipe of this kind."""
    from augrecipes.sources.opening import is_source, words_of

    of_kind = f"recipe {recipe.name!r} is of kind {recipe.kind}"
    if is_source(data):
        if names or masks is not None or recipe.facts.tiles:
            what = "--names" if names else "--masks" if masks is not None else f"a recipe of kind {recipe.kind}"
            raise refusal(f"{what} goes with files, and {words_of(data)} is a source of samples", None)
    elif not recipe.facts.scales and (names or not (isinstance(data, str) or "files" in data)):
        raise refusal(f"{'--names' if names else 'TARGET=PATH'} is for pairs, and {of_kind}", None)
    elif not recipe.facts.annotated and masks is not None:
        raise refusal(f"masks go with images, and {of_kind}", "--masks")


def _check(recipe: Parsed, mode: Any, data: Any, how: dict[str, Any]) -> Checked:
    from augrecipes.compiler.compile import check, steps_of
    from augrecipes.recipe import kinds
    from augrecipes.sources.check import look_at_samples
    from augrecipes.sources.opening import is_source, open_data

    steps_of(recipe, mode)  # or the recipe has no such section
    check(recipe)
    with parts() as advance:
        if is_source(data):
            source = open_data(recipe, recipe.compile(mode, "none").targets, data, mode=mode)
            return look_at_samples(recipe, mode, source, advance)
        found: Checked = kinds.part(recipe.kind, "reader").check(recipe, mode, data, **how, advance=advance)
        return found


def _tell(found: Checked) -> None:
    widest = max(map(len, found.listed))
    units = {"bag": "", "tile": "", "boxes": " rows", "keypoints": " rows"}
    for name, count in found.listed.items():
        what = units.get(name, " samples" if found.given else " files")
        say(f"{name:<{widest}}  {count:>7,}{what.removesuffix('s') if count == 1 else what}")
    listed("note: ", found.notes, len(found.notes))
    if found.defects or not found.fine:
        say(found.report(), wrap=False)
    else:
        good(f"{counted(found.fine, found.unit)}, all fine")
