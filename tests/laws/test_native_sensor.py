"""A sensor's noise, and snow, by native kernels: OpenCV's colours and numpy's numbers, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import DEAR
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt, spoil_first, spoil_last

from augrecipes.compat.albumentations import pixel
from augrecipes.compat.normals import normals
from augrecipes.compiler.lowering import opencv_variants
from augrecipes.compiler.lowering.opencv_variants import NumpyNormals, numpy_normals
from augrecipes.native.kernels import Library

NATIVE = [kernels for kernels in KERNEL_SETS if kernels is not None]
pytestmark = pytest.mark.skipif(not NATIVE or not normals(), reason="no kernels, or another numpy")
ON_EACH = pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
SIDES = st.tuples(st.integers(1, 20), st.one_of(st.integers(1, 70), st.sampled_from([255, 256, 257, 530])))
WAY = opencv_variants.hls()
_NOISE, _SNOW = "plllddppplipp", "pllplip"
IMAGE = np.random.default_rng(0).integers(0, 256, (20, 45, 3), np.uint8)


def colours_of(size: tuple[int, int], seed: int) -> np.ndarray:
    """Levels as parts of white: noise, greys with some noise, corners of the cube, dark."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, 256, (*size, 3))
    if seed % 4 == 1:
        levels = np.clip(levels[..., :1] + rng.integers(-1, 2, levels.shape), 0, 255)
    elif seed % 4 == 2:
        levels = np.where(levels > 127, 255, 0)
    elif seed % 4 == 3:
        levels //= 40
    return levels.astype(np.uint8)


@ON_EACH
def test_numbers_are_those_of_numpy(kernels: Library) -> None:
    native = NumpyNormals(kernels)

    @DEAR
    @given(st.one_of(st.integers(0, 2**32 - 1), st.just(0)), st.integers(1, 3000))
    def law(seed: int, count: int) -> None:
        np.testing.assert_array_equal(native.made(seed, count), np.random.default_rng(seed).normal(size=count))

    law()
    np.testing.assert_array_equal(native.made(3, 10**6), np.random.default_rng(3).normal(size=10**6))  # all strips


