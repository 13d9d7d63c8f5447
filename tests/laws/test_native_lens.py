"""The native maps of a lens are those of the installed OpenCV, to the last bit, or are left to it."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt, spoil_first, spoil_last

from augrecipes.compiler.kernels import lens_native
from augrecipes.native.kernels import Library

NATIVE = [kernels for kernels in KERNEL_SETS if kernels is not None and lens_native.same_bits(kernels)]
pytestmark = pytest.mark.skipif(not NATIVE, reason="no native kernel gives this OpenCV's bits")


def opencv(rows: int, columns: int, amount: float) -> tuple[np.ndarray, np.ndarray]:
    camera = np.array([[columns, 0, columns / 2], [0, rows, rows / 2], [0, 0, 1]], np.float32)
    bends = np.array([amount, amount, 0, 0, 0], np.float32)
    return cv2.initUndistortRectifyMap(camera, bends, None, None, (columns, rows), cv2.CV_32FC1)  # type: ignore[call-overload, no-any-return]


def check(kernels: Library, rows: int, columns: int, amount: float) -> None:
    found = lens_native.made(kernels, (rows, columns), amount)
    assert found is not None
    for made, own in zip(found, opencv(rows, columns, amount), strict=True):
        np.testing.assert_array_equal(made.view(np.uint32), own.view(np.uint32))


@given(st.sampled_from(NATIVE or [None]), st.integers(1, 70), st.integers(1, 700), st.floats(-1000, 1000))
def test_the_bits_are_those_of_opencv(kernels: Library, rows: int, columns: int, amount: float) -> None:
    check(kernels, rows, columns, amount)


@pytest.mark.soak
@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_hundreds_of_millions_of_places(kernels: Library) -> None:
    random = np.random.default_rng(0)
    for _ in range(100):
        rows, columns = random.integers(1, 3000, 2)
        check(kernels, int(rows), int(columns), random.uniform(-3, 3))


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e30])
def test_what_is_no_amount_is_left_to_opencv(kernels: Library, bad: float) -> None:
    assert lens_native.made(kernels, (3, 4), bad) is None


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_is_written_beside_the_maps(kernels: Library, at_end: bool) -> None:
    kernel = kernels.kernel("lens", lens_native._ARGUMENTS)
    for rows, columns in [(1, 1), (3, 8), (5, 67), (70, 70)]:
        x, y = (guarded(np.zeros((2, columns), np.float32), at_end) for _ in range(2))
        line = guarded(np.zeros(columns), at_end)
        first = rows // 2
        assert not kernel(rows, columns, 0.3, first, 2, line.ctypes.data, x.ctypes.data, y.ctypes.data)
        if rows > 1:
            for made, own in zip((x, y), opencv(rows, columns, 0.3), strict=True):
                np.testing.assert_array_equal(made, own[first : first + 2])


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_law_and_probe_see_a_kernel_that_is_one_bit_off(kernels: Library) -> None:
    for target, spoil in ((6, spoil_first), (7, spoil_last)):
        spoilt: Library = Spoilt(kernels, target, spoil)  # type: ignore[assignment]
        with pytest.raises(AssertionError):
            check(spoilt, 40, 50, 0.2)
        assert not lens_native.same_bits(spoilt)
