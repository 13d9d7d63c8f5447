"""The files of pairs, as the Dataset finds them; no torch here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from augrecipes.errors import DataError
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.remote import is_file
from augrecipes.sources.columns import Columns
from augrecipes.sources.defects import report
from augrecipes.sources.pair_checks import check_roots, checked, find_scenes, table_of_scenes
from augrecipes.sources.sample import DataArguments, RecipeSource

TABLE = Columns


def find(
    recipe: Recipe,
    targets: Sequence[str],
    given: DataArguments,
    *,
    mode: Mode,
    strict: bool,
    headers: bool,
    decode: dict[str, Any],
    **_: Any,
) -> RecipeSource:
    """List scenes: in folders by target, or as a CSV file has them."""
    csv, roots = given.files, given.root if isinstance(given.root, Mapping) else None
    if csv is None and roots is None:
        check_roots(recipe, targets, {})
    found = find_scenes(recipe, tuple(targets), roots, csv, cache=False, **given.more)
    if headers:
        found = checked(found, recipe, mode, **decode)[0]
    if found.defects and (strict or not found.scenes):
        raise DataError(report(found.defects, fine=len(found.scenes), targets=found.targets))
    if not found.scenes:
        raise DataError("no pairs were found")
    left_out = tuple(defect.message for defect in found.defects)
    return RecipeSource(table_of_scenes(found), recipe.inputs, decode, left_out, tuple(found.notes))


def alone(recipe: Recipe, targets: Sequence[str], data: Any) -> dict[str, str]:
    """A file for each target, in the place of folders."""
    if not isinstance(data, Mapping):
        return {}
    files = {name: str(path) for name, path in data.items() if isinstance(path, str | os.PathLike)}
    if len(files) < len(data) or not all(map(is_file, files.values())):
        return {}
    check_roots(recipe, targets, files)
    return files
