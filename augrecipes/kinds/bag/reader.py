"""The files of bags, as the Dataset finds them; no torch here."""

from __future__ import annotations

from typing import Any

from augrecipes.sources.arguments import as_list, check_source
from augrecipes.sources.bags import BagTable, bags_of_csv, bags_of_folders
from augrecipes.sources.defects import Findings
from augrecipes.sources.sample import DataArguments, RecipeSource
from augrecipes.sources.slide_bags import SlideFiles

TABLE = BagTable


def bags_of(
    root: Any, files: Any = None, labels: Any = None, split: str | None = None, *, cache: bool = False,
    check: bool = False, findings: Findings | None = None, columns: Any = None, outside: bool = False,
) -> BagTable:  # fmt: skip
    """List bags: those of a table, in folders, as a CSV file has them, or as windows of slides; see `TileBags`."""
    check_source(root, files, split, labels=labels, columns=columns)
    if labels is not None and isinstance(root, BagTable | SlideFiles):
        raise ValueError("labels= goes with folders; these bags have theirs, or none")
    if isinstance(root, BagTable):
        return root
    if isinstance(root, SlideFiles):
        return root.table(check=check)
    if files is None:
        return bags_of_folders(as_list(root), labels, cache=cache, findings=findings)
    return bags_of_csv(files, split, check=check, findings=findings, renamed=columns, outside=outside)


def find(
    recipe: Any, _targets: Any, given: DataArguments, *, strict: bool, decode: dict[str, Any], **_: Any
) -> RecipeSource:
    """The bags as a recipe reads them."""
    return RecipeSource(bags_of(given.root, given.files, check=strict, **given.more), recipe.inputs, decode)
