"""The laws of merged resampling, on one sample: where pixels come from, how near to the truth, what detail is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.flow import Dtype
from augrecipes.sources.sample import Sample
from augrecipes.verify.apart import MOST_APART_PX, Apart, compare, same
from augrecipes.verify.detail import MOST_SURVIVES, Wave, sweep
from augrecipes.verify.labels import MOST_BESIDE_PX, beside, beyond
from augrecipes.verify.maps import Map, legs_of
from augrecipes.verify.metrics import GOALS, Metrics, SampleRef
from augrecipes.verify.probe import Leg, Probe, tears
from augrecipes.verify.ramps import F32, planes
from augrecipes.verify.truth import Waves, integrated, rms

LOSS_FROM = 2.0  # source px per output px
_TRUTH_SLACK = 0.05  # levels: rounding of float32 positions and of cv2's weights
_LOSS_FLOOR = 0.5  # levels: rounding to uint8

Shape = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Seen:
    """One target on one leg: where its pixels come from as the recipe is written, and how the plan differs.

    `alone`: the leg is one step that both run as it is.
    """

    leg: int
    alone: bool
    name: str
    where: Map
    apart: Apart


class Geometry:
    """What moves pixels, of a recipe as it is written and of its plan.

    Args:
        plain: the pipeline that counts.
        fast: the one that is checked.
        dtype: whose plan is looked at.
        seed: decides the waves.
        origins: from each target that comes out to the one that it is made of.
        metrics: what is measured goes there.
    """

    def __init__(
        self, plain: Any, fast: Any, dtype: Dtype, seed: int, origins: dict[str, str], metrics: Metrics
    ) -> None:
        afresh = tears(plain, fast, dtype) if len(plain.outputs) == 1 else frozenset[str]()
        self.both = Probe(plain, dtype, afresh), Probe(fast, dtype, afresh)
        self.seed, self.origins, self.metrics = seed, origins, metrics

    def measure(self, given: Sample, place: SampleRef) -> NDArray[Any]:
        """Every law on one sample.

        Returns:
            the first target's picture as the recipe's geometry leaves it.
        """
        plain, fast = (legs_of(probe, given, place.epoch, self.origins) for probe in self.both)
        pictures = [probe.run(given, place.epoch, _real(given)) for probe in self.both]
        done = next(iter(pictures[0][-1].images.values()))
        if [_kind(leg) for leg, _ in plain] != [_kind(leg) for leg, _ in fast]:
            # Another step acts, or the same one on another size: nothing is where it was.
            self.metrics.add(next(iter(self.origins)), "displacement", float("inf"), place, limit=MOST_APART_PX)
            return done
        seen = [
            Seen(k, leg.alone, name, maps[name], (same if leg.alone else compare)(maps[name], fast[k][1][name]))
            for k, (leg, maps) in enumerate(plain)
            for name in maps
        ]
        for name in self.origins:
            mine = [one for one in seen if one.name == name]
            self._places(name, mine, place)
            certain = [one for one in mine if one.apart.where.any()]
            if certain:
                self._truth(name, certain, given, place)
                self._detail(name, certain, given, place)
                self._loss(name, certain, pictures, given, place)
        if "mask" in given.rest:
            self._mask([(one, plain[one.leg][0].mask, fast[one.leg][0].mask) for one in seen], place)
        return done

    def _places(self, name: str, seen: list[Seen], place: SampleRef) -> None:
        worst = max(seen, key=lambda one: one.apart.largest).apart
        self.metrics.add(
            name, "displacement", worst.largest, place, limit=MOST_APART_PX, mean=worst.mean,
            share=min(one.apart.share for one in seen),
        )  # fmt: skip
        self.metrics.add(name, "hidden", float(max(one.apart.hidden for one in seen)), place, limit=0.0)

    def _run(
        self, given: Sample, place: SampleRef, picture: Callable[[int, str, Shape], NDArray[Any]]
    ) -> list[list[Leg]]:
        return [probe.run(given, place.epoch, picture) for probe in self.both]

    def _truth(self, name: str, seen: list[Seen], given: Sample, place: SampleRef) -> None:
        """A picture that is known everywhere: the plan may be no further from it than the recipe.

        Where much is shrunk, the truth may also be the mean over each pixel's area: a plan that reduces first gives
        up the one for the other.
        """
        key = self.seed & 0xFFFFFFFF, place.index, place.epoch
        waves = {one.leg: Waves.for_scale(one.where.coarsest(), (*key, one.leg)) for one in seen}
        usual = Waves.for_scale(1.0, key)
        plain, fast = self._run(
            given, place, lambda leg, _, shape: planes(waves.get(leg, usual).picture(*shape[:2]), shape[2])
        )
        ratios, broken = [], False
        for one in seen:
            where, wanted, made = one.where, one.apart.where, waves[one.leg]
            mine, its = (legs[one.leg].images[name][..., 0] for legs in (fast, plain))
            if np.array_equal(mine, its):
                continue
            known = [made.at(where.x, where.y)]
            if where.coarsest() >= LOSS_FROM:
                known.append(made.over(where))
            further = [(255 * rms(mine, truth, wanted), 255 * rms(its, truth, wanted)) for truth in known]
            ratios.append(min((a + _TRUTH_SLACK) / (b + _TRUTH_SLACK) for a, b in further))
            broken = broken or all(not a <= b + _TRUTH_SLACK for a, b in further)
        self.metrics.add(name, "truth", max(ratios, default=1.0), place, limit=1.0, broken=broken)

    def _detail(self, name: str, seen: list[Seen], given: Sample, place: SampleRef) -> None:
        """Waves that a grid in between cannot show: the plan lets through no more of them than the recipe."""
        waves = {one.leg: sweep(one.where, one.apart.where) for one in seen}
        channels = next(iter(given.images.values())).shape[2]
        flat = [Wave(0.0, 0.0, 0.0)]
        more = []
        for start in range(0, max(map(len, waves.values())), channels):

            def picture(leg: int, _: str, shape: Shape, start: int = start) -> F32:
                made = waves.get(leg) or flat
                return np.dstack([made[min(start + c, len(made) - 1)].picture(*shape[:2]) for c in range(shape[2])])

            plain, fast = self._run(given, place, picture)
            for one in seen:
                for c, wave in enumerate(waves[one.leg][start : start + channels]):
                    pictures = (legs[one.leg].images[name][..., c] for legs in (fast, plain))
                    mine, its = (wave.left(shown, one.where, one.apart.where) for shown in pictures)
                    more.append(max(mine - max(its, wave.allowed), 0.0))
        if more:
            self.metrics.add(name, "detail", max(more), place, limit=MOST_SURVIVES)

    def _loss(self, name: str, seen: list[Seen], pictures: list[list[Leg]], given: Sample, place: SampleRef) -> None:
        """The real picture: how much further the plan is from its integral. A goal, not a promise."""
        losses, warned = [], False
        origin = self.origins[name]
        for one in seen:
            plain, fast = (legs[one.leg] for legs in pictures)
            if np.array_equal(plain.images[name], fast.images[name]):
                continue
            source = _real(given)(one.leg, origin, plain.shapes[origin])
            known = integrated(source, one.where, one.apart.where)
            full = 1 if source.dtype == np.uint8 else 255
            its, mine = (full * rms(leg.images[name], known, one.apart.where) for leg in (plain, fast))
            losses.append(max(mine, _LOSS_FLOOR) / max(its, _LOSS_FLOOR))
            warned = warned or (one.where.scale() >= LOSS_FROM and losses[-1] > GOALS["loss"])
        self.metrics.add(name, "loss", max(losses, default=1.0), place, warned=warned)

    def _mask(self, seen: list[tuple[Seen, Any, Any]], place: SampleRef) -> None:
        hidden, nearest, broken = 0, 0.0, False
        for one, plain, fast in seen:
            if one.alone and np.array_equal(plain, fast):
                continue
            hidden = max(hidden, beyond(plain, fast, one.where))
            its, mine = (beside(mask, one.where, one.apart.where) for mask in (plain, fast))
            nearest = max(nearest, mine)
            # The nearest pixel of a coarse grid is further off.
            most = MOST_BESIDE_PX + sum(max(grid.scales()[1] - 1, 0.0) for grid in one.where.grids[:-1])
            broken = broken or one.alone or not mine <= max(most, its) + MOST_APART_PX
        self.metrics.add("mask", "hidden", float(hidden), place, limit=0.0)
        self.metrics.add("mask", "nearest", nearest, place, limit=MOST_BESIDE_PX, broken=broken)


def _kind(leg: Leg) -> tuple[str, dict[str, Shape], dict[str, Shape]]:
    return leg.before, leg.shapes, {name: image.shape for name, image in leg.images.items()}


def _real(given: Sample) -> Callable[[int, str, Shape], NDArray[Any]]:
    """The sample's own pictures, made to fit where pictures begin afresh."""

    def picture(leg: int, name: str, shape: Shape) -> NDArray[Any]:
        del leg
        own = given.images[name]
        if own.shape == shape:
            return own
        size = shape[1::-1]
        return np.dstack([cv2.resize(np.ascontiguousarray(own[..., c]), size) for c in range(shape[2])])

    return picture
