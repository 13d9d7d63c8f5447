"""Bags of tiles, looked at file by file; every defect is reported."""

from __future__ import annotations

from typing import Any

from augrecipes.errors import DataError, counted
from augrecipes.kinds.bag.reader import bags_of
from augrecipes.progress import Parts
from augrecipes.recipe.model import Bag, Mode, Recipe
from augrecipes.sources.check import Checked, look_at_files
from augrecipes.sources.defects import Defect, Findings
from augrecipes.sources.opening import as_given
from augrecipes.sources.slide_bags import SlideFiles


def check(
    recipe: Recipe, mode: Mode, data: Any, *, split: str | None, content: bool, advance: Parts, **_: Any
) -> Checked:
    """Look at every tile that a recipe of kind bag would read; arguments as of images.

    Raises:
        DataError: there is nothing to look at.
    """
    given, findings = as_given(recipe, data), Findings()
    if isinstance(given.root, SlideFiles):
        raise DataError("slides are looked at as they are listed: `augrecipes preview` names those that are broken")
    more = {} if given.files is None else {"split": split, **given.more}
    table = bags_of(given.root, given.files, findings=findings, **more)
    of_tiles = look_at_files(recipe, mode, table, findings, advance, content=content)
    least, fine = (recipe.bag or Bag()).min_tiles, 0
    for bag, count in enumerate(table.counts().tolist()):
        if count < least:
            few = f"{table.bags[bag]}: {counted(count, 'tile')}, fewer than min_tiles={least}"
            findings.defects.append(Defect("bag", (table.path(bag),), few))
        fine += count >= least and of_tiles.issuperset(table.units_of(bag))
    return Checked("bag", {"bag": len(table), "tile": table.units}, fine, findings.defects, findings.notes)
