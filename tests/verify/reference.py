"""Where pixels come from, told another way: each step seen alone, and the steps' maps composed, never blended."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.plan.nodes import is_single, opened
from augrecipes.flow import Dtype
from augrecipes.sources.sample import Sample
from augrecipes.verify.apart import grown, seams
from augrecipes.verify.maps import Map, legs_of
from augrecipes.verify.probe import Probe
from augrecipes.verify.variants import moves_pixels

F64 = NDArray[np.float64]


def composed(
    plain: Any, tears: frozenset[str], given: Sample, dtype: Dtype
) -> list[tuple[F64, F64, NDArray[np.bool_]]]:
    """Of each stretch between steps that tear: x and y of the source, and where they are certain.

    A place between pixels of a step's input is interpolated in the map of the step before, in float64, and is not
    certain where that map has a kink, or shows a border.
    """
    every = frozenset(
        step.site
        for top in plain.compiled.plans[dtype].steps
        for step in opened(top)
        if is_single(step) and moves_pixels(step)
    )
    legs = legs_of(Probe(plain, dtype, every), given, 0, {"image": "image"})
    found, stretch = [], [_identity(*given.images["image"].shape[:2])]
    for leg, maps in legs:
        if not leg.alone:
            continue
        if leg.before in tears:
            found += [stretch, []]
            stretch = [_identity(*leg.images["image"].shape[:2])]
        else:
            stretch.append(maps["image"])
    return [_through(one) if one else _through([_identity(1, 1)]) for one in (*found, stretch)]


def _identity(height: int, width: int) -> Map:
    y, x = np.mgrid[:height, :width].astype(np.float32)
    return Map(x, y, np.ones((height, width), np.bool_), height, width)


def _through(maps: list[Map]) -> tuple[F64, F64, NDArray[np.bool_]]:
    last = maps[-1]
    x, y, sure = last.x.astype(np.float64), last.y.astype(np.float64), last.shown & ~grown(seams(last), 1)
    for before in reversed(maps[:-1]):
        trusted = before.shown & ~grown(seams(before), 1)
        height, width = before.x.shape
        if min(height, width) < 2:
            return x, y, sure & False
        sure &= (x >= 0) & (x <= width - 1) & (y >= 0) & (y <= height - 1)
        u, v = np.where(sure, x, 0.0), np.where(sure, y, 0.0)
        left, top = np.minimum(u.astype(int), width - 2), np.minimum(v.astype(int), height - 2)
        du, dv = u - left, v - top
        corners = [
            (top, left, (1 - dv) * (1 - du)), (top, left + 1, (1 - dv) * du),
            (top + 1, left, dv * (1 - du)), (top + 1, left + 1, dv * du),
        ]  # fmt: skip
        x, y = (sum(values[r, c].astype(np.float64) * w for r, c, w in corners) for values in (before.x, before.y))
        for r, c, _ in corners:
            sure &= trusted[r, c]
    return x, y, sure
