"""How far from each other two outputs take their pixels: one is a map, the other made real images of waves.

A wave in the source, sent through in three phases, tells of each pixel of an output where on the wave it was taken
from, whatever constant was added and however soft it became. What the place on the map says is the same but for the
rounding of levels, so whole blocks of pixels are averaged. Waves lie aslant and are a little noisy, so that no two rows
are rounded alike, and where fractions of places are the same all over, roundings still differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.verify.maps import F32, Map

_WAVES = 8
_OF_NYQUIST = 0.5  # the highest frequency, of half a cycle per px of the output


@dataclass(frozen=True, slots=True)
class Waves:
    """A sum of cosines, 0.1..0.9, known everywhere.

    Attributes:
        x: of each wave, radians per px.
        y: the same.
        phase: radians.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    phase: NDArray[np.float64]

    @classmethod
    def for_scale(cls, scale: float, seed: tuple[int, ...]) -> Waves:
        """Waves that a grid with `scale` source px per px can show, and the source itself."""
        rng = np.random.default_rng(seed)
        highest = np.pi * _OF_NYQUIST / max(scale, 1.0)
        size = highest * rng.uniform(0.2, 1.0, _WAVES)
        angle = rng.uniform(0, 2 * np.pi, _WAVES)
        return cls(size * np.cos(angle), size * np.sin(angle), rng.uniform(0, 2 * np.pi, _WAVES))

    def at(self, x: NDArray[Any], y: NDArray[Any]) -> F32:
        """The values at positions, any shape."""
        return (0.5 + 0.4 * np.cos(self.phases(x, y)).mean(axis=0)).astype(np.float32)

    def phases(self, x: NDArray[Any], y: NDArray[Any]) -> F32:
        """Those of each wave at positions, radians."""
        waves = (part.reshape(-1, *[1] * y.ndim).astype(np.float32) for part in (self.x, self.y, self.phase))
        along, down, phase = waves
        return np.asarray(along * x + down * y + phase, np.float32)

    def over(self, where: Map) -> F32:
        """The mean over the area of the coarsest grid's px that each output pixel lies in, h×w."""
        coarsest = max((*where.grids, where), key=lambda grid: grid.scales[1])
        slopes = coarsest.slopes
        if coarsest is not where:
            slopes = np.median(slopes[:, coarsest.shown], axis=1)[:, None, None]
        xu, xv, yu, yv = slopes
        along = np.multiply.outer(self.x, xu) + np.multiply.outer(self.y, yu)
        down = np.multiply.outer(self.x, xv) + np.multiply.outer(self.y, yv)
        # np.sinc(t) is sin(πt) / πt; a wave of a radians a px keeps sin(a/2) / (a/2) over one px.
        kept = np.sinc(along / (2 * np.pi)) * np.sinc(down / (2 * np.pi))
        return (0.5 + 0.4 * (kept * np.cos(self.phases(where.x, where.y))).mean(axis=0)).astype(np.float32)

    def image(self, height: int, width: int) -> F32:
        """The values at the centres of pixels, H×W."""
        return self.at(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32)[:, None])


def rms(a: NDArray[Any], b: NDArray[Any], where: NDArray[np.bool_]) -> float:
    """Root mean square difference over `where`."""
    return float(np.sqrt(np.mean(np.square(a[where].astype(np.float64) - b[where]))))


MOST_APART_PX = 0.01
_PERIOD = 15.0  # px of the coarsest grid: a wave that each of them shows well
_PHASES = 3
_TURN = np.exp(0.44j)  # the first wave's direction; the second stands upright on it
_HEIGHT = 0.4  # of full scale
_NOISE = 1.0  # levels, to either side
_BLOCK = 16  # px of the coarsest grid, the source's at least
_ERRORS = 3.0  # standard errors of a block's mean
_BENT = 0.0015  # px of what is read: what linear interpolation makes of such a wave's places, at most
_WEIGHTS = 2.0**-8  # px of what is read: half of what a weight of seven bits tells apart


