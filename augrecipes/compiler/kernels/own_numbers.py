"""Random numbers by counting: number i of a key is a hash of both, so a sample's noise is told by 64 bits.

Words come of three rounds of shift and multiply; a number is looked up by its word, in pieces of a straight line that
are 64 to each doubling of how often the distribution goes as far out. All of it is arithmetic of whole numbers, and of
single floats in a fixed order: the native kernels make the same bits on every instruction set, and so does numpy, which
defines them here and stands in where there are no kernels.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from augrecipes.native.kernels import Library

Distribution = Literal["gaussian", "uniform", "laplace"]
DISTRIBUTIONS: tuple[Distribution, ...] = ("gaussian", "uniform", "laplace")
MOST = 2**32  # numbers of one key
_PIECES = 64  # of a doubling
_SOME = 1 << 14  # numbers that numpy makes at once: they stay in the cache
_SHIFT, _FIRST = 23 - 6, 0x3F000000 >> (23 - 6)  # from the bits of a float to its piece


def words(key: int, first: int, count: int) -> NDArray[np.uint32]:
    """Random words of 32 bits, from number `first` of a key of 64 bits on."""
    one, two = key & 0xFFFFFFFF, key >> 32
    at = np.arange(first + one, first + one + count, dtype=np.uint64).astype(np.uint32)
    at ^= np.uint32(two >> 16 | (two & 0xFFFF) << 16)
    at ^= at >> np.uint32(17)
    at *= np.uint32(0xED5AD4BB)
    at ^= at >> np.uint32(11)
    at += np.uint32(two)
    at *= np.uint32(0xAC4C1B51)
    at ^= at >> np.uint32(15)
    at *= np.uint32(0x31848BAB)
    at ^= at >> np.uint32(14)
    return at


def numbers(key: int, count: int, distribution: Distribution, first: int = 0) -> NDArray[np.float32]:
    """Numbers of a distribution, centred at 0 and of scale 1: see `quantile`.

    >>> made = numbers(7, 10000, "gaussian")
    >>> bool(abs(made.mean()) < 0.03), bool(abs(made.std() - 1) < 0.03)
    (True, True)
    """
    word, table = words(key, first, count), _columns(distribution)
    size = (word >> np.uint32(1)).astype(np.int32).astype(np.float32)
    size += np.float32(0.5)
    piece = (size.view(np.uint32) >> np.uint32(_SHIFT)).astype(np.intp)
    piece -= _FIRST
    made = table[1].take(piece)
    made *= size
    made += table[0].take(piece)
    bits = made.view(np.uint32)
    bits ^= word << np.uint32(31)
    return made


def numbers_by(
    kernels: Library | None, key: int, count: int, distribution: Distribution, mean: float, deviation: float
) -> NDArray[np.float32]:
    """Numbers times a deviation plus a mean, by native kernels, or without them; the same bits."""
    out = np.empty(count, np.float32)
    if kernels is None:
        for first in range(0, count, _SOME):
            made = numbers(key, min(_SOME, count - first), distribution, first)
            made *= np.float32(deviation)
            np.add(made, np.float32(mean), out=out[first : first + len(made)])
        return out
    works = kernel(kernels, "own_numbers", "lpffpl")
    works(signed(key), pieces(distribution).ctypes.data, mean, deviation, out.ctypes.data, count)
    return out


@cache
def kernel(kernels: Library, name: str, arguments: str) -> Callable[..., int]:
    """A native kernel, looked up once."""
    return kernels.kernel(name, arguments)


def signed(key: int) -> int:
    """64 bits as C hands them over."""
    return ctypes.c_int64(key).value


@cache
def pieces(distribution: Distribution) -> NDArray[np.float32]:
    """Start and slope of each piece: size → start + slope · size, where numbers as far out as this, either way, come
    size / 2³¹ of the time. The last is for a size of 2³¹, to which the largest are rounded.

    >>> pieces("gaussian").shape
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


@cache
def _columns(distribution: Distribution) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Starts and slopes, each side by side."""
    starts, slopes = pieces(distribution).T
    return np.ascontiguousarray(starts), np.ascontiguousarray(slopes)


def quantile(distribution: Distribution, share: float) -> float:
    """How far out the outermost share of a distribution begins, on either side: of deviation 1 (gaussian), of scale 1
    (laplace), or between −1 and 1 (uniform).

    >>> round(quantile("gaussian", 0.05), 2), quantile("uniform", 0.5), quantile("laplace", 1.0)
    (1.96, 0.5, 0.0)
    """
    if distribution == "uniform":
        return 1.0 - share
    return 0.0 - math.log(share) if distribution == "laplace" else abs(NormalDist().inv_cdf(share / 2))
