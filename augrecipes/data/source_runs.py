"""Samples of a dataset's source run through its pipeline: one, several at once, or the tiles of a bag."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from augrecipes.data.batching import Take, as_torch, native_batch, room
from augrecipes.data.order import Indices
from augrecipes.errors import DataError
from augrecipes.recipe.kinds import part
from augrecipes.sources.files import naming_all

if TYPE_CHECKING:
    from augrecipes.data.dataset import RecipeDataset


def run_sample(ds: RecipeDataset, row: int, epoch: int, virtual: int) -> dict[str, Any]:
    """Make a sample: row `row` of the source as tensors, with the draws that `virtual` keys in an epoch."""
    if ds.recipe.facts.tiles:
        sample: dict[str, Any] = part(ds.recipe.kind, "dataset").read_bag(ds, row, epoch, virtual)
        return sample
    pipeline, scaled = ds.pipeline, ds.recipe.facts.scales
    views = tuple(name for name in pipeline.outputs if name != "image") if ds.recipe.facts.views else ()
    # The other section of a recipe, which a subset may run, may make what this one reads.
    names = pipeline.targets if scaled else None
    try:
        targets, extra = ds.source.parts(row, epoch + virtual // len(ds.table), undecoded=pipeline.reads, names=names)
        several = (scaled or views) and room("image")
        out: Any = {name: room(name) for name in pipeline.outputs} if several else room("image")
        made = pipeline.at(index=virtual, epoch=epoch)(**targets, out=out)
    except DataError as error:
        if not scaled:
            raise
        paths = ds.table.paths(row)
        raise naming_all(error, {name: paths[name] for name in paths if name in pipeline.targets}) from error.__cause__
    sample = as_torch(made, ds.ragged_keys, views)
    return sample | {name: value for name, value in extra.items() if name not in sample}


def run_batch(ds: RecipeDataset, rows: Indices, epoch: int, virtual: Indices, take: Take) -> dict[str, Any] | None:
    """Make a batch of images; None where they have to be made one after another. See `RecipeDataset._batch`."""
    parts: set[tuple[frozenset[str], frozenset[str]]] = set()
    extras: dict[int, dict[str, Any]] = {}
    owners: Owners = {}

    def read(k: int) -> dict[str, Any]:
        row = int(rows[k])
        targets, extras[k] = ds.source.parts(row, epoch, undecoded=ds.pipeline.reads)
        parts.add((frozenset(targets), frozenset(extras[k])))
        rewritten = [_is_overwritten(value, row, owners) for value in targets.values()]
        if len(parts) > 1 or any(rewritten):
            raise _MixedPartsError
        return targets

    try:
        batch = native_batch(ds.pipeline, read, epoch, virtual, take, ds.ragged_keys)
    except _MixedPartsError:
        return None
    return None if batch is None else batch | _columns(extras, len(rows), batch)


class _MixedPartsError(Exception):
    """Samples of a batch have not the same parts, or a source writes them to the same array: each is made by itself."""


# By the address of an array of the batch: the row that it is of, and the array while somebody has it.
Owners = dict[int, tuple[int, "weakref.ref[np.ndarray]"]]


def _is_overwritten(value: Any, row: int, owners: Owners) -> bool:
    """Whether an array lies where that of another row does which is still to be made; notes it among the `owners`."""
    if not (isinstance(value, np.ndarray) and value.size):
        return False
    address = value.__array_interface__["data"][0]
    owner, before = owners.get(address, (row, None))
    owners[address] = row, weakref.ref(value)
    return owner != row and before is not None and before() is not None


def _columns(extras: dict[int, dict[str, Any]], count: int, batch: dict[str, Any]) -> dict[str, Any]:
    """What travels with the samples of a batch, by name: labels as int64, other values as they are.

    >>> _columns({0: {"label": 3, "at": "here"}, 1: {"label": 4, "at": "there"}}, 2, {})
    {'label': array([3, 4]), 'at': ['here', 'there']}
    """
    first = next(iter(extras.values()), {})
    columns: dict[str, Any] = {}
    for name in first:
        if name not in batch:
            values = [extras.get(k, first)[name] for k in range(count)]
            labels = np.array(values) if name == "label" and all(type(value) is int for value in values) else None
            columns[name] = values if labels is None or labels.dtype != np.int64 else labels
    return columns
