"""Predictions sampled at the pixels of another grid: values as they are where pixels meet pixels, else between four."""

from __future__ import annotations

import numpy as np

from augrecipes.ops.matrices import Matrix, Size

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
    height, width = planes.shape[1:]
    (x, y), made = _places(matrix, size), planes
    x_low, x_part, x_within = _pixels(x, width, nearest)
    y_low, y_part, y_within = _pixels(y, height, nearest)
    x_high, y_high = np.minimum(x_low + 1, width - 1), np.minimum(y_low + 1, height - 1)
    if len(x_low) == y_low.shape[1] == 1:  # axis by axis
        for axis, low, high, part in ((2, x_low, x_high, x_part), (1, y_low, y_high, y_part)):
            if part.any() and not nearest:
                made = between(made.take(low.ravel(), axis), made.take(high.ravel(), axis), part)
            elif low.size != made.shape[axis] or (low.ravel() != np.arange(low.size)).any():
                made = made.take(low.ravel(), axis)
        return made, x_within & y_within
    made = planes[:, y_low, x_low]
    if not nearest and (x_part.any() or y_part.any()):
        made = between(made, planes[:, y_low, x_high], x_part)
        made = between(made, between(planes[:, y_high, x_low], planes[:, y_high, x_high], x_part), y_part)
    return made, x_within & y_within


def within(matrix: Matrix, size: Size, other: Size) -> np.ndarray:
    """Which pixels of a grid of `size` lie in a pixel of another grid; `matrix`: as for `sampled`.

    >>> within(np.array([[1, 0, -1], [0, 1, 0], [0, 0, 1]]), (1, 4), (1, 2)).tolist()
    [[False, True, True, False]]
    """
    x, y = _places(matrix, size)
    return np.asarray(_pixels(x, other[1], True)[2] & _pixels(y, other[0], True)[2])


def _places(matrix: Matrix, size: Size) -> list[np.ndarray]:
    """Columns and rows in the other grid: 1×W or H×1 where they depend on one axis, else H×W."""
    axes = np.arange(size[1])[None], np.arange(size[0])[:, None], np.ones((1, 1))
    x, y, w = (sum(axis * part for axis, part in zip(axes, row, strict=True) if part) for row in matrix.tolist())
    return [np.asarray(x / w), np.asarray(y / w)]


def _pixels(at: np.ndarray, length: int, nearest: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pixels before some places along an axis, the parts of the way to the next ones, and which lie in a pixel."""
    within = (at > -0.5 - _SAME) & (at < length - 0.5 + _SAME)
    at = np.clip(at, 0, length - 1)
    low = np.floor(at + (0.5 if nearest else _SAME)).astype(np.intp)
    low = np.minimum(low, length - 1)
    part = at - low
    return low, np.where(np.abs(part) < _SAME, 0, part).astype(np.float32), within


def between(one: np.ndarray, other: np.ndarray, part: np.ndarray | float) -> np.ndarray:
    """`other`, so far on the way to it from `one`: the very value where both have it; between +∞ and -∞ the nearer.

    `other` may be written over.

    >>> between(np.array([0, 3, np.inf, np.inf]), np.array([4, 3, 1, -np.inf]), 0.75).tolist()
    [3.0, 3.0, inf, -inf]
    """
    with np.errstate(invalid="ignore", over="ignore"):
        if one.dtype.kind == "f" and np.isfinite(one.sum() + other.sum()):
            np.multiply(np.subtract(other, one, out=other), part, out=other)  # in place: both are large
            return np.add(one, other, out=other)
        made = one * (1 - part) + other * part
        made = (made if one.dtype.kind == "f" else np.rint(made)).astype(one.dtype)
    ends = (one == other) | (part == 0) | (part == 1) | (np.isinf(one) & np.isinf(other))
    return np.where(ends, np.where(part > 0.5, other, one), made)
