"""Predictions sampled at the pixels of another grid: values as they are where pixels meet pixels, else between four."""

from __future__ import annotations

import numpy as np

from augrecipes.compiler.run.step_matrices import Matrix, Size

_SAME = 1e-6  # px: places nearer to a pixel's centre are that pixel's


def sampled(planes: np.ndarray, matrix: Matrix, size: Size, *, nearest: bool) -> tuple[np.ndarray, np.ndarray]:
    """Planes at the pixels of a grid of `size`, and which of these lie in a pixel of the planes.

    Args:
        planes: C×h×w.
        matrix: 3×3, from pixels' centres of the grid to those of the planes.
        size: rows and columns.
        nearest: the nearest pixel's value, for labels; else linear between four, and the edge's up to half a pixel out.

    Returns:
        C×H×W of the planes' dtype, and bool H×W.

    >>> planes = np.array([[[0.0, 4.0]]])
    >>> made, within = sampled(planes, np.array([[0.5, 0, 0], [0, 1, 0], [0, 0, 1]]), (1, 5), nearest=False)
    >>> made.tolist(), within.tolist()
    ([[[0.0, 2.0, 4.0, 4.0, 4.0]]], [[True, True, True, True, False]])
    """
    matrix = matrix / matrix[2, 2]
    if not np.abs(matrix[:2, :2].diagonal()).any():  # transposed
        planes, matrix = planes.swapaxes(1, 2), matrix[[1, 0, 2]]
    y, x = np.arange(size[0]), np.arange(size[1])
    if matrix[0, 1] == matrix[1, 0] == 0 and not matrix[2, :2].any():  # axis by axis
        planes, y_within = _along(1, planes, matrix[1, 1] * y + matrix[1, 2], nearest)
        planes, x_within = _along(2, planes, matrix[0, 0] * x + matrix[0, 2], nearest)
        return planes, y_within[:, None] & x_within
    places = _places(matrix, size)
    x_low, x_part, x_within = _pixels(places[0], planes.shape[2], nearest)
    y_low, y_part, y_within = _pixels(places[1], planes.shape[1], nearest)
    made = planes[:, y_low, x_low]
    if not nearest:
        x_high, y_high = np.minimum(x_low + 1, planes.shape[2] - 1), np.minimum(y_low + 1, planes.shape[1] - 1)
        made = _between(made, planes[:, y_low, x_high], x_part)
        made = _between(made, _between(planes[:, y_high, x_low], planes[:, y_high, x_high], x_part), y_part)
    return made, x_within & y_within


def within(matrix: Matrix, size: Size, other: Size) -> np.ndarray:
    """Which pixels of a grid of `size` lie in a pixel of another grid; `matrix`: as for `sampled`.

    >>> within(np.array([[1, 0, -1], [0, 1, 0], [0, 0, 1]]), (1, 4), (1, 2)).tolist()
    [[False, True, True, False]]
    """
    x, y = _places(matrix, size)
    return np.asarray(_pixels(x, other[1], True)[2] & _pixels(y, other[0], True)[2])


def _places(matrix: Matrix, size: Size) -> np.ndarray:
    """Columns and rows, 2×H×W, in the other grid."""
    at = np.tensordot(matrix, np.stack([*np.meshgrid(*map(np.arange, size[::-1])), np.ones(size)]), 1)
    return np.asarray(at[:2] / at[2])


def _pixels(at: np.ndarray, length: int, nearest: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pixels before some places along an axis, the parts of the way to the next ones, and which lie in a pixel."""
    within = (at > -0.5 - _SAME) & (at < length - 0.5 + _SAME)
    at = np.clip(at, 0, length - 1)
    low = np.floor(at + (0.5 if nearest else _SAME)).astype(np.intp)
    low = np.minimum(low, length - 1)
    part = at - low
    return low, np.where(np.abs(part) < _SAME, 0, part).astype(np.float32), within


def _along(axis: int, planes: np.ndarray, at: np.ndarray, nearest: bool) -> tuple[np.ndarray, np.ndarray]:
    """The planes at some places along one axis, and which of these lie in a pixel."""
    length = planes.shape[axis]
    low, part, within = _pixels(at, length, nearest)
    if nearest or not part.any():
        whole = len(low) == length and np.array_equal(low, np.arange(length))
        return planes if whole else planes.take(low, axis), within
    part = part.reshape(-1, *[1] * (2 - axis))
    return _between(planes.take(low, axis), planes.take(np.minimum(low + 1, length - 1), axis), part), within


def _between(one: np.ndarray, other: np.ndarray, part: np.ndarray) -> np.ndarray:
    return one + (other - one) * part
