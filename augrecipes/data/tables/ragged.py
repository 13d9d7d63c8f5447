"""Rows that belong to samples, a different number for each: boxes and keypoints, kept as a few numpy arrays."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.data.tables.csvfile import CsvRows
from augrecipes.data.tables.labels import number
from augrecipes.errors import DataError
from augrecipes.sharing import Shared


@dataclass(frozen=True)
class Ragged(Shared):
    """Numbers of all samples, one below another.

    Attributes:
        values: float32 (m, columns), the rows of all samples.
        offsets: int64 (n + 1,); rows `offsets[i]:offsets[i + 1]` belong to sample i.
        labels: int64 (m,), or None where rows have no label.
        classes: names of the labels where they were text, in order; None where they were integers or absent.
    """

    values: npt.NDArray[np.float32]
    offsets: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64] | None = None
    classes: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def rows(self, i: int) -> npt.NDArray[np.float32]:
        """The rows of sample i, a copy."""
        return self.values[self.offsets[i] : self.offsets[i + 1]].copy()

    def labels_of(self, i: int) -> npt.NDArray[np.int64] | None:
        """The labels of sample i's rows, a copy, or None."""
        return None if self.labels is None else self.labels[self.offsets[i] : self.offsets[i + 1]].copy()

    def take(self, keep: npt.NDArray[np.int64]) -> Ragged:
        """The samples at the positions in `keep`."""
        counts = np.diff(self.offsets)[keep]
        offsets = np.concatenate(([0], np.cumsum(counts)))
        index = np.repeat(self.offsets[:-1][keep] - offsets[:-1], counts) + np.arange(offsets[-1])
        return Ragged(self.values[index], offsets, None if self.labels is None else self.labels[index], self.classes)


def read_ragged(rows: CsvRows, column: str, width: int, *, labelled: bool) -> Ragged:
    """Parse a column of JSON lists of `width` numbers, each followed by a label where `labelled`.

    Raises:
        DataError: a cell is not such a list, or some rows have labels and others have none; names the line.
    """
    values: list[list[float]] = []
    labels: list[Any] = []
    offsets = [0]
    for i, cell in enumerate(rows.columns[column]):
        try:
            found = json.loads(cell) if cell else []
        except (ValueError, RecursionError) as error:
            raise DataError(f"{column}: not valid JSON: {error}", rows.where(i)) from error
        if not isinstance(found, list):
            raise DataError(f"{column}: should be a JSON list, got {cell[:40]}", rows.where(i))
        for row in found:
            if what := _wrong(row, width, labelled):
                raise DataError(f"{column}: {json.dumps(row)} {what}", rows.where(i))
            values.append(row[:width])
            labels += row[width:]
            if labels and len(labels) != len(values):
                raise DataError(f"{column}: some rows have a label and others have none", rows.where(i))
        offsets.append(len(values))
    made = Ragged(np.array(values, np.float32).reshape(-1, width), np.array(offsets, np.int64))
    if not labels:
        return made
    if any(isinstance(label, bool) or not isinstance(label, int | str) for label in labels):
        raise DataError(f"{column}: labels must be integers or text", rows.path)
    ids, classes, class_to_idx = number([str(label) for label in labels])
    kept = all(name == str(value) for name, value in class_to_idx.items())
    return replace(made, labels=ids, classes=None if kept else tuple(classes))


def _wrong(row: Any, width: int, labelled: bool) -> str:
    """What is wrong with a row of numbers and perhaps a label; empty where nothing is."""
    if not isinstance(row, list) or not width <= len(row) <= width + labelled:
        return f"should be a list of {width} numbers{' and, if you like, a label' if labelled else ''}"
    fine = all(isinstance(value, int | float) and not isinstance(value, bool) for value in row[:width])
    return "" if fine else "should hold numbers"
