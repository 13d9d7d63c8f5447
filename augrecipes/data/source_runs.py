"""Functions of `RecipeDataset` that read its source and run its pipeline: one sample, or several at once."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from augrecipes.compiler.run.batch import AllocateTarget
from augrecipes.data.batching import Batch, BatchRows, allocate_in_batch, as_tensors, native_batch, ragged_keys
from augrecipes.data.checks import as_index, position_of
from augrecipes.data.epochs import SkipError, candidates, check_epoch, current, replace_logged
from augrecipes.data.order import Indices
from augrecipes.errors import DataError
from augrecipes.native.kernels import address_of
from augrecipes.recipe.kinds import part
from augrecipes.sources.columns import label_at
from augrecipes.sources.files import with_all_files
from augrecipes.sources.sample import Sample

if TYPE_CHECKING:
    from augrecipes.data.dataset import RecipeDataset


def read_or_replace(ds: RecipeDataset, epoch: int, index: int) -> dict[str, Any]:
    """Make the sample of an index, or under `on_error="skip"` a replacement for a broken one."""
    keys, (repeat, position) = ds.sample_keys, divmod(index, len(ds))
    virtual = keys.key(position, repeat)
    try:
        return ds.read_sample(epoch, virtual)
    except DataError as error:
        if ds.on_error == "raise":
            raise
        if (now := current()) and now.left_out is not None:
            # The loader chooses the replacement: this dataset may be only a part of what it reads.
            raise SkipError(error, ds.seed, virtual) from error
        others = (k for k in candidates(ds.seed, epoch, virtual, len(ds)) if k != position)
        return replace_logged(error, others, lambda other: ds.read_sample(epoch, keys.key(other, repeat)))


def read_sample(ds: RecipeDataset, epoch: int, virtual: int) -> dict[str, Any]:
    """Make the sample of a key, with its label, index and path; DataError names the file."""
    path = ds.row_path(row := virtual % len(ds.table))
    try:
        sample = ds.make_sample(row, epoch, virtual)
    except DataError as error:
        raise (error if error.path else error.with_path(path)) from error.__cause__
    if ds.table.labels is not None:
        label = label_at(ds.table.labels, row)
        sample.setdefault("label", torch.from_numpy(label) if isinstance(label, np.ndarray) else label)
    sample["index"], sample["path"] = virtual, path
    return sample | ({"epoch": epoch} if ds.mixes else {})


def read_batch(ds: RecipeDataset, epoch: int, indices: Sequence[int], allocate: AllocateTarget | None) -> Batch | None:
    """Make several samples as one batch; see `RecipeDataset.read_batch`."""
    virtual = ds.sample_keys.several(indices)
    rows = virtual % len(ds.table)
    values = ds.make_batch(rows, epoch, virtual, allocate or BatchRows(len(rows)).allocate_rows(range(len(rows))))
    if values is None:
        return None
    batch = {key: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for key, v in values.items()}
    if ds.table.labels is not None and "label" not in batch:
        labels = ds.table.labels[rows]
        batch["label"] = torch.from_numpy(labels.astype(np.int64, copy=False) if labels.ndim == 1 else labels)
    batch["index"], batch["path"] = torch.from_numpy(virtual), ds.row_paths(rows)
    return batch | ({"epoch": torch.full((len(rows),), epoch)} if ds.mixes else {})


def read_unprocessed(ds: RecipeDataset, index: int, epoch: int | None, tile: int) -> Sample:
    """Read a sample without running the recipe; see `RecipeDataset.given`."""
    virtual = ds.sample_keys.key(position_of(as_index(index), len(ds)))
    unit = ds.table.units_of(virtual % len(ds.table))[tile]
    stored_epoch = (ds.epoch if epoch is None else check_epoch(epoch)) + virtual // len(ds.table)
    names = [*ds.pipeline.targets]
    if ds.recipe.scales:  # the paths have the largest target first
        names = [*ds.pipeline.wanted(0, 0, ds.source.present_images(unit, stored_epoch))]
    try:
        return replace(ds.source.sample(unit, stored_epoch, names=names), index=virtual, tile=tile)
    except DataError as error:
        raise (error if error.path else error.with_path(ds.path(index))) from error.__cause__


def run_sample(ds: RecipeDataset, row: int, epoch: int, virtual: int) -> dict[str, Any]:
    """Make a sample: run row `row` of the source with the draws of (epoch, virtual), as tensors."""
    if ds.recipe.facts.tiles:
        return part(ds.recipe.kind, "dataset").read_bag(ds, row, epoch, virtual)
    pipeline, scaled = ds.pipeline, ds.recipe.facts.scales
    views = tuple(name for name in pipeline.outputs if name != "image") if ds.recipe.facts.views else ()
    # Subsets share a table but may run the other section, so the pipeline says which images this one reads.
    stored_epoch, names, others = epoch + virtual // len(ds.table), None, dict[str, Any]()
    if scaled:
        wanted = pipeline.wanted(epoch, virtual, ds.source.present_images(row, stored_epoch))
        names, others = (
            [name for name in wanted if wanted[name]],
            dict.fromkeys(wanted),
        )  # images that are not read are None
    try:
        targets, extra = ds.source.parts(row, stored_epoch, undecoded=pipeline.reads, names=names)
        single = None if ds.recipe.inputs.stack else allocate_in_batch("image")  # a stack allocates its own memory
        several = (scaled or views) and allocate_in_batch("image")
        out: Any = {name: allocate_in_batch(name) for name in pipeline.outputs} if several else single
        output = pipeline.at(index=virtual, epoch=epoch)(**{**others, **targets}, out=out)
    except DataError as error:
        if not scaled:
            raise
        paths = ds.table.paths(row)
        raise with_all_files(
            error, {name: paths[name] for name in paths if name in pipeline.targets}
        ) from error.__cause__
    sample = as_tensors(output, ds.recipe, views)
    return sample | {name: value for name, value in extra.items() if name not in sample}


def run_batch(ds: RecipeDataset, rows: Indices, epoch: int, virtual: Indices, allocate: AllocateTarget) -> Batch | None:
    """Make a batch of images; None where they must be made one by one. See `RecipeDataset.make_batch`."""
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
        batch = native_batch(ds.pipeline, read, epoch, virtual, allocate, ragged_keys(ds.recipe))
    except _MixedPartsError:
        return None
    return None if batch is None else batch | _columns(extras, len(rows), batch)


class _MixedPartsError(Exception):
    """Samples of a batch differ in their parts, or a source reuses an array: they must be made one by one."""


# By the address of an array in the batch: its row, and a weak reference to the array.
Owners = dict[int, tuple[int, "weakref.ref[np.ndarray]"]]


def _is_overwritten(value: Any, row: int, owners: Owners) -> bool:
    """Whether an array has the memory of another row's array that is still in use; records it in `owners`."""
    if not (isinstance(value, np.ndarray) and value.size):
        return False
    # Arrays of a user's source are read-only; for these numpy's interface is faster.
    address = address_of(value) if value.flags.writeable else value.__array_interface__["data"][0]
    owner, before = owners.get(address, (row, None))
    owners[address] = row, weakref.ref(value)
    return owner != row and before is not None and before() is not None


def _columns(extras: dict[int, dict[str, Any]], count: int, batch: dict[str, Any]) -> dict[str, Any]:
    """The other fields of the samples of a batch as columns: labels as int64, other values in lists.

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
