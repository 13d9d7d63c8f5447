"""The native blur has the bits of OpenCV's, and touches nothing beside its arrays."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from examples import DEAR
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt, spoil_first

NATIVE = [kernels for kernels in KERNEL_SETS if kernels is not None]


def check(kernels: Any, image: np.ndarray, side: int, at_end: bool) -> bool:
    """Whether the kernel takes it; of what it takes all levels are OpenCV's."""
    rows, columns, channels = image.shape
    source, out = guarded(image, at_end), guarded(np.zeros_like(image), at_end)
    room = guarded(np.zeros((columns + side) * channels, np.uint16), at_end)
    kernel = kernels.kernel("blur", "pllllpp")
    if kernel(source.ctypes.data, rows, columns, channels, side, room.ctypes.data, out.ctypes.data):
        assert not out.any()
        return False
    np.testing.assert_array_equal(out, cv2.blur(image, (side, side)).reshape(image.shape))
    np.testing.assert_array_equal(source, image)
    return True


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_levels_are_those_of_opencv(kernels: Any) -> None:
    @DEAR
    @given(
        st.integers(0, 2**32),
        st.integers(1, 70),
        st.integers(1, 70),
        st.integers(1, 4),
        st.integers(0, 8),
        st.booleans(),
    )
    def law(seed: int, rows: int, columns: int, channels: int, far: int, at_end: bool) -> None:
        rng = np.random.default_rng(seed)
        image = rng.integers(0, 256, (rows, columns, channels), np.uint8)
        if seed % 3 == 0:
            image = np.where(image > 127, np.uint8(255), np.uint8(0))
        assert check(kernels, image, 2 * far + 1, at_end) == (far <= 7 and min(rows, columns) > far)

    law()


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_every_mean_is_rounded_as_opencv_rounds(kernels: Any) -> None:
    for side in range(3, 16, 2):
        levels = np.arange(side * side * 255 + 1) // (side * side)
        for whole in np.unique(levels):  # squares of one level, but for some of their pixels
            image = np.full((side + 2, 4 * side, 1), whole, np.uint8)
            image[:, ::2] += np.uint8(whole < 255)
            assert check(kernels, image, side, True)


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_a_planted_fault_is_found(kernels: Any) -> None:
    image = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
    with pytest.raises(AssertionError):
        check(Spoilt(kernels, 6, spoil_first), image, 5, False)


def check_streak(kernels: Any, image: np.ndarray, places: np.ndarray, far: int, at_end: bool) -> bool:
    """The same of means along a line: `places` are rows and columns from the middle."""
    rows, columns, channels = image.shape
    source, out = guarded(image, at_end), guarded(np.zeros_like(image), at_end)
    room = guarded(np.zeros((2 * far + 1) * (columns + 2 * far) * channels, np.uint8), at_end)
    held = guarded(places.astype(np.int32), at_end)
    kernel = kernels.kernel("streak", "pllllplpp")
    answer = kernel(
        source.ctypes.data, rows, columns, channels, len(places), held.ctypes.data, far, room.ctypes.data,
        out.ctypes.data,
    )  # fmt: skip
    if answer:
        assert not out.any()
        return False
    weights = np.zeros((2 * far + 1, 2 * far + 1), np.float32)
    weights[tuple((places + far).T)] = np.float32(1) / np.float32(len(places))
    np.testing.assert_array_equal(out, cv2.filter2D(image, -1, weights).reshape(image.shape))
    return True


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_levels_along_lines_are_those_of_opencv(kernels: Any) -> None:
    @DEAR
    @given(
        st.integers(0, 2**32),
        st.integers(1, 70),
        st.integers(1, 70),
        st.integers(1, 4),
        st.integers(1, 4),
        st.booleans(),
    )
    def law(seed: int, rows: int, columns: int, channels: int, far: int, at_end: bool) -> None:
        rng = np.random.default_rng(seed)
        image = rng.integers(0, 256, (rows, columns, channels), np.uint8)
        pixels = int(rng.integers(1, 2 * far + 2))
        every = np.argwhere(np.ones((2 * far + 1, 2 * far + 1))) - far
        places = every[np.sort(rng.choice(len(every), pixels, replace=False))]
        assert check_streak(kernels, image, places, far, at_end) == (pixels in (1, 2, 3, 4, 5, 7, 8, 9))

    law()


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_a_planted_fault_in_lines_is_found(kernels: Any) -> None:
    image = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
    with pytest.raises(AssertionError):
        check_streak(Spoilt(kernels, 8, spoil_first), image, np.array([(0, -1), (0, 0), (1, 1)]), 1, False)
