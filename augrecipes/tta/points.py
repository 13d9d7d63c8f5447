"""Boxes and keypoints, moved by matrices."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from augrecipes.errors import DataError
from augrecipes.ops.matrices import Matrix


def moved_places(places: np.ndarray, matrix: Matrix) -> np.ndarray:
    """Places (n, 2), columns before rows, moved by a 3×3 matrix.

    >>> moved_places(np.array([[1.0, 2.0]]), np.array([[0, 1, 3], [1, 0, 0], [0, 0, 1]])).tolist()
    [[5.0, 1.0]]
    """
    made = places @ matrix[:, :2].T + matrix[:, 2]
    return np.asarray(made[:, :2] / made[:, 2:])


def array_of(values: Any, name: str = "a prediction", kinds: str = "biuf") -> np.ndarray:
    """An array as numpy reads it: tensors without gradients, on the host, of bfloat16 as float32.

    Raises:
        DataError: it is none, or its dtype is of no kind of `kinds`.
    """
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    with suppress(RuntimeError, TypeError, ValueError):
        if (array := np.asarray(values)).dtype.kind in kinds:
            return array
    raise DataError(f"{name} must be an array of numbers, got {values!r:.80}")


def rows_of(values: Any, name: str) -> np.ndarray:
    """`boxes`, float64 (n, 4 or more), or `keypoints`, (n, 2 or more); DataError where they are none, or infinite.

    >>> rows_of([], "boxes").shape
    (0, 4)
    """
    array, columns = array_of(values, name), 4 if name == "boxes" else 2
    array = (np.empty((0, columns)) if array.shape[:1] == (0,) else array).astype(np.float64)
    if array.ndim != 2 or array.shape[1] < columns:
        raise DataError(f"{name} must be an array of shape (n, {columns}), got shape {array.shape}")
    for row in np.flatnonzero((np.abs(array[:, :columns]) > 1e100).any(axis=1))[:1]:  # beyond, areas are infinite
        raise DataError(f"{name}[{row}] is {array[row].tolist()}; places are finite, below 1e100, or NaN for none")
    return array


def moved_corners(corners: np.ndarray, matrix: Matrix) -> np.ndarray:
    """Boxes (n, 4), x_min, y_min, x_max, y_max: the least upright ones around their corners, moved.

    >>> moved_corners(np.array([[0, 0, 2, 1]]), np.array([[0, -1, 9], [1, 0, 0], [0, 0, 1]])).tolist()
    [[8.0, 0.0, 9.0, 2.0]]
    """
    four = moved_places(corners[:, [0, 1, 2, 1, 0, 3, 2, 3]].reshape(-1, 2).astype(np.float64), matrix)
    four = four.reshape(-1, 4, 2)
    return np.concatenate([four.min(axis=1), four.max(axis=1)], axis=1)


def places_in(form: str) -> list[int]:
    """Which columns of keypoints of one of albumentations' formats say where they are, x before y.

    Raises:
        DataError: others say how they are turned or how large they are: classes differ in which way round they count.

    >>> places_in("yx")
    [1, 0]
    """
    if not {"a", "s"}.isdisjoint(form):
        raise DataError(f"angles and scales of keypoints cannot come back: declare them as xy, yx or xyz, not {form}")
    return [form.index("x"), form.index("y")]


def moved_keypoints(points: Any, form: str, matrix: Matrix) -> np.ndarray:
    """Keypoints (n, 2 or more) of one of albumentations' formats, moved; columns that say no place stay.

    >>> moved_keypoints(np.array([[1.0, 2.0, 7.0]]), "yxz", np.array([[0, 1, 3], [1, 0, 0], [0, 0, 1]])).tolist()
    [[2.0, 4.0, 7.0]]
    """
    out, at = rows_of(points, "keypoints"), places_in(form)
    out[:, at] = moved_places(out[:, at], matrix)
    return out
