"""How large a store will be, estimated before anything is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from augrecipes.data.tables.table import GivenTable
from augrecipes.errors import DataError
from augrecipes.images.format import ImageHeader
from augrecipes.images.reading import read_headers
from augrecipes.pack.bake import Baker
from augrecipes.sources.paths import PathTable
from augrecipes.sources.store import FORMATS

_HEADERS = 2_000  # read at most; more files are sampled evenly
_SIZES = 48  # of pictures, run through the steps at most
_ENCODED = 8  # pictures encoded to see how well they compress
_PER_ROW = 100  # bytes of tables

Key = tuple[tuple[int, int, int], ...]  # height, width and bytes a sample, of each file of a unit


@dataclass(frozen=True)
class StoreSize:
    """What is known of a store before it is written.

    Attributes:
        bytes: that it will take.
        exact: whether that is certain for the pixels; otherwise it is an estimate.
        channels: of all pictures, or None where they differ.
        unreadable: files among those looked at that have no readable header.
    """

    bytes: int
    exact: bool
    channels: int | None
    unreadable: int = 0


def size_of(baker: Baker, rows: int) -> StoreSize:
    """The size of a store of `rows` rows: from headers, and from the steps run on empty pictures of those sizes."""
    units = baker.table.units
    chosen = _spread(units, _SIZES if isinstance(baker.table, GivenTable) else _HEADERS)
    keys, unreadable = _keys(baker, chosen)
    if not keys:
        return StoreSize(0, False, None, unreadable)
    counts = Counter(keys)
    tried = [list(counts)[i] for i in _spread(len(counts), _SIZES)]
    made = {key: _shapes(baker, key) for key in tried}
    total = sum(counts[key] for key in tried)
    pixels = sum(counts[key] * sum(np.prod(shape[:3]) * shape[3] for shape in made[key]) for key in tried)
    channels = {shape[2] for shapes in made.values() for shape in shapes[: len(baker.pipeline.outputs)]}
    known = len(chosen) == units and len(tried) == len(counts) and all(made.values())
    exact = known and rows == units and baker.format == "raw"
    one = float(pixels) / total * len(keys) / len(chosen)
    if FORMATS[baker.format].encode is not None:
        one = _encoded(baker, one, units)
    return StoreSize(int(rows * (one + _PER_ROW)), exact, channels.pop() if len(channels) == 1 else None, unreadable)


def _spread(n: int, most: int) -> list[int]:
    """At most `most` of `n` numbers, evenly spaced."""
    return list(range(n)) if n <= most else [(2 * k + 1) * n // (2 * most) for k in range(most)]


def _keys(baker: Baker, chosen: Sequence[int]) -> tuple[list[Key], int]:
    """The sizes of the files of each chosen unit, without those that cannot be read; and how many cannot."""
    if isinstance(baker.table, GivenTable):
        return _given(baker, baker.table, chosen)
    files = _files(baker)
    headers = {name: read_headers([paths[i] for i in chosen]) for name, paths in files.items()}
    rows = zip(*headers.values(), strict=True)
    known = [[header for header in parts if isinstance(header, ImageHeader)] for parts in rows]
    keys = [tuple(_key(header, baker) for header in parts) for parts in known if len(parts) == len(files)]
    return keys, len(chosen) - len(keys)


def _given(baker: Baker, table: GivenTable, chosen: Sequence[int]) -> tuple[list[Key], int]:
    """The same of what a source gives, which has to be read for it."""
    keys = []
    for unit in chosen:
        try:
            given = table.read(unit, baker.pipeline.recipe.inputs, undecoded=True, **baker.decode)
        except DataError:
            continue
        parts = (given[name] for name in (*baker.pipeline.targets, "mask") if name in given)
        keys.append(tuple((part.shape[0], part.shape[1], part.dtype.itemsize) for part in parts))
    return keys, len(chosen) - len(keys)


def _files(baker: Baker) -> dict[str, PathTable]:
    taken = (*baker.pipeline.targets, "mask")
    return {name: paths for name, paths in baker.table.sources().items() if name in taken}


def _key(header: ImageHeader, baker: Baker) -> tuple[int, int, int]:
    turned = baker.decode["exif"] == "apply" and header.orientation >= 5
    height, width = (header.width, header.height) if turned else (header.height, header.width)
    return height, width, -(-header.bits // 8)


def _shapes(baker: Baker, key: Key) -> list[tuple[int, int, int, int]]:
    """Height, width, channels and bytes a sample of what the steps leave of empty pictures; none where they fail."""
    channels = baker.decode["channels"]
    sizes = dict(zip(_files(baker), key, strict=True))
    mask = sizes.pop("mask", None)
    try:
        done = baker.pipeline.at(0)(**{name: np.zeros((h, w, channels), np.uint8) for name, (h, w, _) in sizes.items()})
    except DataError:
        return []
    shapes = [(*done[name].shape, 1) for name in baker.pipeline.outputs]
    return [*shapes, (*shapes[0][:2], 1, mask[2])] if mask else shapes


def _encoded(baker: Baker, raw: float, units: int) -> float:
    """Bytes of one row, from some that are baked and encoded; of `raw` bytes where none can be."""
    made = [baker.row(unit * baker.times).items for unit in _spread(units, _ENCODED)]
    sizes = [sum(item.size for items in one.values() for item in items) for one in made if one]
    return sum(sizes) / len(sizes) if sizes else raw