@dataclass(frozen=True, slots=True)
class Grating:
    """Two waves in a source.

    Attributes:
        across: px of the source that a period has along its rows, if it lay along them.
        down: the same along its columns.
        levels: images are rounded to 0..255.
    """

    across: float
    down: float
    levels: bool

    @classmethod
    def of(cls, where: Map, *, levels: bool) -> Grating:
        """One that the source, a map's grid, and those that it has passed can show."""
        found = []
        for axis in (0, 1):
            slopes = [grid.sampled_slopes[2 * axis : 2 * axis + 2] for grid in (*where.grids, where)]
            steps = [float(np.median(np.hypot(*of_grid))) for of_grid in slopes if of_grid.size]
            found.append(_PERIOD * max(1.0, *steps))
        return cls(found[0], found[1], levels)

    def planes(self) -> list[Callable[[int, int], F32]]:
        """Both waves in each phase, from height and width to 0.1..0.9."""
        return [partial(self._plane, *which) for which in product(range(2), range(_PHASES))]

    def _plane(self, wave: int, phase: int, height: int, width: int) -> F32:
        y, x = np.ogrid[:height, :width]
        along, down = (x / self.across / _TURN, 1j * y / self.down / _TURN)
        at = (along.imag + down.imag if wave else along.real + down.real) + phase / _PHASES
        made = 0.5 + _HEIGHT * np.cos((2 * np.pi * at).astype(np.float32))
        if self.levels:
            noise = np.random.default_rng((wave, phase)).random(made.shape, np.float32)
            made += (2 * noise - 1) * np.float32(_NOISE / 255)
        return np.asarray(made, np.float32)

    def off(
        self, made: Sequence[F32], read: Sequence[F32], where: Map
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """By how many px of the source each pixel is taken from further right and further down than a map says.

        Args:
            made: of each plane, h×w.
            read: what they were made of, H×W.
            where: the map.
        """
        cycles = [
            np.angle(_wave(made[at:]) * _between(_wave(read[at:]), where).conj()) / (2 * np.pi) for at in (0, _PHASES)
        ]
        turned = (cycles[0] + 1j * cycles[1]) * _TURN
        return turned.real * self.across, turned.imag * self.down

    def distances(self, x: NDArray[Any], y: NDArray[Any], where: Map, wanted: NDArray[np.bool_]) -> NDArray[np.float64]:
        """How far apart blocks of an output are from a map at least, px of the output.

        A level is rounded by 1/√12 in every image on the way, and the noise is 1/√3. Of waves of 102 levels in three
        phases that is √(2/3) as much of their height, and so much of their period / 2π; in the mean of n pixels of the
        coarsest grid a √n-th: blocks are as large as 16² of these, and have 0.0007 px of such error. `_ERRORS` times
        that is taken off each distance, and what kernels leave of a place when they round weights, or interpolate
        several times: in large images of few pixels that does not average out.

        Args:
            x: what `off` says of columns.
            y: the same of rows.
            where: the map.
            wanted: bool h×w, the pixels that count, one at least.
        """
        least, coarsest = where.scales[0], max(1.0, where.coarsest())
        finer = min(max(1.0, coarsest / least), float(max(wanted.shape)))
        block = int(np.ceil(_BLOCK * finer))
        count = _sums(wanted.astype(np.float64), block)
        used = count > 0
        parts = (_sums(np.where(wanted, part, 0.0), block) for part in where.in_output(x, y))
        far = np.hypot(*(part[used] / count[used] for part in parts))
        off = np.full(far.shape, _BENT)
        if self.levels:
            of_pixel = np.sqrt(2 / 3 * (len(where.grids) / 12 + _NOISE**2 / 3)) / (255 * _HEIGHT)
            error = (
                of_pixel * max(self.across, self.down) / (2 * np.pi) / np.sqrt(np.maximum(count[used] / finer**2, 1))
            )
            off += _WEIGHTS + _ERRORS * error
        return np.asarray(np.maximum(far - off / least, 0.0))


def _wave(planes: Sequence[F32]) -> NDArray[np.complex64]:
    """Place on the first wave and its height at each pixel, as a complex number; what all phases share drops out."""
    turns = np.exp(-2j * np.pi * np.arange(_PHASES) / _PHASES).astype(np.complex64)
    return np.asarray(np.tensordot(turns, np.stack(planes[:_PHASES]), 1))


def _between(values: NDArray[np.complex64], where: Map) -> NDArray[np.complex64]:
    """The values at the places of a map, interpolated linearly; the rounding of the source is in them."""
    height, width = values.shape
    left = np.clip(np.floor(where.x), 0, width - 2).astype(np.intp)
    top = np.clip(np.floor(where.y), 0, height - 2).astype(np.intp)
    flat, first, across = values.ravel(), top * width + left, where.x - left
    above, below = (flat[at] + across * (flat[at + 1] - flat[at]) for at in (first, first + width))
    return np.asarray(above + (where.y - top) * (below - above), np.complex64)


def _sums(values: NDArray[np.float64], block: int) -> NDArray[np.float64]:
    """Over square blocks of pixels."""
    rows, columns = (np.arange(0, n, block) for n in values.shape)
    return np.asarray(np.add.reduceat(np.add.reduceat(values, rows, axis=0), columns, axis=1))
