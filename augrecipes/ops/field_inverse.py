"""Where a field puts places: the inverse of maps that say where each pixel is taken from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Points = NDArray[Any]  # (n, 2) float64: x and y, in pixel centres
_STEPS, _EXACT, _CLOSE = 12, 1e-3, 0.25  # of Newton's method; px
_CELLS, _BLOCK, _COARSE = 16, 16, 4  # tried for a point; pixels along a block of them; pixels from one to the next


def inverse_places(map_x: NDArray[Any], map_y: NDArray[Any], points: Points) -> Points:
    """Where points of an image lie once each pixel (x, y) has been taken from (map_x[y, x], map_y[y, x]).

    Newton's method on the maps, between pixels and, beyond the image's sides, as if they went on in parallel. A point
    for which that finds nothing begins again between the pixels that are taken from around it. A point that no pixel
    shows comes out beyond the sides, or at the pixel that comes closest; NaN stays NaN.

    Args:
        map_x: H×W.
        map_y: the same.
        points: (n, 2), x and y.

    >>> x, y = np.meshgrid(np.arange(8.0), np.arange(6.0))
    >>> inverse_places(x * 0.5 + 1, y, np.array([[2.25, 3.0]])).tolist()
    [[2.5, 3.0]]
    """
    maps = np.stack([map_x, map_y], axis=2).astype(np.float64)
    found, error = _newton(maps, points, points)
    sides = np.array(maps.shape[1::-1]) - 1
    outside: Any = ((found < -0.5) | (found > sides + 0.5)).any(axis=1)
    starts, rows = _starts(maps, points, np.flatnonzero((error > _EXACT) | outside), error)
    if rows.size:
        other, rest = _newton(maps, starts, points[rows])
        shown: Any = ((other >= -0.5) & (other <= sides + 0.5)).all(axis=1)
        for k in np.argsort(-rest):  # the best of a point's last
            row = rows[k]
            if rest[k] < error[row] or (outside[row] and shown[k] and rest[k] < _CLOSE):
                found[row], error[row] = other[k], rest[k]
    return found


def _newton(maps: NDArray[Any], start: Points, points: Points) -> tuple[Points, NDArray[Any]]:
    """The best places on the way from `start`, and how far from `points` their pixels are taken, px."""
    place, best, least = start.copy(), start.copy(), np.full(len(start), np.inf)
    for _ in range(_STEPS):
        taken, (a, b, c, d) = _interpolated(maps, place)
        miss = points - taken
        error = np.hypot(*miss.T)
        better = error < least
        best[better], least[better] = place[better], error[better]
        if not (least > _EXACT).any():
            break
        determinant = a * d - b * c
        folded = np.abs(determinant) < 0.05  # nearly: steps straight ahead
        determinant[folded], a[folded], d[folded], b[folded], c[folded] = 1, 1, 1, 0, 0
        place = (
            place
            + np.stack([d * miss[:, 0] - b * miss[:, 1], a * miss[:, 1] - c * miss[:, 0]], 1) / determinant[:, None]
        )
    best[np.isnan(points).any(axis=1)] = np.nan
    return best, least


def _interpolated(maps: NDArray[Any], places: Points) -> tuple[Points, NDArray[Any]]:
    """The maps between pixels, and their derivatives: of x by x and y, of y by x and y."""
    most = np.array(maps.shape[1::-1]) - 1
    inside = np.clip(np.nan_to_num(places), 0, most)
    corner = np.minimum(inside.astype(int), np.maximum(most - 1, 0))
    (x, y), (u, v) = corner.T, (inside - corner).T[..., None]
    right, below = np.minimum(x + 1, most[0]), np.minimum(y + 1, most[1])
    one, two, three, four = maps[y, x], maps[y, right], maps[below, x], maps[below, right]
    taken = (one * (1 - u) + two * u) * (1 - v) + (three * (1 - u) + four * u) * v
    across, down = (two - one) * (1 - v) + (four - three) * v, (three - one) * (1 - u) + (four - two) * u
    beyond = places - inside
    across[(beyond[:, 0] != 0) | (most[0] == 0)], down[(beyond[:, 1] != 0) | (most[1] == 0)] = (1, 0), (0, 1)
    return taken + beyond, np.stack([across[:, 0], down[:, 0], across[:, 1], down[:, 1]])


def _starts(maps: NDArray[Any], points: Points, rows: NDArray[Any], error: NDArray[Any]) -> tuple[Points, NDArray[Any]]:
    """Where some points may lie, and whose these places are: the middles of cells of four pixels around them.

    Cells are looked for in blocks whose pixels are taken from around a point. One that no cell is around, and that is
    known by nothing better, begins near the closest pixel.
    """
    edges = [np.arange(0, max(1, side - 1), _BLOCK) for side in maps.shape[:2]]
    low, high = (_of_blocks(reduce, maps, edges) for reduce in (np.minimum, np.maximum))
    starts: list[Any] = [np.zeros((0, 2))]
    owners: list[Any] = [np.zeros(0, int)]
    for row in rows.tolist():
        point, found = points[row], []
        for y, x in np.argwhere(((low <= point) & (point <= high)).all(axis=2))[:_CELLS].tolist():
            top, left = edges[0][y], edges[1][x]
            block = maps[top : top + _BLOCK + 1, left : left + _BLOCK + 1]
            corners = np.stack([block[:-1, :-1], block[1:, :-1], block[:-1, 1:], block[1:, 1:]])
            cells = ((corners.min(axis=0) <= point) & (point <= corners.max(axis=0))).all(axis=2)
            found += [(left + right + 0.5, top + down + 0.5) for down, right in np.argwhere(cells).tolist()]
        if not found and error[row] > _CLOSE and not np.isnan(point).any():
            some = maps[::_COARSE, ::_COARSE]
            down, right = divmod(int(np.nanargmin(((some - point) ** 2).sum(axis=2))), some.shape[1])
            found = [(right * _COARSE, down * _COARSE)]
        starts.append(np.array(found[:_CELLS], np.float64).reshape(-1, 2))
        owners.append(np.full(len(starts[-1]), row))
    return np.concatenate(starts), np.concatenate(owners)


def _of_blocks(reduce: np.ufunc, maps: NDArray[Any], edges: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The least or greatest of each block of pixels and of those below and behind it, which its cells reach into."""
    for axis, at in enumerate(edges):
        maps = reduce.reduceat(maps, at, axis)
        behind = np.take(maps, np.minimum(np.arange(len(at)) + 1, len(at) - 1), axis)
        maps = reduce(maps, behind)
    return maps
