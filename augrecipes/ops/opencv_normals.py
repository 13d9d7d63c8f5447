"""How cv2.randn makes normal numbers of words: what the kernels make Gaussian noise by."""

from __future__ import annotations

import ctypes
import math
from functools import cache

import numpy as np

from augrecipes.compat.albumentations import pixel
from augrecipes.native.kernels import Library


@cache
def addresses() -> tuple[int, ...] | None:
    """Where the tables of `ziggurat_strips` lie, and `logf` and `exp` of the C library, for numbers that are far out.

    None on a system without such a C library.
    """
    try:
        python = ctypes.CDLL(None)  # is linked with it
        functions = [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in (python.logf, python.exp)]
    except (AttributeError, TypeError, OSError):
        return None
    return (*(table.ctypes.data for table in ziggurat_strips()), *functions)


@cache
def same_bits(kernels: Library) -> bool:
    """Whether the kernel draws the numbers of the installed OpenCV: asked once a process."""
    made = np.empty((61, 67, 3), np.float32)
    for number in range(6):
        mean, deviation = number / 9 - 0.3, number / 3
        ranges = {"mean_range": (mean, mean), "std_range": (deviation, deviation)}
        ours, theirs = np.random.default_rng(number), np.random.default_rng(number)
        expected = pixel.generate_noise("gaussian", "per_pixel", made.shape, ranges, 255, 1.0, theirs)
        limits, seed = (float(np.float32(one)) for one in (mean, deviation)), int(ours.integers(0, 2**16))
        kernels.kernel("normal", "lpppppddfpl")(seed, *(addresses() or ()), *limits, 255, made.ctypes.data, made.size)
        if not np.array_equal(made, expected):
            return False
    return True


@cache
def ziggurat_strips() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The 128 strips of one area under a normal density: bounds of words, widths and heights (Marsaglia, Tsang 2000).

    >>> [table.shape for table in ziggurat_strips()]
    [(128,), (128,), (128,)]
    """
    bounds, widths, heights = np.zeros(128, np.uint32), np.ones(128, np.float32), np.ones(128, np.float32)
    words, edge, area = 2.0**31, 3.442619855899, 9.91256303526217e-3
    widths[127], heights[127] = edge / words, math.exp(-0.5 * edge * edge)
    base = area / math.exp(-0.5 * edge * edge)
    bounds[0], widths[0] = int(edge / base * words), base / words
    for k in range(126, 0, -1):
        outer, edge = edge, math.sqrt(-2.0 * math.log(area / edge + math.exp(-0.5 * edge * edge)))
        bounds[k + 1], widths[k], heights[k] = int(edge / outer * words), edge / words, math.exp(-0.5 * edge * edge)
    return bounds, widths, heights
