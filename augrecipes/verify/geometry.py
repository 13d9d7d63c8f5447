"""The laws of merged resampling, on one sample: where pixels come from, and how near the result is to the truth.

Where they come from in the recipe as it is written is told by float32 ramps. What its plan makes is measured from
outside, on images of the dtype that it is for, as samples are made: waves in the source, sent through in three phases,
tell of each pixel of an output where on the wave it was taken from, whatever constant was added and however soft it
became, and how much of the wave is left. What the place on the map says is the same but for the rounding of levels, so
whole blocks of pixels are averaged. Waves lie aslant and are a little noisy, so that no two rows are rounded alike, and
where fractions of places are the same all over, roundings still differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.flow import Dtype
from augrecipes.sources.sample import Sample
from augrecipes.verify.contract import Metrics, SampleRef, run_plan
from augrecipes.verify.maps import F32, Map, Plane, Probe, RampProbe, certain, shrunk, values
from augrecipes.verify.variants import order

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
_SHRINKS = 2.0  # source px per output px
_TRUTH_SLACK = 0.1  # levels: positions of float32, weights of seven bits, and levels that round to either side
_REDUCED = 2.5  # levels of the waves that are lost at most where an image is reduced before it is warped
_MOST_LABELS_PX = 1.0  # of the source; albumentations' own nearest neighbour may be further
_CONSTANTS = ((94, 157, 61), (171, 52, 139))  # levels of images that are alike all over: no fill is likely to be both
_ROUNDED = 1.5 / 255  # what is left of such a level where nothing else is blended in

Mask = NDArray[np.bool_]
Add = Callable[..., None]  # `Metrics.add` of one target of one sample


class Geometry:
    """What moves pixels, of a recipe as it is written and of its plan.

    Args:
        two: the pipeline that counts, and the one that is checked.
        dtype: of the images that go in.
        origins: from each target that comes out to the one that it is made of.
        metrics: what is measured goes there.
    """

    def __init__(self, two: Sequence[Any], dtype: Dtype, origins: dict[str, str], metrics: Metrics) -> None:
        self._ramps, self._dtype, self._origins, self._metrics = RampProbe(two[0], dtype), dtype, origins, metrics
        self._both = [Probe(two[0], dtype, dtype), Probe(two[1], dtype, dtype, run_plan)]
        plain, fast = (order(pipeline, dtype) for pipeline in two)
        self._swapped = any((b, a) in fast for a, b in plain)

    def measure(self, given: Sample, place: SampleRef) -> NDArray[Any]:
        """Every law on one sample.

        Returns:
            the first target's image as the recipe's geometry leaves it.
        """
        maps = self._ramps.maps(given, place.epoch, self._origins)
        plain, fast = (probe.send(given, place.epoch, given.images) for probe in self._both)
        (shown, labels), (its_shown, its_labels) = (self._flat(probe, given, place) for probe in self._both)
        for name, where in maps.items():
            if self._swapped or fast[name].shape[:2] != where.x.shape:
                # Another step acts, or the same one on another image: nothing is where it was.
                self._metrics.add(name, "displacement", float("inf"), place, limit=MOST_APART_PX)
                continue
            hidden = int(shrunk(shown[name] ^ its_shown[name], where.smear()).sum())
            self._metrics.add(name, "hidden", float(hidden), place, limit=0.0)
            wanted, add = certain(where, its_shown[name]), partial(self._metrics.add, place=place)
            self._waves(name, where, wanted, partial(add, name), given, place.epoch)
            if labels:
                _add_labels(where, wanted, partial(add, "mask"), labels, its_labels)
        return plain[next(iter(maps))]

    def _flat(
        self, probe: Probe, given: Sample, place: SampleRef
    ) -> tuple[dict[str, NDArray[np.bool_]], list[NDArray[Any]]]:
        """By target where the image is seen and nothing beyond it, and what comes of masks of places."""
        shown: dict[str, Any] = {}
        masks = []
        for axis, levels in enumerate(_CONSTANTS):
            planes: list[Plane] = [partial(_constant, level) for level in levels]
            for name, made in probe.planes(given, place.epoch, planes, axis).items():
                for plane, level in zip(made, levels, strict=True):
                    shown[name] = shown.get(name, True) & (np.abs(plane - level / 255) < _ROUNDED)
            masks += [probe.done["mask"]] if "mask" in probe.done else []
        return shown, masks

    def _waves(self, name: str, where: Map, wanted: Mask, add: Add, given: Sample, epoch: int) -> None:
        """Waves: what the plan makes of them, held against the places, and how much of them is left.

        Of the latter the plan may lose no more than the recipe: the waves are known everywhere. Where much is shrunk, a
        plan that reduces first has the mean over each pixel's area.
        """
        share = float(wanted.mean())
        if not share:
            add("displacement", 0.0, limit=MOST_APART_PX, share=share)
            return
        grating, lost = Grating.of(where, levels=self._dtype == "uint8"), []
        for probe in self._both:
            made = probe.planes(given, epoch, grating.planes())[name]
            read = [values(plane) for plane in probe.sent[self._origins[name]]]
            lost.append(grating.lost(made, read, where, wanted))
        far = grating.distances(*grating.off(made, read, where), where, wanted)
        add("displacement", float(far.max()), limit=MOST_APART_PX, mean=float(far.mean()), share=share)
        its, mine = (one + _TRUTH_SLACK for one in lost)
        most = its + (_REDUCED if where.coarsest() >= _SHRINKS else 0.0)
        add("truth", mine / its, limit=(most + _TRUTH_SLACK) / its)


def _add_labels(where: Map, wanted: Mask, add: Add, plain: list[NDArray[Any]], fast: list[NDArray[Any]]) -> None:
    its, mine = (label_distance(masks, where, wanted) for masks in (plain, fast))
    # The nearest pixel of a coarse grid is further off.
    most = _MOST_LABELS_PX + sum(max(grid.scales[1] - 1, 0.0) for grid in where.grids[:-1])
    hidden = float(shrunk((plain[0] < 0) ^ (fast[0] < 0), where.smear()).sum())
    add("hidden", hidden, limit=0.0)
    add("nearest", mine, limit=max(most, its) + MOST_APART_PX)


def _constant(level: int, height: int, width: int) -> F32:
    return np.full((height, width), level / 255, np.float32)


def label_distance(masks: Sequence[NDArray[Any]], where: Map, seen: NDArray[np.bool_]) -> float:
    """How far masks of places took their pixels from where the image comes from: the largest, px of the source.

    Args:
        masks: what became of a `places_mask` of either axis, h×w.
        where: the image's map.
        seen: bool h×w, the pixels whose map can be trusted.
    """
    both = zip(masks, (where.x, where.y), strict=True)
    return max(float(np.abs(-1 - mask - along)[seen & (mask < 0)].max(initial=0.0)) for mask, along in both)


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

    def lost(self, made: Sequence[F32], read: Sequence[F32], where: Map, wanted: NDArray[np.bool_]) -> float:
        """How many levels of the waves' height are gone from an image, or too many; arguments as of `off`."""
        left = []
        for at in (0, _PHASES):
            known = _between(_wave(read[at:]), where)[wanted]
            left.append(np.vdot(known, _wave(made[at:])[wanted]).real / np.vdot(known, known).real)
        return float(255 * _HEIGHT * abs(1 - np.mean(left)))

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
            period, pixels = max(self.across, self.down), np.maximum(count[used] / finer**2, 1)
            off += _WEIGHTS + _ERRORS * of_pixel * period / (2 * np.pi) / np.sqrt(pixels)
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
