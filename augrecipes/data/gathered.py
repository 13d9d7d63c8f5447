"""Batches that a dataset reads at once: their parts joined, or taken apart into samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch

from augrecipes.data.batches.order import Indices
from augrecipes.data.batches.rows import BatchRows
from augrecipes.data.keys import Key
from augrecipes.data.tables.table import Columns
from augrecipes.errors import DataError

# Plain integers in a sample, tensors in a batch.
_NUMBERS = ("label", "index")


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


class ReadsBatches(Protocol):
    """A dataset of which several samples can be read at once."""

    def read_batch(self, epoch: int, indices: Sequence[int], /) -> dict[str, Any] | None:
        """A batch, or None where they have to be read one after another."""


def completed(
    found: Mapping[str, Any], table: Columns, paths: Callable[[Indices], list[str]], virtual: Indices
) -> dict[str, Any]:
    """A batch of pictures with their labels, where they have not brought some, indices and paths.

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
    dataset: ReadsBatches, keys: Sequence[Key], alone: Callable[[Key], dict[str, Any]]
) -> list[dict[str, Any]] | None:
    """`[dataset[key] for key in keys]`, or None where that has to be done one after another.

    Args:
        dataset: reads the batch.
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
