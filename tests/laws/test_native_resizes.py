"""A native resize gives the bits of the installed OpenCV, with every instruction set, or leaves it the work."""

from __future__ import annotations

from typing import Any

import albumentations.augmentations.geometric.functional as geometric
import cv2
import numpy as np
import pytest
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt, spoil_first, spoil_last

from augrecipes.compiler.kernels import resize_native
from augrecipes.compiler.kernels.resize_native import NativeResize
from augrecipes.native.kernels import Library
from augrecipes.ops.warps import AREA, LINEAR

HOWS = (LINEAR, AREA)
NATIVE = [k for k in KERNEL_SETS if k is not None and all(resize_native.agrees(NativeResize(k), how) for how in HOWS)]
QUICK = [k for k in NATIVE if k.isa != "base"]
SIDES = st.integers(1, 70)


def picture(height: int, width: int, channels: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)


def check(native: NativeResize, image: np.ndarray, size: tuple[int, int], how: int = LINEAR) -> None:
    if how == AREA:
        size = min(size[0], image.shape[0]), min(size[1], image.shape[1])
        if image.shape[0] % size[0] == image.shape[1] % size[1] == 0:
            return  # OpenCV has another way
    found = native.forced(image, size, how)
    assert found is not None
    np.testing.assert_array_equal(found, cv2.resize(image, size[::-1], interpolation=how))


@pytest.mark.skipif(not NATIVE, reason="no native kernel gives this OpenCV's bits")
@given(
    st.sampled_from(NATIVE or [None]), SIDES, SIDES, SIDES, SIDES, st.sampled_from([3, 4]), st.integers(0, 99),
    st.sampled_from(["whole", "window"]), st.sampled_from(HOWS),
)  # fmt: skip
def test_the_bits_are_those_of_opencv(
    kernels: Library, h: int, w: int, height: int, width: int, channels: int, seed: int, lies: str, how: int
) -> None:
    image = picture(h, w, channels, seed)
    if lies == "window":
        image = np.pad(image, ((1, 1), (2, 3), (0, 0)), constant_values=255)[1:-1, 2:-3]
    check(NativeResize(kernels), image, (height, width), how)


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_large_and_long_pictures(kernels: Library) -> None:
    for shape, size in (((3, 16384, 3), (5, 9000)), ((16384, 2, 4), (300, 3)), ((2, 5, 3), (3, 16384))):
        check(NativeResize(kernels), picture(*shape), size)
        check(NativeResize(kernels), picture(*shape), size, AREA)


@pytest.mark.parametrize("kernels", QUICK, ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_the_functions_are_albumentations_own(kernels: Library, dtype: Any) -> None:
    native = NativeResize(kernels)
    for channels in (1, 2, 3, 4, 5):
        image = picture(20, 31, channels).astype(dtype)
        for sampling in (cv2.INTER_LINEAR, cv2.INTER_NEAREST, cv2.INTER_CUBIC, cv2.INTER_AREA):
            for size in ((20, 31), (10, 31), (33, 50), (7, 9)):
                expected = geometric.resize(image, size, sampling)
                np.testing.assert_array_equal(native.resize(image, size, sampling), expected)
            for factor in (0.5, 0.7, 1.0, 1.9):
                expected = geometric.scale(image, factor, sampling)
                np.testing.assert_array_equal(native.scale(image, factor, sampling), expected)
    assert native.resize(image, (20, 31), cv2.INTER_LINEAR) is image
    assert native.resized(picture(20, 31, 3), (33, 50), LINEAR) is not None
    assert native.resized(picture(20, 31, 3), (7, 9), AREA) is not None


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_a_size_without_pixels_is_refused(kernels: Library) -> None:
    for size in ((0, 5), (5, 0), (-1, 5)):
        for how in HOWS:
            assert NativeResize(kernels).forced(picture(9, 9, 3), size, how) is None
    for size in ((10, 9), (9, 10)):
        assert NativeResize(kernels).forced(picture(9, 9, 3), size, AREA) is None


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_is_read_or_written_beside_the_pictures(kernels: Library, at_end: bool) -> None:
    for h, w in [(1, 1), (1, 2), (2, 1), (3, 3), (1, 7), (5, 64), (33, 17)]:
        for channels in (3, 4):
            for size in ((h, 2 * w), (h + 3, w + 5), (1, 1), (70, 9)):
                image = guarded(picture(h, w, channels), at_end)
                room = guarded(np.zeros((*size, channels), np.uint8), at_end)
                assert NativeResize(kernels).forced(image, size, LINEAR, room) is room
                np.testing.assert_array_equal(room, cv2.resize(image, size[::-1]))
            for size in ((max(h - 1, 1), w), (h, w // 2 + 1), (h // 3 + 1, w // 2 + 1)):
                room = guarded(np.zeros((*size, channels), np.uint8), at_end)
                assert NativeResize(kernels).forced(image, size, AREA, room) is room


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_a_kernel_that_is_one_bit_off_is_seen(kernels: Library) -> None:
    for spoil in (spoil_first, spoil_last):
        spoilt = NativeResize(Spoilt(kernels, 5, spoil))  # type: ignore[arg-type]
        for how in HOWS:
            with pytest.raises(AssertionError):
                check(spoilt, picture(60, 60, 3), (41, 43), how)
            assert not resize_native.agrees(NativeResize(Spoilt(kernels, 5, spoil_first)), how)  # type: ignore[arg-type]
