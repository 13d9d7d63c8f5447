"""The files of images, as the Dataset finds them; no torch here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from augrecipes.data.checks import as_table, check_targets
from augrecipes.data.reading.listing import DataListing, table_in
from augrecipes.data.tables.table import ImageTable
from augrecipes.errors import DataError
from augrecipes.recipe.model import Recipe
from augrecipes.sources.paths import PathTable

TABLE = ImageTable


def find(
    recipe: Recipe, _targets: Any, data: Any, *, masks: Any, split: str | None, strict: bool, decode: Any, **_: Any
) -> DataListing:
    """List pictures: in folders, as a CSV file has them, or one of them."""
    csv = table_in(data)
    if csv is None and isinstance(data, str | os.PathLike) and not Path(data).is_dir():
        if not Path(data).exists():
            raise DataError("no such file or folder", os.fsdecode(data))
        table = ImageTable(images=PathTable.from_paths([os.fsdecode(data)]))
    else:
        root = data if csv is None else None
        table = as_table(recipe, root, csv, masks, split, check=strict, cache=False, layout="auto")
    check_targets(recipe, table)
    return DataListing(table, decode)


def alone(*_: Any) -> dict[str, str]:
    """A picture in the place of a folder is found as a folder of one."""
    return {}
