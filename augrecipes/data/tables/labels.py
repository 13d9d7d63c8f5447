"""Class names to numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_INTEGER = re.compile(r"[+-]?\d{1,18}")


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
