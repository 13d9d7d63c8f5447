"""The native kernel that resizes masks takes the pixels of its definition in numpy, and touches no others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import EACH_SET, guarded

from augrecipes.compiler.kernels.resize_native import ARGUMENTS
from augrecipes.native.kernels import Library
from augrecipes.ops import places

SIDES = st.integers(1, 90)


def law(
    kernels: Library, size: tuple[int, int], to: tuple[int, int], pixel_bytes: int, seed: int, at_end: bool
) -> None:
    """A window of the result, anywhere in it."""
    draw = np.random.default_rng(seed)
    mask = guarded(draw.integers(0, 256, (*size, pixel_bytes), np.uint8), at_end)
    top, left = (int(draw.integers(0, side)) for side in to)
    height, width = (int(draw.integers(1, side - first + 1)) for side, first in zip(to, (top, left), strict=True))
    made = guarded(np.zeros((height, width, pixel_bytes), np.uint8), at_end)
    answer = kernels.kernel("nearest_middle", ARGUMENTS)(
        mask.ctypes.data, *size, mask.strides[0], pixel_bytes, *to,
        made.ctypes.data, top, left, height, width, made.strides[0],
    )  # fmt: skip
    assert answer == 0
    np.testing.assert_array_equal(made, places.nearest(mask, to)[top : top + height, left : left + width])


@EACH_SET
@given(
    size=st.tuples(SIDES, SIDES),
    to=st.tuples(SIDES, SIDES),
    pixel_bytes=st.sampled_from([1, 2, 4, 8]),
    seed=st.integers(0, 2**32),
    at_end=st.booleans(),
)
def test_the_pixels_in_the_middle(
    kernels: Library, size: tuple[int, int], to: tuple[int, int], pixel_bytes: int, seed: int, at_end: bool
) -> None:
    law(kernels, size, to, pixel_bytes, seed, at_end)


@EACH_SET
def test_pixels_at_the_corner_are_noticed(kernels: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    law(kernels, (8, 8), (2, 2), 1, 3, at_end=True)
    monkeypatch.setattr(places, "nearest", lambda mask, size: mask[:: 8 // size[0], :: 8 // size[1]])
    with pytest.raises(AssertionError):
        law(kernels, (8, 8), (2, 2), 1, 3, at_end=True)


def test_it_is_the_nearest_pixel() -> None:
    """Of every size to every other: no pixel's middle lies nearer to where the result's lies."""
    for now in range(1, 40):
        for count in range(1, 40):
            taken = places.nearest(np.arange(now)[:, None], (count, 1))[:, 0]
            middles = (np.arange(count) + 0.5) * now / count - 0.5
            assert (np.abs(taken - middles) <= 0.5 + 1e-9).all(), (now, count)
