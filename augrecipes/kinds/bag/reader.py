"""The files of bags, as the Dataset finds them; no torch here."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from augrecipes.remote import is_file
from augrecipes.sources.arguments import as_list
from augrecipes.sources.bags import BagTable, bags_of_csv, bags_of_folders
from augrecipes.sources.sample import DataArguments, RecipeSource, table_in
from augrecipes.sources.slide_bags import SlideFiles

TABLE = BagTable


def find(
    recipe: Any, _targets: Any, given: DataArguments, *, strict: bool, decode: dict[str, Any], **_: Any
) -> RecipeSource:
    """List bags: in folders, as a CSV file has them, or as windows of slides."""
    if isinstance(given.root, SlideFiles):
        table: BagTable = replace(given.root, check=strict).table()
    elif given.files is None:
        table = bags_of_folders(as_list(given.root), cache=False)
    else:
        how = {"renamed": given.more.get("columns"), "outside": given.more.get("outside", False)}
        table = bags_of_csv(given.files, given.more.get("split"), check=strict, **how)
    return RecipeSource(table, recipe.inputs, decode)


def alone(_recipe: Any, _targets: Any, data: Any) -> dict[str, str]:
    """A tile, in the place of a folder."""
    single = isinstance(data, str | os.PathLike) and table_in(data) is None and is_file(data)
    return {"image": os.fsdecode(data)} if single else {}
