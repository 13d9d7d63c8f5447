"""Pairs, looked at file by file; every defect is reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from augrecipes.data.audit.found import Checked
from augrecipes.data.reading.listing import as_given
from augrecipes.data.tables.pair_checks import PairChecks
from augrecipes.data.tables.pair_content import compare_scenes
from augrecipes.data.tables.pair_table import FoundScenes, checked, find_scenes, targets_of
from augrecipes.errors import DataError
from augrecipes.progress import Parts
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources.defects import Defect


def check(
    recipe: Recipe,
    mode: Mode,
    data: Any,
    *,
    names: Mapping[str, str],
    split: str | None,
    content: bool,
    advance: Parts,
    **_: Any,
) -> Checked:
    """Look at everything that a recipe of kind pair would read.

    Args:
        recipe: says which targets it takes.
        mode: the section.
        data: folders by target, or a CSV file.
        names: templates of names by target, with folders.
        split: of a CSV file.
        content: also compare each small image with its large one, reduced.
        advance: called with what is done, and how much of it.

    Raises:
        DataError: there is nothing to look at.
    """
    targets = targets_of(recipe, mode)
    if isinstance(data, str) and not data.lower().endswith((".csv", ".tsv")):
        wanted = " ".join(f"{name}=FOLDER" for name in sorted(targets, key=lambda name: -recipe.scales[name]))
        raise DataError(f"recipe {recipe.name!r} is of kind pair: give {wanted}, or a CSV file", data)
    given = as_given(recipe, data)
    csv, more = given.files, {"split": split, **given.more}
    if csv and names:
        raise DataError("--names goes with folders; a CSV file names every file", csv)
    found = find_scenes(recipe, targets, given.root, csv, names=names or None, cache=False, **more)
    needs = PairChecks(recipe, mode, found.targets)
    found = checked(found, needs, "headers", lambda k, n: advance("reading headers", k, n))
    if content and len(found.targets) > 1:
        wrong = compare_scenes(
            found.targets, found.scenes, needs.units, advance=lambda k, n: advance("comparing", k, n)
        )
        found = _without(found, wrong)
    looked = "names, sizes and channels" + (", and what they show" if content else "")
    listed = {name: found.listed.get(name, 0) for name in found.targets}
    more = {"unclaimed": list(found.unclaimed), "cropped": [asdict(cut) for cut in found.cropped]}
    return Checked("scene", listed, len(found.scenes), looked, found.defects, tuple(found.notes()), more)


def _without(found: FoundScenes, wrong: list[Defect]) -> FoundScenes:
    """The scenes that show the same."""
    spoilt = {file for defect in wrong for file in defect.files[:2]}
    scenes = [paths for paths in found.scenes if not spoilt.intersection(paths[1:] if len(paths) > 1 else paths)]
    return replace(found, scenes=scenes, defects=(*found.defects, *wrong))
