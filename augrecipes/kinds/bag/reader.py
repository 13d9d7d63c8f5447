"""The files of bags, as the Dataset finds them; no torch here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from augrecipes.data.checks import as_list
from augrecipes.data.reading.listing import DataListing, table_in
from augrecipes.data.tables.bag_table import BagTable, bags_of_csv, bags_of_folders
from augrecipes.recipe.model import Mode, Recipe

TABLE = BagTable


def find(
    recipe: Recipe,
    targets: Sequence[str],
    data: Any,
    *,
    mode: Mode,
    masks: Any,
    split: str | None,
    strict: bool,
    headers: bool,
    decode: dict[str, Any],
) -> DataListing:
    """List bags: in folders, or as a CSV file has them."""
    del recipe, targets, mode, masks, headers
    csv = table_in(data)
    if csv is None:
        return DataListing(bags_of_folders(as_list(data), cache=False), decode)
    return DataListing(bags_of_csv(csv, split, check=strict), decode)


def alone(recipe: Recipe, targets: Sequence[str], data: Any) -> dict[str, str]:
    """A tile, in the place of a folder."""
    del recipe, targets
    single = isinstance(data, str | os.PathLike) and table_in(data) is None and Path(data).is_file()
    return {"image": os.fsdecode(data)} if single else {}
