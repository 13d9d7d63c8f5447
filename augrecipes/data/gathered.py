"""Batches that a dataset reads at once: their parts joined, or taken apart into samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch

from augrecipes.data.batches.rows import BatchRows
from augrecipes.data.keys import Key
from augrecipes.errors import DataError

# Plain integers in a sample, tensors in a batch.
_NUMBERS = ("label", "index")


class ReadsBatches(Protocol):
    """A dataset of which several samples can be read at once."""

    def read_batch(self, epoch: int, indices: Sequence[int], /) -> dict[str, Any] | None:
        """A batch, or None where they have to be read one after another."""


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
        if key in _NUMBERS:
            columns[key] = values.tolist()
        else:
            columns[key] = [*values]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def samples_at_once(dataset: ReadsBatches, keys: Sequence[Key]) -> list[dict[str, Any]] | None:
    """`[dataset[key] for key in keys]`, or None where that has to be done one after another."""
    samples: dict[int, dict[str, Any]] = {}
    for epoch in dict.fromkeys(epoch for epoch, _ in keys):
        places = [k for k, key in enumerate(keys) if key[0] == epoch]
        try:
            batch = dataset.read_batch(epoch, [keys[k][1] for k in places])
        except DataError:
            return None
        if batch is None:
            return None
        samples.update(zip(places, split(batch), strict=True))
    return [samples[k] for k in range(len(keys))]
