"""Coordinate ramps: pictures whose pixels say where they lie, so that what comes out says where it came from.

Bilinear sampling, averaging and cubic sampling are all exact on a ramp.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

MOST_APART_PX = 0.01
# What is beyond the picture shows by this value being gone: no fill is likely to be it.
MARK = np.float32(0.3701)
_MARK_ROUNDING = 2e-6
_PLANES = 3
_KINK = 0.01  # by how much of itself a map's slope changes from one px to the next, at a kink
_SHORTEST = 8  # px; rims are looked for in the outermost eighth of a side
_FLAT = 1e-3  # a map that shrinks an area below this has no inverse worth the name

Run = Callable[[dict[str, NDArray[Any]]], dict[str, Any]]
F32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Map:
    """Where each pixel of an output comes from.

    Attributes:
        x: float32 H×W, px of the source from its first pixel's centre.
        y: the same.
        shown: bool H×W, the picture is seen there, and nothing of what lies beyond it.
        height: of the source, px.
        width: of the source, px.
    """

    x: F32
    y: F32
    shown: NDArray[np.bool_]
    height: int
    width: int

    def slopes(self) -> tuple[F32, F32, F32, F32]:
        """Of x along columns and rows, and of y: source px per output px."""
        xv, xu = _gradient(self.x)
        yv, yu = _gradient(self.y)
        return xu, xv, yu, yv

    def scale(self) -> float:
        """Source px per output px: the middle one over what is shown; 1 where nothing is."""
        xu, xv, yu, yv = self.slopes()
        found = np.sqrt((xu**2 + xv**2 + yu**2 + yv**2) / 2)[self.shown]
        return float(np.median(found)) if found.size else 1.0

    def largest_scale(self, where: NDArray[np.bool_]) -> float:
        """The largest one, along the direction that shrinks most, over `where`."""
        xu, xv, yu, yv = (slope[where] for slope in self.slopes())
        squares, area = xu**2 + xv**2 + yu**2 + yv**2, xu * yv - xv * yu
        found = np.sqrt((squares + np.sqrt(np.maximum(squares**2 - 4 * area**2, 0))) / 2)
        return float(found.max()) if found.size else 1.0

    def inside(self) -> NDArray[np.bool_]:
        """Where the picture is shown, and not the last px before its edge, where borders begin."""
        margin = 2 + 2 * max(self.scale(), 1.0)
        x_ok = (self.x >= margin) & (self.x <= self.width - 1 - margin)
        y_ok = (self.y >= margin) & (self.y <= self.height - 1 - margin)
        return self.shown & x_ok & y_ok


def reach(scale: float) -> int:
    """How many output px an edge can smear over, where the output has 1/`scale` px per px of the source."""
    return 1 + ceil(max(1.0, 1.0 / max(scale, 1e-3)))


def planes(values: F32, channels: int) -> F32:
    """One plane as a picture H×W×C whose channels are all alike."""
    return np.repeat(values[..., None], channels, axis=2)


def map_of(run: Run, sizes: dict[str, tuple[int, int, int]], origins: dict[str, str]) -> dict[str, Map]:
    """Send ramps through a pipeline that only moves pixels.

    Args:
        run: from float32 pictures by target to what comes out of them, float32 H×W×C.
        sizes: height, width and channels of the pictures that go in.
        origins: from the target that comes out to the one that it is made of.
    """
    channels = min(size[2] for size in sizes.values())
    wanted = [_ramps(*size[:2]) for size in sizes.values()]
    out: dict[str, list[F32]] = {name: [] for name in origins}
    for start in range(0, _PLANES, channels):
        pictures = {
            name: np.ascontiguousarray(
                np.stack([ramps[min(start + c, _PLANES - 1)] for c in range(sizes[name][2])], axis=-1)
            )
            for name, ramps in zip(sizes, wanted, strict=True)
        }
        done = run(pictures)
        for name in origins:
            out[name] += [done[name][..., c] for c in range(min(channels, _PLANES - start))]
    maps = {}
    for name, (x, y, mark) in out.items():
        height, width, _ = sizes[origins[name]]
        longest = np.float32(max(height, width))
        shown = np.abs(mark - MARK) < _MARK_ROUNDING
        maps[name] = Map(x * longest, y * longest, shown, height, width)
    return maps


def _ramps(height: int, width: int) -> tuple[F32, F32, F32]:
    longest = np.float32(max(height, width))
    y, x = np.mgrid[:height, :width].astype(np.float32)
    return x / longest, y / longest, np.full((height, width), MARK)


@dataclass(frozen=True, slots=True)
class Apart:
    """How two maps differ.

    Attributes:
        largest: distance of the sources of one output pixel, in px of the output.
        mean: the same.
        share: of the output that could be compared: both show the picture there, off its edges.
        hidden: pixels, off all edges, where one shows the picture and the other does not.
        where: bool H×W, what was compared.
    """

    largest: float
    mean: float
    share: float
    hidden: int
    where: NDArray[np.bool_]


def compare(plain: Map, fast: Map) -> Apart:
    """How the maps of one output differ, `plain` being the one that counts."""
    mine, its = plain.inside(), fast.inside()
    smear = reach(plain.scale())
    both = shrunk(mine & its, smear) & ~_frame(plain, mine)
    odd = shrunk(mine ^ its, smear)
    if not both.any():
        return Apart(0.0, 0.0, 0.0, int(odd.sum()), both)
    xu, xv, yu, yv = (slope[both] for slope in plain.slopes())
    dx, dy = (fast.x - plain.x)[both], (fast.y - plain.y)[both]
    area = xu * yv - xv * yu
    turned = np.abs(area) > _FLAT * (xu**2 + xv**2 + yu**2 + yv**2)
    area = np.where(turned, area, 1)
    du, dv = (yv * dx - xv * dy) / area, (xu * dy - yu * dx) / area
    far = np.hypot(du, dv)[turned]
    if not far.size:
        return Apart(0.0, 0.0, 0.0, int(odd.sum()), both & False)
    return Apart(float(far.max()), float(far.mean()), float(both.mean()), int(odd.sum()), both)


def shrunk(where: NDArray[np.bool_], by: int) -> NDArray[np.bool_]:
    """What is further than `by` px from where it is False; the frame of the picture is no edge."""
    kernel = np.ones((2 * by + 1, 2 * by + 1), np.uint8)
    return np.asarray(cv2.erode(where.astype(np.uint8), kernel), bool)


def _frame(where: Map, inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The rim of an output in which a window's outermost px is repeated, because a step enlarged the window.

    There the map has a kink along a side of the output, where it has none elsewhere.
    """
    limit = _KINK * where.scale()
    frame = np.zeros((inside.shape[0], inside.shape[1]), np.bool_)
    for axis in (0, 1):
        length = inside.shape[axis]
        if length < _SHORTEST:
            continue
        bend = np.maximum(*(np.abs(np.diff(values, 2, axis=axis)) for values in (where.x, where.y)))
        seen = np.take(inside, range(1, length - 1), axis=axis)
        bent = np.sum((bend > limit) & seen, axis=1 - axis) > 0.5 * np.maximum(np.sum(seen, axis=1 - axis), 1)
        near = length // _SHORTEST
        before, after = np.flatnonzero(bent[:near]), np.flatnonzero(bent[::-1][:near])
        first = int(before[-1]) + 1 if before.size else 0
        last = length - (int(after[-1]) + 1 if after.size else 0)
        lines = np.ones(length, np.bool_)
        lines[first:last] = False
        frame |= lines[:, None] if axis == 0 else lines
    return frame


def _gradient(values: F32) -> tuple[F32, F32]:
    """Along rows and along columns; 0 along an axis of one px."""
    return _slope(values, 0), _slope(values, 1)


def _slope(values: F32, axis: int) -> F32:
    if values.shape[axis] < 2:
        return np.zeros_like(values)
    return np.asarray(np.gradient(values, axis=axis), np.float32)
