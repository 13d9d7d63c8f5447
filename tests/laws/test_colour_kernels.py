"""Kernels that change colours give the same bits on every instruction set, and touch nothing beside their arrays."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from guarded import guarded
from kernel_sets import KERNEL_SETS, Spoilt, spoil_first

NATIVE = [kernels for kernels in KERNEL_SETS if kernels is not None]
ON_EACH = pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
WEIGHTS = np.linspace(-1.3, 2, 9, dtype=np.float32)
LANES = 32
# Of each kernel its arguments between a picture and its result, and how many of these are the picture's shape.
KERNELS: dict[str, tuple[str, int, Any]] = {
    "hsv": ("lliiili", 2, lambda fused: (7, -9, 4, LANES, fused)),
    "saturate": ("lffi", 0, lambda fused: (1.37, -0.37, fused)),
    "filter": ("lllpi", 3, lambda fused: (WEIGHTS.ctypes.data, fused)),
    "grey": ("l", 0, lambda _: ()),
}
SIZES = [(1, 1), (1, 15), (3, 17), (2, 31), (2, 33), (1, 255), (1, 256), (1, 257), (5, 70), (0, 5)]


def made(kernels: Any, name: str, image: np.ndarray, fused: int, out: np.ndarray) -> np.ndarray:
    """What a kernel makes of a picture."""
    kinds, sides, arguments = KERNELS[name]
    shape = image.shape[:sides] if sides else (image.size // 3,)
    kernel = kernels.kernel(name, f"p{kinds}p")
    assert kernel(image.ctypes.data, *shape, *arguments(fused), out.ctypes.data) == 0
    return out


def total(kernels: Any, image: np.ndarray) -> int:
    """The luma of all pixels."""
    sums = np.zeros(1, np.int64)
    assert kernels.kernel("luma_sum", "plp")(image.ctypes.data, image.size // 3, sums.ctypes.data) == 0
    return int(sums[0])


def cube() -> np.ndarray:
    """Colours all over the cube, 150×150×3."""
    some = np.arange(0, 1 << 24, 641, dtype=np.uint32)[:22500]
    return np.stack([some >> 16, some >> 8 & 255, some & 255], axis=-1).astype(np.uint8).reshape(150, 150, 3)


def check_alike(kernels: Any, name: str) -> None:
    """Holds them to the first; also where OpenCV takes other steps on another processor."""
    image = cube()
    for fused in (0, 1):
        one, other = (made(each, name, image, fused, np.empty_like(image)) for each in (NATIVE[0], kernels))
        np.testing.assert_array_equal(one, other)


@ON_EACH
@pytest.mark.parametrize("name", KERNELS)
def test_every_level_gives_the_same_bits(kernels: Any, name: str) -> None:
    check_alike(kernels, name)
    with pytest.raises(AssertionError):
        check_alike(Spoilt(kernels, len(KERNELS[name][0]) + 1, spoil_first), name)


@ON_EACH
def test_luma_is_that_of_opencv(kernels: Any) -> None:
    expected = int(cv2.cvtColor(cube(), cv2.COLOR_RGB2GRAY).sum())
    assert total(kernels, cube()) == expected
    assert total(Spoilt(kernels, 2, spoil_first), cube()) != expected


@ON_EACH
@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_nothing_is_read_or_written_beside_the_arrays(kernels: Any, at_end: bool, name: str) -> None:
    for size in SIZES:
        image = np.random.default_rng(0).integers(0, 256, (*size, 3), np.uint8)
        held, out = guarded(image, at_end), guarded(np.zeros_like(image), at_end)
        assert total(kernels, held) == total(kernels, image)
        expected = made(kernels, name, image, 0, np.empty_like(image))
        np.testing.assert_array_equal(made(kernels, name, held, 0, out), expected)
