"""How coarse the grids are that a picture goes through, and whether one between its ends is coarser than both."""

from __future__ import annotations

from math import cos, hypot, pi, sin, sqrt

from augrecipes.ops.warps import Matrix

_SLACK = 1.02  # sizes are whole pixels, so scales that should be equal are not quite
_DIRECTIONS = tuple((cos(k * pi / 8), sin(k * pi / 8)) for k in range(8))  # both axes, and between them
_Slopes = tuple[float, float, float, float]  # how far x and y move for a step along a row; for one along a column
_Grid = tuple[Matrix, int, int]  # from output to picture, and the output's height and width


def is_coarse(matrix: Matrix) -> bool:
    """Whether a grid, seen through `matrix` (from it to a picture), may be coarser than the picture somewhere."""
    a, b, _, d, e, _, g, h, i = matrix
    if g or h or i != 1.0:
        return True
    total, area = a * a + b * b + d * d + e * e, a * e - b * d
    return total + sqrt(max(0.0, total * total - 4 * area * area)) > 2 * _SLACK * _SLACK  # the larger singular value


def enlarges(matrix: Matrix) -> bool:
    """Whether a warp makes more pixels of a length, along rows or columns of what it makes."""
    a, b, _, d, e, _, _, _, i = matrix
    return min(hypot(a, d), hypot(b, e)) * _SLACK < abs(i)


def narrows(between: tuple[Matrix, ...], last: Matrix, height: int, width: int) -> bool:
    """Whether a grid between a picture and the last one is coarser than both, in some direction, somewhere.

    Detail that it cannot hold is gone from what is resampled step by step, and is meant to be: low resolution is
    simulated so. One resampling from the picture to the last grid would bring it back.

    Args:
        between: of each grid between: from it to the picture.
        last: from the last grid to the picture.
        height: of the last grid, px.
        width: of the last grid, px.

    >>> quarter, whole = (4.0, 0.0, 1.5, 0.0, 4.0, 1.5, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    >>> narrows((quarter,), whole, 64, 64), narrows((whole,), quarter, 16, 16)
    (True, False)
    """
    if not between:
        return False
    flat = all(m[6] == m[7] == 0.0 and m[8] == 1.0 for m in (*between, last))
    right, bottom = width - 1.0, height - 1.0
    places = (
        ((0.0, 0.0),) if flat else ((0.0, 0.0), (right, 0.0), (0.0, bottom), (right, bottom), (right / 2, bottom / 2))
    )
    for x, y in places:
        end = _slopes(last, x, y)
        for matrix in between:
            there = (x, y) if flat else _seen_from(matrix, *_through(last, x, y))
            middle = _slopes(matrix, *there)
            if any(_spacing(middle, u) > _SLACK * max(1.0, _spacing(end, u)) for u in _DIRECTIONS):
                return True
    return False


def _spacing(slopes: _Slopes, direction: tuple[float, float]) -> float:
    """How far apart a grid's pixels are along a direction of the picture, in the picture's pixels."""
    a, b, d, e = slopes
    x, y = direction
    return hypot(a * x + d * y, b * x + e * y)


def _slopes(matrix: Matrix, x: float, y: float) -> _Slopes:
    """The derivatives of the mapped place: of its x by x and by y, of its y by x and by y."""
    a, b, _, d, e, _, g, h, i = matrix
    w = g * x + h * y + i
    u, v = _through(matrix, x, y)
    return (a - g * u) / w, (b - h * u) / w, (d - g * v) / w, (e - h * v) / w


def _through(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f, g, h, i = matrix
    w = g * x + h * y + i
    return (a * x + b * y + c) / w, (d * x + e * y + f) / w


def _seen_from(matrix: Matrix, u: float, v: float) -> tuple[float, float]:
    """The place that `matrix` takes to (u, v), by Cramer's rule."""
    a, b, c, d, e, f, g, h, i = matrix
    p, q, r, s = a - g * u, b - h * u, d - g * v, e - h * v
    k, m = i * u - c, i * v - f
    area = p * s - q * r
    return (k * s - q * m) / area, (p * m - k * r) / area
