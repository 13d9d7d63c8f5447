"""Where a field puts places: the inverse of maps that say where each pixel is taken from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Points = NDArray[Any]  # (n, 2) float64: x and y, in pixel centres
_STEPS, _EXACT, _CLOSE = 12, 1e-3, 0.25  # of Newton's method; px
_CELLS = 16  # that are tried for a point


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
    starts, rows = _cells(maps, points, np.flatnonzero((error > _EXACT) | outside))
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


def _cells(maps: NDArray[Any], points: Points, rows: NDArray[Any]) -> tuple[Points, NDArray[Any]]:
    """Middles of cells of four pixels that some points are taken between, or the closest pixel; and whose they are."""
    corners = np.stack([maps[:-1, :-1], maps[1:, :-1], maps[:-1, 1:], maps[1:, 1:]])
    low, high = corners.min(axis=0), corners.max(axis=0)
    starts: list[Any] = [np.zeros((0, 2))]
    owners: list[Any] = [np.zeros(0, int)]
    for row in rows.tolist():
        point = points[row]
        if np.isnan(point).any():
            continue
        y, x = np.nonzero(((low <= point) & (point <= high)).all(axis=2))
        middle = 0.5
        if not len(y):
            y, x = np.divmod([np.nanargmin(((maps - point) ** 2).sum(axis=2))], maps.shape[1])
            middle = 0.0
        starts.append(np.stack([x, y], axis=1)[:_CELLS] + middle)
        owners.append(np.full(len(starts[-1]), row))
    return np.concatenate(starts), np.concatenate(owners)
