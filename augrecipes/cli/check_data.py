"""`augrecipes check-data`: every defect of the files that a recipe would read, at once."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from augrecipes.cli.options import Mode, Recipe, Set, Without, one_of, overrides

if TYPE_CHECKING:
    from augrecipes.data.tables.pair_checks import Wanted
    from augrecipes.data.tables.pair_table import Found
    from augrecipes.recipe.model import Recipe as Parsed

FORMATS = ("text", "json")


def check_data(
    recipe: Recipe,
    roots: Annotated[
        list[str] | None,
        typer.Argument(metavar="TARGET=DIR", help="A folder for each target; repeat a target for several."),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Option("--names", metavar="TARGET={}x4", help="How names are made of the scene's. Repeatable."),
    ] = None,
    files: Annotated[
        str | None,
        typer.Option("--files", metavar="CSV", help="A CSV file with a column a target, instead of folders."),
    ] = None,
    split: Annotated[str | None, typer.Option("--split", help="With --files: the rows of this split.")] = None,
    content: Annotated[
        bool, typer.Option("--content", help="Also compare each small image with its large one, reduced.")
    ] = False,
    format_: Annotated[str, typer.Option("--format", metavar="text|json", help="json: for programs.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    mode: Mode = "train",
    set_: Set = None,
    without: Without = None,
) -> None:
    """Check the files of pairs: partners, names, sizes, channels; with --content also what they show.

    \b
    Examples:
      augrecipes check-data sr-x4 hr=DIV2K/HR lr=DIV2K/LR_bicubic/X4
      augrecipes check-data sr-x4 hr=Set5/HR lr=Set5/X4 --names lr={}x4 --content
      augrecipes check-data real-esrgan-x4 hr=DIV2K/HR hr=Flickr2K/HR

    \b
    Exit status:
      0  all files are fine
      1  defects, or no pairs
      2  arguments that cannot be used
    """
    form = "json" if as_json else one_of(format_, FORMATS, "--format")
    one_of(mode, ("train", "eval"), "--mode")
    folders = _assigned(roots or [], "TARGET=DIR")
    templates = {name: given[-1] for name, given in _assigned(names or [], "--names").items()}
    if bool(folders) == (files is not None):
        raise typer.BadParameter("which files? Give a folder for each target, such as hr=DIR lr=DIR, or --files CSV")
    from augrecipes.ops.albumentations import without_torch

    without_torch()
    from augrecipes.recipe import load

    parsed = load(recipe, overrides=overrides(set_), without=tuple(without or ()))
    if parsed.kind != "pair":
        raise typer.BadParameter(f"recipe {parsed.name!r} is of kind {parsed.kind}; check-data is for pairs")
    found = _check(parsed, mode, folders, files, templates, split, content=content)
    _write(found, form, content=content)
    raise typer.Exit(1 if found.defects or not found.scenes else 0)


def _assigned(given: Sequence[str], option: str) -> dict[str, list[str]]:
    """KEY=VALUE texts by key; a key may be repeated."""
    found: dict[str, list[str]] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key or not value:
            raise typer.BadParameter(f"{text!r} is not TARGET=VALUE, such as hr=DIR", param_hint=option)
        found.setdefault(key, []).append(value)
    return found


def _check(
    recipe: Parsed,
    mode: Any,
    folders: dict[str, Any],
    files: str | None,
    names: dict[str, str],
    split: str | None,
    *,
    content: bool,
) -> Found:
    """The scenes that are fine, and all defects."""
    from dataclasses import replace

    from augrecipes.cli.terminal import progress
    from augrecipes.data.tables.pair_find import find, targets_of, wanted_by
    from augrecipes.data.tables.pair_matches import compare_scenes
    from augrecipes.data.tables.pair_table import checked

    targets = targets_of(recipe, mode)
    found = find(recipe, targets, folders or None, files, names=names or None, split=split, cache=False)
    wanted: Wanted = wanted_by(recipe, mode, found.targets)
    with progress("reading headers") as advance:
        found = checked(found, wanted, "headers", advance)
    if content and len(found.targets) > 1:
        with progress("comparing") as advance:
            wrong = compare_scenes(found.targets, found.scenes, wanted.units, advance=advance)
        spoilt = {file for defect in wrong for file in defect.files[:2]}
        scenes = [paths for paths in found.scenes if not spoilt.intersection(paths[1:] if len(paths) > 1 else paths)]
        found = replace(found, scenes=scenes, defects=(*found.defects, *wrong))
    return found


def _write(found: Found, form: str, *, content: bool) -> None:
    if form == "json":
        typer.echo(json.dumps(_plain(found, content=content), indent=2, ensure_ascii=False))
        return
    from augrecipes.cli.terminal import paint
    from augrecipes.data.tables.pair_report import report

    widest = max(map(len, found.targets))
    for name in found.targets:
        typer.echo(f"{name:<{widest}}  {found.listed.get(name, 0):>7,} files")
    for note in found.notes():
        typer.echo(f"note: {note}")
    if found.defects or not found.scenes:
        typer.echo(report(found.defects, fine=len(found.scenes), targets=found.targets))
    else:
        looked = "names, sizes and channels" + (", and what they show" if content else "")
        typer.echo(paint(f"{len(found.scenes):,} scenes, all fine: {looked}", "good", sys.stdout))


def _plain(found: Found, *, content: bool) -> Mapping[str, Any]:
    return {
        "targets": {name: found.listed.get(name, 0) for name in found.targets},
        "fine": len(found.scenes),
        "content": content,
        "unclaimed": list(found.unclaimed),
        "defects": [asdict(defect) for defect in found.defects],
        "cropped": [asdict(cut) for cut in found.cropped],
    }
