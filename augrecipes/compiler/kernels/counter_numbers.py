"""Random numbers by counting: number i of a key is a hash of both, so a sample's noise is told by 64 bits.

Words come of two rounds of shift and multiply. Two normal numbers are made of each (native/normals.h); one of another
distribution is looked up in pieces of a straight line, 64 to each doubling of how often the distribution goes as far
out. All is arithmetic of whole numbers, and of single floats in a fixed order: kernels make the same bits on every
instruction set (native/counters.h).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from augrecipes.native.kernels import Library

Distribution = Literal["gaussian", "uniform", "laplace"]
DISTRIBUTIONS: tuple[Distribution, ...] = ("gaussian", "uniform", "laplace")
MOST = 2**32  # numbers of one key
_PIECES = 64  # of a doubling


def numbers_by(
    kernels: Library, key: int, count: int, distribution: Distribution, mean: float, deviation: float
) -> NDArray[np.float32]:
    """Numbers of a distribution that is centred at 0 and of scale 1, times a deviation plus a mean.

    >>> from augrecipes.native.kernels import library
    >>> made = numbers_by(library(), 7, 10000, "gaussian", 0.0, 1.0)
    >>> bool(abs(made.mean()) < 0.03), bool(abs(made.std() - 1) < 0.03)
    (True, True)
    """
    out = np.empty(count, np.float32)
    works = kernels.kernel("counter_numbers", "lpffpl")
    works(key, places(distribution), mean, deviation, out.ctypes.data, count)
    return out


def places(distribution: Distribution) -> int:
    """Where kernels find its pieces; 0 for normal numbers, which are made without any (native/normals.h)."""
    return 0 if distribution == "gaussian" else pieces(distribution).ctypes.data


@cache
def pieces(distribution: Distribution) -> NDArray[np.float32]:
    """Start and slope of each piece: size → start + slope · size, where numbers as far out as this, either way, come
    size / 2³¹ of the time. The last is for a size of 2³¹, to which the largest are rounded.

    >>> pieces("laplace").shape
    (2049, 2)
    """
    made = []
    for octave in range(-1, 31):
        edges = [2.0**octave * (1 + k / _PIECES) for k in range(_PIECES + 1)]
        levels = [quantile(distribution, edge / 2**31) for edge in edges]
        for k in range(_PIECES):
            slope = (levels[k + 1] - levels[k]) / (edges[k + 1] - edges[k])
            made.append((levels[k] - slope * edges[k], slope))
    table: Any = np.array([*made, (0.0, 0.0)], np.float32)
    table.setflags(write=False)
    return np.asarray(table)


def quantile(distribution: Distribution, share: float) -> float:
    """How far out the outermost share of a distribution begins, on either side: of scale 1 (laplace), or between −1 and
    1 (uniform).

    >>> quantile("uniform", 0.5), quantile("laplace", 1.0)
    (0.5, 0.0)
    """
    return 1.0 - share if distribution == "uniform" else 0.0 - math.log(share)
