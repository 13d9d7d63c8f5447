"""Samples of a source run through the pipeline of a dataset: one, several at once, or the tiles of a bag."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch

from augrecipes.compiler.run.tiles import BagResult, default_threads
from augrecipes.data.batching import Take, as_torch, native_batch, room
from augrecipes.data.checks import count
from augrecipes.data.epochs import Skipped, current
from augrecipes.data.indexed import IndexedRows
from augrecipes.data.order import Indices
from augrecipes.data.picking import PICKS, Pick, tiles_of
from augrecipes.errors import DataError, listed
from augrecipes.recipe.model import Bag, Recipe
from augrecipes.sources.bags import BagTable
from augrecipes.sources.files import naming_all
from augrecipes.sources.sample import RecipeSource
from augrecipes.sources.stored import StoredSource

_log = logging.getLogger("augrecipes")


def one_sample(ds: IndexedRows, source: RecipeSource, row: int, epoch: int, virtual: int) -> dict[str, Any]:
    """A sample of a dataset as tensors: row `row` of its source, with the draws that `virtual` keys in an epoch."""
    if ds.recipe.facts.tiles:
        return read_bag(ds, source, row, epoch, virtual)
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


def picking(recipe: Recipe, max_tiles: int | None, min_tiles: int | None, pick: Pick | None) -> Bag:
    """What is in force: the arguments that are given, and otherwise what the recipe says; ValueError for nonsense."""
    rule = recipe.bag or Bag()
    how = cast("Pick", rule.pick if pick is None else pick)
    if how not in PICKS:
        raise ValueError(f"pick must be one of {', '.join(PICKS)}, got {how!r}")
    least = count("min_tiles", rule.min_tiles if min_tiles is None else min_tiles, 1)
    most = rule.max_tiles if max_tiles is None else max_tiles
    most = None if most is None else count("max_tiles", most, 1)
    if most is not None and most < least:
        raise ValueError(f"max_tiles={most} is below min_tiles={least}: no bag would do")
    return Bag(most, least, how)


def read_bag(ds: IndexedRows, source: RecipeSource, row: int, epoch: int, virtual: int) -> dict[str, Any]:
    """One sample of a dataset of bags: the picked tiles of bag `row` of its source, through its pipeline."""
    table: BagTable = cast("BagTable", source.table)
    rule, baked = ds.rule, epoch + virtual // len(table)
    # A tile that is a file is small: all of it is read as soon as a part.
    undecoded = ds.pipeline.reads and (table.on_slides or isinstance(source, StoredSource))
    start, stop = table.offsets[row : row + 2].tolist()
    if stop - start < rule.min_tiles:
        raise DataError(f"the bag has {stop - start} tiles, fewer than min_tiles={rule.min_tiles}{table.about(row)}")
    picked = tiles_of(rule, stop - start, ds.mode, seed=ds.seed, epoch=epoch, index=virtual)
    tiles = (start + picked).tolist()
    name = table.bags.name(row)
    unread: dict[int, DataError] = {}

    def read_picked(k: int) -> Any:
        try:
            return source.parts(tiles[k], baked, undecoded=undecoded)[0]["image"]
        except DataError as error:
            unread[k] = error
            raise

    now, threads = current(), None
    if now is not None and now.readers > 1 and ds.pipeline.compiled.threads is None:
        threads = max(1, default_threads() // now.readers)  # other threads read other bags
    try:
        pipeline: Any = ds.pipeline
        bag: BagResult = pipeline.bag(
            virtual,
            epoch,
            picked.tolist(),
            read_picked,
            threads=threads,
            skip=ds.on_error == "skip",
            allocate=room("image") or np.empty,
            name=lambda k: table.images[tiles[k]],
        )
    except DataError:
        if ds.on_error == "skip" and unread:
            _note_lost([unread[k] for k in sorted(unread)], name, epoch, virtual)
        raise
    if bag.dropped:
        _note_lost([error for _, error in bag.dropped], name, epoch, virtual)
        if len(bag.kept) < rule.min_tiles:
            raise DataError(
                f"{len(bag.kept)} of {len(bag.kept) + len(bag.dropped)} tiles can be used, fewer than "
                f"min_tiles={rule.min_tiles}; the first that cannot: {bag.dropped[0][1]}"
            )
    sample = {
        "image": torch.from_numpy(bag.image),
        "coords": torch.from_numpy(table.places(row, picked[list(bag.kept)])),
        "bag": name,
    }
    if bag.applied is not None:
        sample["applied"] = bag.applied
    return sample


def _note_lost(errors: Sequence[DataError], name: str, epoch: int, virtual: int) -> None:
    """Tell the loader, or the log, which tiles were left out of a bag."""
    now = current()
    if now is not None and now.lost is not None:
        now.lost.extend(Skipped(error.path or "", error.reason_in_step, epoch, virtual, bag=name) for error in errors)
    else:
        _log.warning("bag %s: %d tiles are left out:%s", name, len(errors), listed(str(error) for error in errors))
