"""Where the map of an output is certain: off borders, folds and repeated edges, where several resamplings blur what one
leaves sharp."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from augrecipes.verify.maps import F32, Map, grown, shrunk

_KINK = 0.002  # px of the output: by how much a map bends from one px to the next, at a seam
_ROUNDING = 2.0**-21  # of a picture's side: what float32 leaves of a bend
_FLAT = 1e-3  # a map that shrinks an area below this has no inverse worth the name


def certain(where: Map, shown: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """What can be compared, bool H×W: both show the picture there, off its edges and off all seams.

    Args:
        where: of the output that counts.
        shown: bool H×W, where the other one shows the picture.
    """
    smear = where.smear()
    inside = where.inside(1 + where.spread() + where.scales[1])
    found = shrunk(inside & shown, smear) & ~grown(seams(where), smear)
    xu, xv, yu, yv = where.slopes.astype(np.float64)
    return found & (np.abs(xu * yv - xv * yu) > _FLAT * (xu**2 + xv**2 + yu**2 + yv**2))


def seams(where: Map) -> NDArray[np.bool_]:
    """Where a map has a kink: it folds at a border, or a step has repeated an edge.

    A smooth map, of a perspective say, bends as much two px further; at a kink it does not.
    """
    limit = max(_KINK * where.scales[0], _ROUNDING * max(where.height, where.width))
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
