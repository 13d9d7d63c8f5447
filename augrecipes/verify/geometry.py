"""The laws of merged resampling, on one sample: where pixels come from, and how near the result is to the truth.

Where they come from in the recipe as it is written is told by float32 ramps. What its plan makes is measured from
outside, on images of the dtype that it is for, as samples are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.flow import Dtype
from augrecipes.sources.sample import Sample
from augrecipes.verify.contract import Metrics, SampleRef, Two
from augrecipes.verify.maps import F32, Map, Plane, Probe, RampProbe, certain, shrunk, values
from augrecipes.verify.variants import order
from augrecipes.verify.waves import MOST_APART_PX, Grating, Waves, rms

_SHRINKS = 2.0  # source px per output px
_TRUTH_SLACK = 0.1  # levels: positions of float32, weights of seven bits, and levels that round to either side
_MOST_LABELS_PX = 1.0  # of the source; albumentations' own nearest neighbour may be further
_CONSTANTS = ((94, 157, 61), (171, 52, 139))  # levels of images that are alike all over: no fill is likely to be both
_ROUNDED = 1.5 / 255  # what is left of such a level where nothing else is blended in


@dataclass(frozen=True, slots=True)
class Seen:
    """One target of a sample: where its pixels come from as the recipe is written, and where that is certain."""

    name: str
    where: Map
    wanted: NDArray[np.bool_]
    given: Sample
    place: SampleRef


class Geometry:
    """What moves pixels, of a recipe as it is written and of its plan.

    Args:
        two: the pipeline that counts, and the one that is checked.
        dtype: of the images that go in.
        seed: decides the waves.
        origins: from each target that comes out to the one that it is made of.
        metrics: what is measured goes there.
    """

    def __init__(self, two: Two, dtype: Dtype, seed: int, origins: dict[str, str], metrics: Metrics) -> None:
        self._ramps = RampProbe(two.plain, dtype)
        self._both = [Probe(pipeline, dtype, dtype) for pipeline in two]
        plain, fast = (order(pipeline, dtype) for pipeline in two)
        self._swapped = any((b, a) in fast for a, b in plain)
        self._dtype, self._seed, self._origins, self._metrics = dtype, seed, origins, metrics

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
            seen = Seen(name, where, certain(where, its_shown[name]), given, place)
            self._displacement(seen)
            if seen.wanted.any():
                self._truth(seen)
            if labels:
                self._mask(seen, labels, its_labels)
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

    def _sent(self, probe: Probe, seen: Seen, planes: Sequence[Plane]) -> list[F32]:
        return probe.planes(seen.given, seen.place.epoch, planes)[seen.name]

    def _displacement(self, seen: Seen) -> None:
        """Waves: what the plan makes of them, held against the places."""
        far, probe = np.zeros(1), self._both[1]
        if seen.wanted.any():
            grating = Grating.of(seen.where, levels=self._dtype == "uint8")
            made = self._sent(probe, seen, grating.planes())
            read = [values(plane) for plane in probe.sent[self._origins[seen.name]]]
            off = grating.off(made, read, seen.where)
            far = grating.distances(*off, seen.where, seen.wanted)
        self._metrics.add(
            seen.name, "displacement", float(far.max()), seen.place, limit=MOST_APART_PX, mean=float(far.mean()),
            share=float(seen.wanted.mean()),
        )  # fmt: skip

    def _truth(self, seen: Seen) -> None:
        """An image that is known everywhere: the plan may be no further from it than the recipe.

        Where much is shrunk, the truth may also be the mean over each pixel's area: a plan that reduces first gives
        up the one for the other.
        """
        where, place = seen.where, seen.place
        waves = Waves.for_scale(where.coarsest(), (self._seed & 0xFFFFFFFF, place.index, place.epoch))
        its, mine = (self._sent(probe, seen, [waves.image])[0] for probe in self._both)
        ratio, broken = 1.0, False
        if not np.array_equal(mine, its):
            known = [waves.at(where.x, where.y)]
            if where.coarsest() >= _SHRINKS:
                known.append(waves.over(where))
            further = [(255 * rms(mine, truth, seen.wanted), 255 * rms(its, truth, seen.wanted)) for truth in known]
            ratio = min((a + _TRUTH_SLACK) / (b + _TRUTH_SLACK) for a, b in further)
            broken = all(not a <= b + _TRUTH_SLACK for a, b in further)
        self._metrics.add(seen.name, "truth", ratio, place, limit=1.0, broken=broken)

    def _mask(self, seen: Seen, plain: list[NDArray[Any]], fast: list[NDArray[Any]]) -> None:
        its, mine = (label_distance(masks, seen.where, seen.wanted) for masks in (plain, fast))
        # The nearest pixel of a coarse grid is further off.
        most = _MOST_LABELS_PX + sum(max(grid.scales[1] - 1, 0.0) for grid in seen.where.grids[:-1])
        hidden = float(shrunk((plain[0] < 0) ^ (fast[0] < 0), seen.where.smear()).sum())
        broken = not mine <= max(most, its) + MOST_APART_PX
        self._metrics.add("mask", "hidden", hidden, seen.place, limit=0.0)
        self._metrics.add("mask", "nearest", mine, seen.place, limit=_MOST_LABELS_PX, broken=broken)


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
