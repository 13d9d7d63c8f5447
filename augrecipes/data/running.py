"""Samples of a source run through the pipeline of a dataset: one, several at once, or the tiles of a bag."""

from __future__ import annotations

import logging
import weakref
from typing import Any

import numpy as np

from augrecipes.data.batching import Take, as_torch, native_batch, room
from augrecipes.data.indexed import IndexedRows
from augrecipes.data.order import Indices
from augrecipes.errors import DataError
from augrecipes.recipe.kinds import part
from augrecipes.sources.files import naming_all
from augrecipes.sources.sample import RecipeSource

_log = logging.getLogger("augrecipes")


def one_sample(ds: IndexedRows, source: RecipeSource, row: int, epoch: int, virtual: int) -> dict[str, Any]:
    """A sample of a dataset as tensors: row `row` of its source, with the draws that `virtual` keys in an epoch."""
    if ds.recipe.facts.tiles:
        sample: dict[str, Any] = part(ds.recipe.kind, "dataset").read_bag(ds, source, row, epoch, virtual)
        return sample
    pipeline, scaled = ds.pipeline, ds.recipe.facts.scales
    views = tuple(name for name in pipeline.outputs if name != "image") if ds.recipe.facts.views else ()
    # The other section of a recipe, which a subset may run, may make what this one reads.
    names = pipeline.targets if scaled else None
    try:
        targets, extra = source.parts(row, epoch + virtual // len(source.table), undecoded=pipeline.reads, names=names)
        several = (scaled or views) and room("image")
        out: Any = {name: room(name) for name in pipeline.outputs} if several else room("image")
        made = pipeline.at(index=virtual, epoch=epoch)(**targets, out=out)
    except DataError as error:
        if not scaled:
            raise
        paths = source.table.paths(row)
        raise naming_all(error, {name: paths[name] for name in paths if name in pipeline.targets}) from error.__cause__
    sample = as_torch(made, ds.ragged_keys, views)
    return sample | {name: value for name, value in extra.items() if name not in sample}


def several_samples(
    ds: IndexedRows, source: RecipeSource, rows: Indices, epoch: int, virtual: Indices, take: Take
) -> dict[str, Any] | None:
    """Samples of images as one batch; None where they have to be made one after another. See `RecipeDataset._batch`."""
    alike: set[tuple[frozenset[str], frozenset[str]]] = set()
    extras: dict[int, dict[str, Any]] = {}
    seen: Seen = {}

    def read(k: int) -> dict[str, Any]:
        row = int(rows[k])
        targets, extras[k] = source.parts(row, epoch, undecoded=ds.pipeline.reads)
        alike.add((frozenset(targets), frozenset(extras[k])))
        written_again = [_is_anothers(value, row, seen) for value in targets.values()]
        if len(alike) > 1 or any(written_again):
            raise _UnlikeError
        return targets

    try:
        found = native_batch(ds.pipeline, read, epoch, virtual, take, ds.ragged_keys)
    except _UnlikeError:
        return None
    return None if found is None else found | _columns(extras, len(rows), found)


class _UnlikeError(Exception):
    """Samples of a batch have not the same parts, or a source writes them to the same array: each is made by itself."""


# By its address, what arrays of a batch were given there last: the row, and the array while somebody has it.
Seen = dict[int, tuple[int, "weakref.ref[np.ndarray]"]]


def _is_anothers(value: Any, row: int, seen: Seen) -> bool:
    """Whether an array lies where one of another row does that is still to be made; it is among the `seen` then."""
    if not (isinstance(value, np.ndarray) and value.size):
        return False
    at = value.__array_interface__["data"][0]
    of, before = seen.get(at, (row, None))
    seen[at] = row, weakref.ref(value)
    return of != row and before is not None and before() is not None


def _columns(extras: dict[int, dict[str, Any]], count: int, found: dict[str, Any]) -> dict[str, Any]:
    """What travels with the samples of a batch, by name: labels as int64, other values as they are.

    >>> _columns({0: {"label": 3, "at": "here"}, 1: {"label": 4, "at": "there"}}, 2, {})
    {'label': array([3, 4]), 'at': ['here', 'there']}
    """
    first = next(iter(extras.values()), {})
    columns: dict[str, Any] = {}
    for name in first:
        if name not in found:
            values = [extras.get(k, first)[name] for k in range(count)]
            labels = np.array(values) if name == "label" and all(type(value) is int for value in values) else None
            columns[name] = values if labels is None or labels.dtype != np.int64 else labels
    return columns
