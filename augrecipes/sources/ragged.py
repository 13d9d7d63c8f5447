"""What is known of samples as a few numpy arrays: boxes and keypoints, labels, recorded sizes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError
from augrecipes.sharing import SpawnShared
from augrecipes.sources.csv_list import CsvRows

_INTEGER = re.compile(r"[+-]?\d{1,18}")


@dataclass(frozen=True)
class Ragged(SpawnShared):
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


def number(labels: Sequence[str]) -> tuple[npt.NDArray[np.int64], list[str], dict[str, int]]:
    """Labels as int64, the class names, and each name's number.

    Where every label is an integer they are kept as they are; otherwise names are numbered in sorted order.

    >>> number(["stroma", "tumour", "stroma"])
    (array([0, 1, 0]), ['stroma', 'tumour'], {'stroma': 0, 'tumour': 1})
    >>> number(["7", "3"])
    (array([7, 3]), ['3', '7'], {'3': 3, '7': 7})
    """
    if all(_INTEGER.fullmatch(label) for label in labels):
        ids = np.array([int(label) for label in labels], np.int64)
        kept = [str(value) for value in np.unique(ids)]
        return ids, kept, {name: int(name) for name in kept}
    found, inverse = np.unique(np.array(labels, dtype=object), return_inverse=True)
    classes = [str(name) for name in found]
    return inverse.astype(np.int64), classes, {name: i for i, name in enumerate(classes)}


@dataclass(frozen=True, eq=False)
class Recorded(SpawnShared):
    """What annotations say of the sizes of their pictures.

    Attributes:
        sizes: int32 (n, 2), width and height in px; 0 where they do not say.
        file: the annotations.
    """

    sizes: npt.NDArray[np.int32]
    file: str

    def check(self, row: int, path: str, shape: tuple[int, ...], exif: str = "apply") -> None:
        """DataError where a picture, as it was read with `exif`, is not of the size that its annotations are for."""
        width, height = self.sizes[row].tolist()
        if not width or (height, width) == tuple(shape[:2]):
            return
        what = f"is {shape[0]}×{shape[1]} px, but {self.file} has annotations for {height}×{width} px"
        if (width, height) == tuple(shape[:2]):
            seen, other = ("is stored", "ignore") if exif == "apply" else ("is seen, turned by its EXIF", "apply")
            what += f"; was it annotated as it {seen}? Then give exif={other!r}"
        raise DataError(what, path)
