"""Bags of tiles, looked at file by file; every defect is reported."""

from __future__ import annotations

from typing import Any

from augrecipes.data.audit.files import Audit, One, decode, headers_of, needs, size_of, unusual
from augrecipes.data.audit.found import Checked
from augrecipes.data.reading.listing import as_given, words_of
from augrecipes.data.tables.bag_table import bags_of_csv, bags_of_folders
from augrecipes.data.tables.pair_checks import size_text
from augrecipes.data.tables.problems import Problem
from augrecipes.data.tables.slide_table import SlideFiles
from augrecipes.errors import DataError, counted
from augrecipes.progress import Parts
from augrecipes.recipe.model import Bag, Mode, Recipe
from augrecipes.sources.defects import Defect


def check(
    recipe: Recipe, mode: Mode, data: Any, *, split: str | None, content: bool, advance: Parts, **_: Any
) -> Checked:
    """Look at every tile that a recipe of kind bag would read; arguments as of images.

    Raises:
        DataError: there is nothing to look at.
    """
    rows: list[Problem] = []
    given = as_given(recipe, data)
    if isinstance(given.root, SlideFiles):
        raise DataError("slides are looked at as they are listed: `augrecipes preview` names those that are broken")
    if given.files is not None:
        more = {"split": split, **given.more}
        table = bags_of_csv(given.files, more["split"], check=False, problems=rows, renamed=more.get("columns"))
    else:
        table = bags_of_folders([data], cache=False, problems=rows)
    data = words_of(given.root if given.files is None else given.files)
    found = Audit([One(table.tiles[k]) for k in range(len(table.tiles))])
    found.defects += [Defect("row", (data,), f"{data}:{line}: {what}" if line else what) for line, what in sorted(rows)]
    headers = headers_of(found, advance)
    sizes = [size_of(one, one.image, headers, found) for one in found.samples]
    for one, size in zip(found.samples, sizes, strict=True):
        short = needs(recipe, mode, size) if size else ""
        if size and short:
            found.blame("small", one, f"{one.image} {size_text(size)}: {short}")
    if content:
        decode(recipe, found, advance)
    found.notes += unusual(headers)
    least, fine, mixed = (recipe.bag or Bag()).min_tiles, 0, []
    for bag, count in enumerate(table.counts().tolist()):
        start = int(table.offsets[bag])
        tiles = slice(start, start + count)
        if count < least:
            few = f"{table.bags[bag]}: {counted(count, 'tile')}, fewer than min_tiles={least}"
            found.defects.append(Defect("bag", (table.path(bag),), few))
        fine += count >= least and all(one.fine for one in found.samples[tiles])
        if len({size for size in sizes[tiles] if size}) > 1:
            mixed.append(table.bags.name(bag))
    if mixed:
        several = "1 bag has" if len(mixed) == 1 else f"{len(mixed)} bags have"
        found.notes.append(f"{several} tiles of several sizes (first: {mixed[0]})")
    looked = "headers and sizes of tiles" + (", labels" if table.labels is not None else "")
    looked += "; every picture decoded" if content else ""
    listed = {"bag": len(table), "tile": len(found.samples)}
    return Checked("bag", listed, fine, looked, tuple(found.defects), tuple(found.notes))
