"""How far from each other two outputs take their pixels: one is a map, the other made real pictures of waves.

A wave along one axis of the source, sent through in three phases, tells of each pixel of an output where on the wave it
was taken from, whatever constant was added and however soft it became. What the place on the map says is the same but
for the rounding of levels, so whole blocks of pixels are averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.verify.maps import F32, Map

MOST_APART_PX = 0.01
_PERIOD = 15.0  # px of the coarsest grid: a wave that each of them shows well
PHASES = 3
_HEIGHT = 0.4  # of full scale
_BLOCK = 16  # px
_ERRORS = 3.0  # standard errors of a block's mean
_WEIGHTS = 2.0**-8  # px of what is read: half of what a weight of seven bits tells apart


@dataclass(frozen=True, slots=True)
class Grating:
    """A wave along one axis of a source.

    Attributes:
        axis: 0: it changes from column to column; 1: from row to row.
        period: px of the source.
    """

    axis: int
    period: float

    @classmethod
    def along(cls, axis: int, where: Map) -> Grating:
        """One that the source, a map's grid, and those that it has passed can show."""
        slopes = [grid.sampled_slopes()[2 * axis : 2 * axis + 2] for grid in (*where.grids, where)]
        steps = [float(np.median(np.hypot(*of_grid))) for of_grid in slopes if of_grid.size]
        return cls(axis, _PERIOD * max(1.0, *steps))

    def plane(self, phase: int, height: int, width: int) -> F32:
        """The wave in 0.1..0.9, one of three phases."""
        at = np.mgrid[:height, :width][1 - self.axis] / self.period + phase / PHASES
        return (0.5 + _HEIGHT * np.cos(2 * np.pi * at)).astype(np.float32)

    def px(self, made: Sequence[F32], read: Sequence[F32], where: Map) -> NDArray[np.float64]:
        """By how many px of the source outputs are taken from further along the axis than a map says.

        Args:
            made: of each phase, h×w.
            read: what they were made of, H×W.
            where: the map.
        """
        turned = _wave(made) * _between(_wave(read), where).conj()
        return np.asarray(np.angle(turned) * self.period / (2 * np.pi), np.float64)


def _wave(phases: Sequence[F32]) -> NDArray[np.complex128]:
    """Place on the wave and height of each pixel, as a complex number; what all phases share drops out."""
    return sum(
        (plane * np.exp(-2j * np.pi * phase / PHASES) for phase, plane in enumerate(phases)),
        np.zeros(phases[0].shape, np.complex128),
    )


def _between(values: NDArray[Any], where: Map) -> NDArray[Any]:
    """The values at the places of a map, interpolated linearly; the rounding of the source is in them."""
    x, y = (part.astype(np.float64) for part in (where.x, where.y))
    left, top = (np.clip(np.floor(at), 0, n - 2).astype(int) for at, n in zip((x, y), values.shape[::-1], strict=True))
    above, below = (
        values[row, left] + (x - left) * (values[row, left + 1] - values[row, left]) for row in (top, top + 1)
    )
    return np.asarray(above + (y - top) * (below - above))


def distances(
    x: NDArray[Any], y: NDArray[Any], where: Map, wanted: NDArray[np.bool_], *, levels: bool
) -> NDArray[np.float64]:
    """How far apart blocks of an output are from a map at least, px of the output; [] where nothing is wanted.

    Each level is rounded by 1/√12 in every picture on the way. Of a wave of 102 levels in three phases that is √(2/3)
    as much of its height, and so much of its period / 2π; in the mean of n pixels, or of as many as the coarsest grid
    has there, a √n-th. A block of 16² pixels as large as those of the source has 0.0005 px of such error. `_ERRORS`
    times that, and what kernels leave of a place when they round weights, is taken off each distance.

    Args:
        x: by how many px of the source each pixel is taken from further right.
        y: the same, further down.
        where: the map.
        wanted: bool h×w, the pixels that count.
        levels: pictures are rounded to 0..255.
    """
    xu, xv, yu, yv = (slope.astype(np.float64) for slope in where.slopes())
    area = np.where(wanted, xu * yv - xv * yu, 1.0)
    rightward, downward = (yv * x - xv * y) / area, (xu * y - yu * x) / area
    count = _sums(wanted.astype(np.float64))
    used = count > 0
    far = np.hypot(*(_sums(np.where(wanted, part, 0.0))[used] / count[used] for part in (rightward, downward)))
    if not levels:
        return far
    least, coarsest = where.scales()[0], max(1.0, where.coarsest())
    of_pixel = np.sqrt(2 / 3 * (len(where.grids) + 1) / 12) / (255 * _HEIGHT) * _PERIOD * coarsest / (2 * np.pi)
    error = of_pixel / np.sqrt(np.maximum(count[used] * min(1.0, least / coarsest) ** 2, 1))
    return np.asarray(np.maximum(far - (_ERRORS * error + _WEIGHTS) / least, 0.0))


def _sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Over blocks of pixels."""
    rows, columns = (np.arange(0, n, _BLOCK) for n in values.shape)
    return np.asarray(np.add.reduceat(np.add.reduceat(values, rows, axis=0), columns, axis=1))
