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
from augrecipes.verify.truth import Waves

MOST_SURVIVES = 0.15  # of a wave's height, beyond what the recipe itself lets through
_FINEST = 0.48  # cycles per px of the source and of the output
_FROM, _TO = 0.6, 0.95  # cycles per px of the coarse grid; it shows up to 0.5
_SWEEP = 3
_AS_COARSE = 0.85  # a turned grid shows other waves; a plan may keep either
_FEWEST_PX, _FEWEST_WAVES = 400, 8
_FLAT = 1e-9  # source px² per px² of a grid


@dataclass(frozen=True, slots=True)
class Wave(Waves):
    """A cosine alone.

    Attributes:
        allowed: how much of it linear interpolation from the coarse grid shows, at its place, at most.
    """

    allowed: float

    def left(self, picture: F32, where: Map, wanted: NDArray[np.bool_]) -> float:
        """How much of it an output shows at its place: 1 for all of it, 0 for none."""
        (phase,) = self.phases(where.x[wanted], where.y[wanted])
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
    *grids, out = jacobians = [_jacobian(grid) for grid in (*where.grids[:-1], where)]
    if not grids or not all(abs(np.linalg.det(one)) > _FLAT for one in jacobians):
        return []
    found = []
    for axis in (0, 1):
        # One cycle a px of a grid, along one of its axes, as a frequency of the source; and what of it fits both ends.
        once = [np.linalg.inv(grid).T[:, axis] for grid in grids]
        fits = [float(_FINEST / max(np.linalg.norm(wave), np.linalg.norm(out.T @ wave))) for wave in once]
        wave, most = once[int(np.argmax(fits))], min(max(fits), _TO)
        cycles = np.ptp(_FROM * (wave[0] * where.x[wanted] + wave[1] * where.y[wanted]))
        if most >= _FROM and cycles >= _FEWEST_WAVES:
            for size in np.linspace(_FROM, most, _SWEEP):
                x, y = 2 * np.pi * size * wave[:, None]
                found.append(Wave(x, y, np.zeros(1), _shown(wave * size, grids)))
    return found


def _shown(wave: NDArray[Any], grids: list[NDArray[Any]]) -> float:
    """How much of a wave linear interpolation shows, from that of the coarsest grids which shows the most."""
    on = [np.abs(grid.T @ wave) for grid in grids]
    coarsest = max(np.linalg.norm(one) for one in on)
    return float(max(np.prod(np.sinc(one)) ** 2 for one in on if np.linalg.norm(one) > _AS_COARSE * coarsest))


def _jacobian(where: Map) -> NDArray[np.float64]:
    """Source px per px of a grid, [[x along columns, x along rows], [y …]]; zeros where nothing of it is shown."""
    slopes = where.sampled_slopes
    return np.median(slopes, axis=1).reshape(2, 2) if slopes.size else np.zeros((2, 2))
