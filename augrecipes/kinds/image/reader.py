"""The files of images, as the Dataset finds them; no torch here."""

from __future__ import annotations

import os
from typing import Any

from augrecipes.data.checks import as_table, check_targets
from augrecipes.data.reading.listing import DataArguments, DataListing
from augrecipes.data.tables.table import Columns
from augrecipes.errors import DataError
from augrecipes.recipe.model import Recipe
from augrecipes.sources.paths import PathTable
from augrecipes.sources.remote import is_folder, is_there

TABLE = Columns


def find(
    recipe: Recipe, _targets: Any, given: DataArguments, *, masks: Any, strict: bool, decode: Any, **_: Any
) -> DataListing:
    """List pictures: in folders, as a CSV file or annotations have them, or one of them."""
    root, files = given.root, given.files
    if files is None and isinstance(root, str | os.PathLike) and not is_folder(root):
        if not is_there(root):
            raise DataError("no such file or folder", os.fsdecode(root))
        table = Columns(files={"image": PathTable.from_paths([os.fsdecode(root)])})
    else:
        exif = decode.get("exif", "apply")
        try:
            table = as_table(
                recipe, root, files, masks, check=strict, cache=False, layout="auto", exif=exif, **given.more
            )
        except ValueError as error:  # of words that do not go together, each right by itself
            raise DataError(str(error)) from error
    check_targets(recipe, table)
    return DataListing(table, decode)


def alone(*_: Any) -> dict[str, str]:
    """A picture in the place of a folder is found as a folder of one."""
    return {}
