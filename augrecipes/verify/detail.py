"""What detail survives: waves that are finer than the coarsest grid in between can show.

A recipe that goes through a coarser grid loses what is finer, and may mean to. A plan that leaves the grid out lets
that through. The waves are within what both the source and the output can show, so that nothing else stops them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.verify.maps import F32, Map

MOST_SURVIVES = 0.15  # of a wave's height, beyond what the recipe itself lets through
_FINEST = 0.48  # cycles per px of the source and of the output
_FROM, _TO = 0.6, 0.95  # cycles per px of the coarse grid; it shows up to 0.5
_SWEEP = 3
_AS_COARSE = 0.85  # a turned grid shows other waves; a plan may keep either
_FEWEST_PX, _FEWEST_WAVES = 400, 8


@dataclass(frozen=True, slots=True)
class Wave:
    """A cosine, 0.1..0.9.

    Attributes:
        x: cycles per px of the source, along its columns.
        y: the same, along its rows.
        allowed: how much of it linear interpolation from the coarse grid shows, at its place, at most.
    """

    x: float
    y: float
    allowed: float

    def picture(self, height: int, width: int) -> F32:
        """The wave on a source, H×W."""
        y, x = np.arange(height)[:, None], np.arange(width)
        return (0.5 + 0.4 * np.cos(2 * np.pi * (self.x * x + self.y * y))).astype(np.float32)

    def left(self, picture: F32, where: Map, wanted: NDArray[np.bool_]) -> float:
        """How much of it an output shows at its place: 1 for all of it, 0 for none."""
        phase = 2 * np.pi * (self.x * where.x[wanted].astype(np.float64) + self.y * where.y[wanted])
        parts = np.stack([np.ones_like(phase), np.cos(phase), np.sin(phase)])
        found = np.linalg.lstsq(parts @ parts.T, parts @ picture[wanted].astype(np.float64), rcond=None)[0]
        return float(np.hypot(found[1], found[2]) / 0.4)


def sweep(where: Map, wanted: NDArray[np.bool_]) -> list[Wave]:
    """Waves that a grid in between cannot show, and both source and output can; [] where no grid is coarser than both.

    Args:
        where: the output's map, and the grids that it has passed.
        wanted: bool H×W, where the map can be trusted.
    """
    if wanted.sum() < _FEWEST_PX:
        return []
    out, grids = _jacobian(where), [_jacobian(grid) for grid in where.grids[:-1]]
    if out is None or any(grid is None for grid in grids):
        return []
    found = []
    for axis in (0, 1):
        # One cycle a px of a grid, along one of its axes, as a frequency of the source; and what of it fits both ends.
        once = [np.linalg.inv(grid).T[:, axis] for grid in grids if grid is not None]
        fits = [float(_FINEST / max(np.linalg.norm(wave), np.linalg.norm(out.T @ wave))) for wave in once]
        if not fits or max(fits) < _FROM:
            continue
        wave = once[int(np.argmax(fits))]
        if _long_enough(where, wanted, wave * _FROM):
            for size in np.linspace(_FROM, min(max(fits), _TO), _SWEEP):
                x, y = (wave * size).tolist()
                found.append(Wave(x, y, _shown(wave * size, [grid for grid in grids if grid is not None])))
    return found


def _shown(wave: NDArray[Any], grids: list[NDArray[Any]]) -> float:
    """How much of a wave linear interpolation shows, from that of the coarsest grids which shows the most."""
    on = [np.abs(grid.T @ wave) for grid in grids]
    coarsest = max(np.linalg.norm(one) for one in on)
    return float(max(np.prod(np.sinc(one)) ** 2 for one in on if np.linalg.norm(one) > _AS_COARSE * coarsest))


def _long_enough(where: Map, wanted: NDArray[np.bool_], wave: NDArray[Any]) -> bool:
    """Whether what is wanted shows some cycles of a wave."""
    phase = wave[0] * where.x[wanted] + wave[1] * where.y[wanted]
    return float(np.ptp(phase)) >= _FEWEST_WAVES


def _jacobian(where: Map) -> NDArray[np.float64] | None:
    """Source px per px of a grid, [[x along columns, x along rows], [y …]]; None where it has none worth the name."""
    slopes = where.sampled_slopes()
    if not slopes.shape[1]:
        return None
    found = np.median(slopes, axis=1).reshape(2, 2)
    return found if abs(np.linalg.det(found)) > 1e-9 else None
