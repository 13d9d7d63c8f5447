"""Batches of samples that are read together: memory that is written row by row, batches joined and taken apart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.compiler.run.side_by_side import Read, SampleBatch, Together
from augrecipes.data.checks import Key
from augrecipes.data.epochs import Room
from augrecipes.data.memory import Empty, empty, torch_dtype
from augrecipes.data.order import Indices
from augrecipes.data.sample import as_torch
from augrecipes.errors import DataError
from augrecipes.sources.columns import Columns

# Plain integers in a sample, tensors in a batch.
_NUMBERS = ("label", "index")
# Memory for some rows of a batch: (key, shape of a row, dtype) → array (n, *shape).
Take = Callable[[str, tuple[int, ...], np.dtype[Any]], "np.ndarray[Any, Any]"]


class BatchRows:
    """Memory for the samples of one batch.

    The tensor of a key is made when the first sample's size is known. Samples of that size are written into their rows,
    others get memory of their own. Rows may be asked for from several threads; no row is ever handed to two samples.

    Args:
        count: of samples.
        empty: makes a tensor of a shape and dtype.

    Attributes:
        uneven: keys whose samples differ in size.

    >>> rows = BatchRows(2)
    >>> for k in (0, 1):
    ...     rows.room(k)("image")((4,), np.dtype(np.uint8))[:] = k
    >>> rows.whole("image", [torch.zeros(4, dtype=torch.uint8)] * 2) is None  # these lie elsewhere
    True
    """

    def __init__(self, count: int, empty: Empty = empty) -> None:
        self.uneven: set[str] = set()
        self._count, self._empty = count, empty
        self._made: dict[str, tuple[torch.Tensor, np.ndarray[Any, Any]]] = {}
        self._lock = threading.Lock()

    def room(self, k: int) -> Room:
        """Memory for sample `k`, by key."""

        def of(key: str) -> Allocate:
            def allocate(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
                array = self._array(key, shape, dtype)
                return np.empty(shape, dtype) if array is None else array[k]

            return allocate

        return of

    def take(self, rows: range) -> Take:
        """Memory for several samples at once."""

        def taken(key: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
            array = self._array(key, shape, np.dtype(dtype))
            return np.empty((len(rows), *shape), dtype) if array is None else array[rows.start : rows.stop]

        return taken

    def whole(self, key: str, values: Sequence[torch.Tensor]) -> torch.Tensor | None:
        """The tensor of `key`, where `values`, one or more rows each, are its rows, all of them and in order."""
        if key not in self._made:
            return None
        made = self._made[key][0]
        at, size = made.data_ptr(), made.element_size()
        for value in values:
            shaped = made.shape[1:] in (value.shape, value.shape[1:])
            if value.data_ptr() != at or value.dtype != made.dtype or not shaped or not value.is_contiguous():
                return None
            at += value.nelement() * size
        return made if at == made.data_ptr() + made.nelement() * size else None

    def _array(self, key: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any] | None:
        with self._lock:
            if key not in self._made:
                made = self._empty((self._count, *shape), torch_dtype(dtype))
                self._made[key] = made, made.numpy()
            array = self._made[key][1]
            if array.shape[1:] == shape and array.dtype == dtype:
                return array
            self.uneven.add(key)
            return None


class SomeFailedError(DataError):
    """Samples of a batch could not be read; the others are there.

    Args:
        error: what was wrong with the first.
        batch: as `read_batch` gives it; what stands for those that failed means nothing.
        failed: their places.
    """

    def __init__(self, error: DataError, batch: dict[str, Any], failed: Sequence[int]) -> None:
        super().__init__(error.reason, error.path, error.step)
        self.batch, self.failed = batch, failed

    def __reduce__(self) -> tuple[type[DataError], tuple[str, str | None, str | None]]:
        return DataError, (self.reason, self.path, self.step)

    def of(self, batch: dict[str, Any]) -> SomeFailedError:
        """The same of more of the batch, with the file of the first that failed."""
        path = self.path or batch["path"][self.failed[0]]
        return SomeFailedError(DataError(self.reason, path, self.step), batch, self.failed)


def native_batch(
    pipeline: Any, given: Read | Together, epoch: int, virtual: Indices, take: Take, ragged: frozenset[str]
) -> dict[str, Any] | None:
    """What a dataset's `_batch` gives, see there; None where samples differ in size.

    Args:
        pipeline: of the dataset.
        given: gives the targets of a sample by its place in the batch; or those of all.
        epoch: of the draws.
        virtual: keys of the draws.
        take: gives the memory.
        ragged: keys of samples that have a row for each box or point.

    Raises:
        SomeFailedError: samples are broken.
    """
    keys, lane = [(index, 0) for index in virtual.tolist()], pipeline.for_this_thread()
    batch = SampleBatch(epoch, keys, take)
    if isinstance(given, Together):
        batch.make(lane, range(len(keys)), given)
    else:
        batch.read([lane], given)
    if batch.uneven or not batch.out:
        return None
    found: dict[str, Any] = dict(batch.out)
    others = {k: as_torch(rest, ragged) for k, rest in batch.others.items() if rest}
    for name in next(iter(others.values()), ()):
        found[name] = [others[k][name] if k in others else None for k in range(len(keys))]
    if batch.failed:
        first, *_ = failed = sorted(batch.failed)
        raise SomeFailedError(batch.failed[first], found, failed)
    return found


def completed(
    found: Mapping[str, Any], table: Columns, paths: Callable[[Indices], list[str]], virtual: Indices
) -> dict[str, Any]:
    """A batch of images with their labels, where they have not brought some, indices and paths.

    Args:
        found: by key an array of rows, or a list.
        table: of the dataset.
        paths: gives the files of rows of it.
        virtual: the indices that key the draws.
    """
    rows = virtual % len(table)
    batch = {key: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for key, v in found.items()}
    if table.labels is not None and "label" not in batch:
        batch["label"] = torch.from_numpy(table.labels[rows].astype(np.int64, copy=False))
    batch["index"], batch["path"] = torch.from_numpy(virtual), paths(rows)
    return batch


def joined(parts: Sequence[Mapping[str, Any]], rows: BatchRows) -> dict[str, Any]:
    """One batch of parts that follow each other: tensors of some rows each, or lists.

    >>> joined([{"label": torch.tensor([3]), "path": ["a"]}, {"label": torch.tensor([4]), "path": ["b"]}], BatchRows(2))
    {'label': tensor([3, 4]), 'path': ['a', 'b']}
    """
    batch: dict[str, Any] = {}
    for key, first in parts[0].items():
        values = [part[key] for part in parts]
        if isinstance(first, torch.Tensor):
            whole = rows.whole(key, values)
            batch[key] = whole if whole is not None else first if len(values) == 1 else torch.cat(values)
        else:
            batch[key] = [entry for value in values for entry in value]
    return batch


def split(batch: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The samples of a batch.

    >>> split({"label": torch.tensor([3, 4]), "path": ["a", "b"]})
    [{'label': 3, 'path': 'a'}, {'label': 4, 'path': 'b'}]
    """
    columns = {}
    for key, values in batch.items():
        whole = key in _NUMBERS and isinstance(values, torch.Tensor)
        columns[key] = values.tolist() if whole else [*values]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def samples_at_once(
    dataset: Any, keys: Sequence[Key], alone: Callable[[Key], dict[str, Any]]
) -> list[dict[str, Any]] | None:
    """`[dataset[key] for key in keys]`, or None where that has to be done one after another.

    Args:
        dataset: reads the batch, by `read_batch(epoch, indices)`.
        keys: epoch and index of each.
        alone: reads a sample that has failed, or whatever stands for it.
    """
    samples: dict[int, dict[str, Any]] = {}
    for epoch in dict.fromkeys(epoch for epoch, _ in keys):
        places = [k for k, key in enumerate(keys) if key[0] == epoch]
        failed: Sequence[int] = ()
        try:
            batch = dataset.read_batch(epoch, [keys[k][1] for k in places])
        except SomeFailedError as some:
            batch, failed = some.batch, some.failed
        except DataError:
            return None
        if batch is None:
            return None
        samples.update(zip(places, split(batch), strict=True))
        for at in failed:
            samples[places[at]] = alone(keys[places[at]])
    return [samples[k] for k in range(len(keys))]
