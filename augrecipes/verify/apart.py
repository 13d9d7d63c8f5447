"""Two maps of one output compared, wherever both are certain: off borders, folds and repeated edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.verify.maps import Map
from augrecipes.verify.ramps import F32

MOST_APART_PX = 0.01
_KINK = 0.002  # px of the output: by how much a map bends from one px to the next, at a seam
_ROUNDING = 2.0**-21  # of a picture's side: what float32 leaves of a bend
_FLAT = 1e-3  # a map that shrinks an area below this has no inverse worth the name


@dataclass(frozen=True, slots=True)
class Apart:
    """How two maps differ.

    Attributes:
        largest: distance of the sources of one output pixel, in px of the output.
        mean: the same.
        share: of the output that could be compared: both show the picture there, off its edges and off all seams.
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
    margin, smear = 1 + plain.spread() + plain.scale(), plain.smear()
    mine, its = plain.inside(margin), fast.inside(margin)
    off = ~grown(seams(plain), smear)
    hidden = int((shrunk(mine ^ its, smear)).sum())
    where = shrunk(mine & its, smear) & off
    xu, xv, yu, yv = (slope.astype(np.float64) for slope in plain.slopes())
    area = xu * yv - xv * yu
    where &= np.abs(area) > _FLAT * (xu**2 + xv**2 + yu**2 + yv**2)
    if not where.any():
        return Apart(0.0, 0.0, 0.0, hidden, where)
    xu, xv, yu, yv, area = (part[where] for part in (xu, xv, yu, yv, area))
    dx, dy = (fast.x - plain.x)[where], (fast.y - plain.y)[where]
    far = np.hypot((yv * dx - xv * dy) / area, (xu * dy - yu * dx) / area)
    return Apart(float(far.max()), float(far.mean()), float(where.mean()), hidden, where)


def same(plain: Map, fast: Map) -> Apart:
    """The same of a step that both run as it is, whose maps are alike to the bit; it is no place to look closer at."""
    largest = float(np.hypot(fast.x - plain.x, fast.y - plain.y).max())
    nowhere = np.zeros(plain.x.shape, np.bool_)
    return Apart(largest, largest, 1.0, int((plain.shown ^ fast.shown).sum()), nowhere)


def seams(where: Map) -> NDArray[np.bool_]:
    """Where a map has a kink: it folds at a border, or a step has repeated an edge.

    A smooth map, of a perspective say, bends as much two px further; at a kink it does not.
    """
    limit = max(_KINK * where.scales()[0], _ROUNDING * max(where.height, where.width))
    found = np.zeros(where.x.shape, np.bool_)
    for axis in (0, 1):
        if where.x.shape[axis] > 2:
            for values in (where.x, where.y):
                found |= _kinks(values, axis) > limit
    return found


def _kinks(values: F32, axis: int) -> F32:
    """By how much more a map bends at each px than two px before and behind."""
    bend = np.diff(values, 2, axis=axis)
    ends = [(0, 0), (0, 0)]
    ends[axis] = (2, 2)
    padded = np.pad(bend, ends, mode="edge")
    count = bend.shape[axis]
    before, behind = (np.take(padded, range(start, start + count), axis=axis) for start in (0, 4))
    ends[axis] = (1, 1)
    return np.asarray(np.pad(np.abs(bend - (before + behind) / 2), ends), np.float32)


def shrunk(where: NDArray[np.bool_], by: int) -> NDArray[np.bool_]:
    """What is further than `by` px from where it is False; the frame of the picture is no edge."""
    return np.asarray(cv2.erode(where.astype(np.uint8), _square(by)), bool)


def grown(where: NDArray[np.bool_], by: int) -> NDArray[np.bool_]:
    """What is at most `by` px from where it is True."""
    return np.asarray(cv2.dilate(where.astype(np.uint8), _square(by)), bool)


def _square(by: int) -> NDArray[Any]:
    return np.ones((2 * by + 1, 2 * by + 1), np.uint8)
