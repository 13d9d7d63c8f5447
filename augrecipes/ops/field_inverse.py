"""Move points by a warp field: invert the maps of the source of each pixel."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Points = NDArray[Any]  # (n, 2) float64: x and y, in pixel centres
_STEPS, _EXACT, _CLOSE = 12, 1e-3, 0.25  # steps of Newton's method; px of an exact and of a usable solution
_GRIDS = 4, 1  # strides in px of the searches for the closest pixel


def inverse_places(map_x: NDArray[Any], map_y: NDArray[Any], points: Points) -> Points:
    """The positions of an image's points after a warp whose pixel (x, y) comes from (map_x[y, x], map_y[y, x]).

    Newton's method on the maps, interpolated between pixels and extended beyond the sides by translation. Where it
    fails it begins again at the pixel whose source is closest. A point that no pixel shows ends beyond or at the sides;
    NaN stays NaN.

    Args:
        map_x: the source's x of each pixel, H×W.
        map_y: the source's y of each pixel, H×W.
        points: (n, 2), x and y.

    >>> x, y = np.meshgrid(np.arange(8.0), np.arange(6.0))
    >>> inverse_places(x * 0.5 + 1, y, np.array([[2.25, 3.0]])).tolist()
    [[2.5, 3.0]]
    """
    maps = np.stack([map_x, map_y], axis=2).astype(np.float64)
    places, errors = _newton(maps, points, points)
    sides = np.array(maps.shape[1::-1]) - 1
    outside: Any = ((places < -0.5) | (places > sides + 0.5)).any(axis=1)
    for row in np.flatnonzero(((errors > _EXACT) | outside) & ~np.isnan(points).any(axis=1)).tolist():
        for step in _GRIDS:
            away = ((maps[::step, ::step] - points[row]) ** 2).sum(axis=2)
            y, x = divmod(int(np.nanargmin(away)), away.shape[1])
            (place,), (error,) = _newton(maps, np.array([[x, y]], np.float64) * step, points[row : row + 1])
            inside = ((place >= -0.5) & (place <= sides + 0.5)).all()
            if error < errors[row] or (outside[row] and inside and error < _CLOSE):
                places[row], errors[row] = place, error
            if errors[row] < _CLOSE:
                break
    return places


def _newton(maps: NDArray[Any], start: Points, points: Points) -> tuple[Points, NDArray[Any]]:
    """Newton's method from `start`: the best positions, and the distances of their sources from `points`, px."""
    place, best, least = start.copy(), start.copy(), np.full(len(start), np.inf)
    for _ in range(_STEPS):
        sources, (a, b, c, d) = _interpolated(maps, place)
        residual = points - sources
        error = np.hypot(*residual.T)
        better = error < least
        best[better], least[better] = place[better], error[better]
        if not (least > _EXACT).any():
            break
        determinant = a * d - b * c
        folded = np.abs(determinant) < 0.05  # nearly singular: step as if the map were a translation
        determinant[folded], a[folded], d[folded], b[folded], c[folded] = 1, 1, 1, 0, 0
        (u, v), scale = residual.T, determinant[:, None]
        place = place + np.stack([d * u - b * v, a * v - c * u], 1) / scale
    best[np.isnan(points).any(axis=1)] = np.nan
    return best, least


def _interpolated(maps: NDArray[Any], places: Points) -> tuple[Points, NDArray[Any]]:
    """The maps interpolated at positions, and their derivatives ∂x/∂x, ∂x/∂y, ∂y/∂x, ∂y/∂y."""
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
