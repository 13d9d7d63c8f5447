"""Where a field puts places: the inverse of maps that say where each pixel is taken from."""

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
    places, errors = _newton(maps, points, points)
    sides = np.array(maps.shape[1::-1]) - 1
    outside: Any = ((places < -0.5) | (places > sides + 0.5)).any(axis=1)
    starts, rows = _starts(maps, points, np.flatnonzero((errors > _EXACT) | outside), errors)
    if rows.size:
        candidates, misses = _newton(maps, starts, points[rows])
        inside: Any = ((candidates >= -0.5) & (candidates <= sides + 0.5)).all(axis=1)
        for k in np.argsort(-misses):  # the best of a point's last
            row = rows[k]
            if misses[k] < errors[row] or (outside[row] and inside[k] and misses[k] < _CLOSE):
                places[row], errors[row] = candidates[k], misses[k]
    return places


def _newton(maps: NDArray[Any], start: Points, points: Points) -> tuple[Points, NDArray[Any]]:
    """The best places on the way from `start`, and how far from `points` their pixels are taken, px."""
    place, best, least = start.copy(), start.copy(), np.full(len(start), np.inf)
    for _ in range(_STEPS):
        sources, (a, b, c, d) = _interpolated(maps, place)
        miss = points - sources
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
    last = np.array(maps.shape[1::-1]) - 1
    inside = np.clip(np.nan_to_num(places), 0, last)
    corner = np.minimum(inside.astype(int), np.maximum(last - 1, 0))
    (x, y), (u, v) = corner.T, (inside - corner).T[..., None]
    right, below = np.minimum(x + 1, last[0]), np.minimum(y + 1, last[1])
    a, b, c, d = maps[y, x], maps[y, right], maps[below, x], maps[below, right]
    sources = (a * (1 - u) + b * u) * (1 - v) + (c * (1 - u) + d * u) * v
    across, down = (b - a) * (1 - v) + (d - c) * v, (c - a) * (1 - u) + (d - b) * u
    beyond = places - inside
    across[(beyond[:, 0] != 0) | (last[0] == 0)], down[(beyond[:, 1] != 0) | (last[1] == 0)] = (1, 0), (0, 1)
    return sources + beyond, np.stack([across[:, 0], down[:, 0], across[:, 1], down[:, 1]])


def _starts(maps: NDArray[Any], points: Points, rows: NDArray[Any], errors: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    """Where some points may lie, and whose these places are: the middles of cells of four pixels around them.

    Cells are looked for in blocks whose pixels are taken from around a point. One that no cell is around, and that is
    known by nothing better, begins near the closest pixel.
    """
    edges = [np.arange(0, max(1, side - 1), _BLOCK) for side in maps.shape[:2]]
    low, high = (_block_extremes(reduce, maps, edges) for reduce in (np.minimum, np.maximum))
    starts: list[Any] = [np.zeros((0, 2))]
    owners: list[Any] = [np.zeros(0, int)]
    for row in rows.tolist():
        point, middles = points[row], []
        for y, x in np.argwhere(((low <= point) & (point <= high)).all(axis=2))[:_CELLS].tolist():
            y0, x0 = edges[0][y], edges[1][x]
            block = maps[y0 : y0 + _BLOCK + 1, x0 : x0 + _BLOCK + 1]
            corners = np.stack([block[:-1, :-1], block[1:, :-1], block[:-1, 1:], block[1:, 1:]])
            cells = ((corners.min(axis=0) <= point) & (point <= corners.max(axis=0))).all(axis=2)
            middles += [(x0 + right + 0.5, y0 + down + 0.5) for down, right in np.argwhere(cells).tolist()]
        if not middles and errors[row] > _CLOSE and not np.isnan(point).any():
            coarse = maps[::_COARSE, ::_COARSE]
            down, right = divmod(int(np.nanargmin(((coarse - point) ** 2).sum(axis=2))), coarse.shape[1])
            middles = [(right * _COARSE, down * _COARSE)]
        starts.append(np.array(middles[:_CELLS], np.float64).reshape(-1, 2))
        owners.append(np.full(len(starts[-1]), row))
    return np.concatenate(starts), np.concatenate(owners)


def _block_extremes(reduce: np.ufunc, maps: NDArray[Any], edges: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The least or greatest of each block of pixels and of those below and behind it, which its cells reach into."""
    for axis, at in enumerate(edges):
        maps = reduce.reduceat(maps, at, axis)
        maps = reduce(maps, np.take(maps, np.minimum(np.arange(len(at)) + 1, len(at) - 1), axis))
    return maps