def noisy(kernels: Any, image: np.ndarray, shift: float, intensity: float, seed: int) -> np.ndarray | None:
    """What the kernel makes of a picture; None where it is not sure."""
    numbers, out = numpy_normals(NATIVE[-1]), np.empty_like(image)
    assert numbers is not None
    counts = np.empty(image.size // 3, np.uint8)
    done = kernels.kernel("sensor_noise", _NOISE)(
        image.ctypes.data, *image.shape[:2], seed, shift, intensity, *numbers.addresses, *WAY, counts.ctypes.data,
        out.ctypes.data,
    )  # fmt: skip
    return out if done == 0 else None


def check(kernels: Any, image: np.ndarray, shift: float, intensity: float, seed: int) -> bool:
    """Holds a picture to albumentations; whether the kernel makes it."""
    made = noisy(kernels, image, shift, intensity, seed)
    if made is None:
        return False
    np.testing.assert_array_equal(made, pixel.iso_noise(image, shift, intensity, np.random.default_rng(seed)))
    return True


def check_snow(kernels: Library, image: np.ndarray, point: float, factor: float) -> None:
    levels, out = np.arange(256, dtype=np.float32), np.empty_like(image)
    dark = levels < np.float32(point * 255 / 2 + 255 / 3)
    light = np.clip(np.where(dark, levels * np.float32(factor), levels), 0, 255).astype(np.uint8)
    kernel = kernels.kernel("snow", _SNOW)
    assert kernel(image.ctypes.data, *image.shape[:2], light.ctypes.data, *WAY, out.ctypes.data) == 0
    np.testing.assert_array_equal(out, pixel.add_snow_bleach(image, point, factor))


@ON_EACH
def test_snow_is_that_of_albumentations(kernels: Library) -> None:
    @DEAR
    @given(SIDES.filter(lambda size: size != (4, 1)), st.integers(0, 2**32), st.floats(0, 1), st.floats(0.01, 9))
    def law(size: tuple[int, int], seed: int, point: float, factor: float) -> None:
        check_snow(kernels, colours_of(size, seed), point, factor)

    law()
    levels = np.arange(0, 256, 3, dtype=np.uint8)
    cube = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(86, -1, 3)
    check_snow(kernels, cube, 0.5, 1.0)  # nearly all colours, and none of them lighter
    with pytest.raises(AssertionError):
        check_snow(Spoilt(kernels, 6, spoil_first), IMAGE, 0.2, 2.0)  # type: ignore[arg-type]


AMOUNTS = st.one_of(
    st.tuples(st.floats(0, 0.1), st.floats(0.01, 0.6)), st.tuples(st.floats(0, 30), st.floats(0.01, 30))
)


@ON_EACH
def test_pictures_are_those_of_albumentations(kernels: Library) -> None:
    @DEAR
    @given(SIDES.filter(lambda size: size != (4, 1)), AMOUNTS, st.integers(0, 2**32 - 2))
    def law(size: tuple[int, int], amounts: tuple[float, float], seed: int) -> None:
        check(kernels, colours_of(size, seed), *amounts, seed)

    law()
    assert all(check(kernels, IMAGE, 0.03, 0.3, seed) for seed in range(20))


@ON_EACH
def test_what_is_not_sure_is_left_alone(kernels: Library) -> None:
    flat = np.full((20, 30, 3), 77, np.uint8)
    assert noisy(kernels, flat, 0.1, 0.5, 3) is None  # deviations are told by last bits
    assert noisy(kernels, IMAGE, 0.1, 0.0, 3) is None
    assert noisy(kernels, IMAGE, 0.1, 100.0, 3) is None  # numpy counts in another way
    for amounts in ((np.nan, 0.5), (0.5, np.nan), (np.inf, 1.0), (-1.0, 1.0)):
        assert noisy(kernels, IMAGE, *amounts, 3) is None
    assert noisy(kernels, IMAGE, 0.1, 0.5, 2**32) is None


@ON_EACH
@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_is_touched_beside_the_arrays(kernels: Library, at_end: bool) -> None:
    numbers = NumpyNormals(kernels)
    noise, whiten = kernels.kernel("sensor_noise", _NOISE), kernels.kernel("snow", _SNOW)
    held = [guarded(table, at_end) for table in numbers.strips]
    light = guarded(np.arange(256, dtype=np.uint8), at_end)
    for rows, columns in ((1, 1), (1, 7), (3, 15), (2, 16), (1, 255), (1, 257), (5, 300)):
        image = guarded(colours_of((rows, columns), 0), at_end)
        out, counts = guarded(np.zeros_like(image), at_end), guarded(np.zeros(rows * columns, np.uint8), at_end)
        places = (one.ctypes.data for one in held)
        noise(
            image.ctypes.data, rows, columns, 9, 0.5, 0.5, numbers.addresses[0], *places, *WAY, counts.ctypes.data,
            out.ctypes.data,
        )  # fmt: skip
        assert not whiten(image.ctypes.data, rows, columns, light.ctypes.data, *WAY, out.ctypes.data)


@ON_EACH
def test_the_laws_see_kernels_that_are_one_bit_off(kernels: Library) -> None:
    with pytest.raises(AssertionError):
        check(Spoilt(kernels, 12, spoil_last), IMAGE, 0.03, 0.3, 1)


@ON_EACH
@pytest.mark.parametrize("other", ["lanes", "fused"])
def test_the_laws_see_other_ways_of_opencv(kernels: Library, other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lanes, fused = WAY
    way = (lanes * 2, fused) if other == "lanes" else (lanes, not fused)
    monkeypatch.setitem(globals(), "WAY", way)
    with pytest.raises(AssertionError):
        for seed in range(200):
            check(kernels, colours_of((60, 60), 4 * seed), 20.0, 0.3, seed)


@ON_EACH
def test_a_strip_that_is_too_wide_is_found(kernels: Library) -> None:
    native = NumpyNormals(kernels)
    native.strips[0][17] += np.uint64(2**46)
    assert not np.array_equal(native.made(5, 40_000), np.random.default_rng(5).normal(size=40_000))
