"""The files of images, as the Dataset finds them; no torch here."""

from __future__ import annotations

import os
from typing import Any

from augrecipes.errors import DataError
from augrecipes.recipe.model import Recipe
from augrecipes.remote import is_folder, is_there
from augrecipes.sources.arguments import as_table, check_targets
from augrecipes.sources.columns import Columns
from augrecipes.sources.paths import PathTable
from augrecipes.sources.sample import DataArguments, RecipeSource

TABLE = Columns


def find(
    recipe: Recipe, _targets: Any, given: DataArguments, *, masks: Any, strict: bool, decode: Any, **_: Any
) -> RecipeSource:
    """List images: in folders, as a CSV file or annotations have them, or one of them."""
    table = table_of(recipe, given, masks, check=strict, exif=decode.get("exif", "apply"))
    check_targets(recipe, table)
    return RecipeSource(table, recipe.inputs, decode)


def table_of(recipe: Recipe, given: DataArguments, masks: Any, *, check: bool, **how: Any) -> Columns:
    """The table of images; see `as_table` for the other arguments."""
    root, files = given.root, given.files
    if files is None and isinstance(root, str | os.PathLike) and not is_folder(root):
        if not is_there(root):
            raise DataError("no such file or folder", os.fsdecode(root))
        return Columns(files={"image": PathTable.from_paths([os.fsdecode(root)])})
    try:
        return as_table(recipe, root, files, masks, check=check, cache=False, layout="auto", **given.more, **how)
    except ValueError as error:  # of words that do not go together, each right by itself
        raise DataError(str(error)) from error
