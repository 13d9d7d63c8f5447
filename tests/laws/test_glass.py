"""Glass blur in native passes has the bits of albumentations, pixel by pixel that changes places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt, spoil_last

from augrecipes.compat.albumentations import A
from augrecipes.compiler.kernels.glass import NativeGlass
from augrecipes.compiler.kernels.quick_apply import quicker
from augrecipes.native.kernels import Library, using

KERNELS = [level for level in KERNEL_SETS if level is not None]
EVERY = pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.isa)


def check(native: NativeGlass, step: Any, shape: tuple[int, ...], dtype: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, shape).astype(dtype)
    image.setflags(write=False)
    inner = max(0, shape[0] - 2 * step.max_delta) * max(0, shape[1] - 2 * step.max_delta)
    dxy = rng.integers(-step.max_delta, step.max_delta, (inner, step.iterations, 2))
    made = native(step, image, dxy)
    if made is not None:
        expected = step.apply(image, dxy=dxy)
        assert made.dtype == expected.dtype
        np.testing.assert_array_equal(made, expected)
    else:
        assert min(shape[:2]) <= 2 * step.max_delta


@EVERY
def test_pixels_go_where_albumentations_puts_them(kernels: Library) -> None:
    @given(
        size=st.tuples(st.integers(1, 40), st.integers(1, 40)), channels=st.sampled_from([None, 1, 2, 3, 4, 5]),
        dtype=st.sampled_from([np.uint8, np.float32]), sigma=st.floats(0.1, 2), far=st.integers(1, 6),
        iterations=st.integers(1, 3), mode=st.sampled_from(["fast", "exact"]), seed=st.integers(0, 99),
    )  # fmt: skip
    def law(
        size: Any, channels: int | None, dtype: Any, sigma: float, far: int, iterations: int, mode: Any, seed: int
    ) -> None:
        step = A.GlassBlur(sigma=sigma, max_delta=far, iterations=iterations, mode=mode)
        shape = size if channels is None else (*size, channels)
        check(NativeGlass(kernels), step, shape, dtype, seed)

    law()


@EVERY
@pytest.mark.parametrize("mode", ["fast", "exact"])
def test_the_law_sees_kernels_that_are_one_bit_off(kernels: Library, mode: Any) -> None:
    spoilt: Any = Spoilt(kernels, 0, spoil_last)
    for used in (kernels, spoilt):
        with using(used):
            assert (quicker(A.GlassBlur(sigma=0.1, iterations=1, mode=mode)) is None) == (used is spoilt)
    with pytest.raises(AssertionError):
        check(NativeGlass(spoilt), A.GlassBlur(sigma=0.1, iterations=1, mode=mode), (20, 30, 3), np.uint8, 0)


@EVERY
@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_is_read_or_written_beside_the_arrays(kernels: Library, at_end: bool) -> None:
    swap_all, swap_each = kernels.kernel("swap_all", "ppplllll"), kernels.kernel("swap_each", "ppllllli")
    rng = np.random.default_rng(0)
    for height, width, far, size in ((3, 3, 1, 3), (9, 12, 4, 1), (20, 11, 5, 3), (13, 40, 2, 16)):
        inner = (height - 2 * far) * (width - 2 * far)
        for steps in (rng.integers(-far, far, (inner, 2)), np.full((inner, 2), -far), np.full((inner, 2), far - 1)):
            pixels, were = (guarded(rng.integers(0, 256, (height, width, size), np.uint8), at_end) for _ in range(2))
            kept = guarded(steps.astype(np.int64), at_end)
            at = kept.ctypes.data
            assert swap_all(pixels.ctypes.data, were.ctypes.data, at, 2, height, width, size, far) == 0
            assert swap_each(pixels.ctypes.data, at, 2, height, width, size, far, 1) == 0
        steps[inner // 2, 1] = far  # further than any draw goes: refused, not followed
        kept = guarded(steps.astype(np.int64), at_end)
        at = kept.ctypes.data
        assert swap_all(pixels.ctypes.data, were.ctypes.data, at, 2, height, width, size, far) != 0
        assert swap_each(pixels.ctypes.data, at, 2, height, width, size, far, 0) != 0
