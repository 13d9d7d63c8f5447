"""A sensor's noise by native kernels: OpenCV's hue, lightness and saturation, and numpy's numbers, to the last bit."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from examples import DEAR
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt, spoil_first, spoil_last

from augrecipes.compat.albumentations import pixel
from augrecipes.compat.normals import normals
from augrecipes.compiler.kernels import hls, snow
from augrecipes.compiler.kernels.hls import Ways, converted
from augrecipes.compiler.kernels.sensor import Sensor
from augrecipes.native.kernels import Library

NATIVE = [kernels for kernels in KERNEL_SETS if kernels is not None]
WAYS = [hls._proven(kernels) for kernels in NATIVE]
pytestmark = pytest.mark.skipif(not all(WAYS) or not WAYS or not normals(), reason="OpenCV or numpy is another here")
ON_EACH = pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
SIDES = st.tuples(st.integers(1, 20), st.one_of(st.integers(1, 70), st.sampled_from([255, 256, 257, 530])))
WAY: Any = WAYS[-1] if WAYS else None
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


def hues_of(size: tuple[int, int], seed: int) -> np.ndarray:
    """Hues beyond the circle on both sides, lightness and saturation."""
    rng = np.random.default_rng(seed)
    hues = rng.random((*size, 3)) * (rng.choice([1, 360, 4000]), 1, 1) - (rng.choice([0, 30, 2000]), 0, 0)
    return np.where(rng.random(hues.shape) < 0.2, np.rint(hues), hues).astype(np.float32)


def check_colours(kernels: Library, way: Ways, size: tuple[int, int], seed: int) -> None:
    """Holds both ways to OpenCV, whose bits are those of floats."""
    for given_, back in (
        (colours_of(size, seed).astype(np.float32) / np.float32(255), False),
        (hues_of(size, seed), True),
    ):
        expected = cv2.cvtColor(given_, cv2.COLOR_HLS2RGB if back else cv2.COLOR_RGB2HLS)
        np.testing.assert_array_equal(converted(kernels, way, given_, back=back), expected)


@ON_EACH
def test_colours_are_those_of_opencv(kernels: Library) -> None:
    @DEAR
    @given(SIDES, st.integers(0, 2**32))
    def law(size: tuple[int, int], seed: int) -> None:
        check_colours(kernels, WAY, size, seed)

    law()


@ON_EACH
def test_numbers_are_those_of_numpy(kernels: Library) -> None:
    native = Sensor(kernels, WAY)

    @DEAR
    @given(st.one_of(st.integers(0, 2**32 - 1), st.just(0)), st.integers(1, 3000))
    def law(seed: int, count: int) -> None:
        np.testing.assert_array_equal(native.normals(seed, count), np.random.default_rng(seed).normal(size=count))

    law()
    np.testing.assert_array_equal(native.normals(3, 10**6), np.random.default_rng(3).normal(size=10**6))  # all strips


def check(native: Sensor, image: np.ndarray, shift: float, intensity: float, seed: int) -> bool:
    """Holds a picture to albumentations; whether the kernel makes it."""
    made = native(image, shift, intensity, seed)
    if made is None:
        return False
    np.testing.assert_array_equal(made, pixel.iso_noise(image, shift, intensity, np.random.default_rng(seed)))
    return True


def check_snow(kernels: Library, image: np.ndarray, point: float, factor: float) -> None:
    out, light = np.empty_like(image), snow.lighter(point, np.float32(factor))
    kernel = kernels.kernel("snow", "pllplip")
    kernel(image.ctypes.data, *image.shape[:2], light.ctypes.data, WAY.lanes, int(WAY.fused), out.ctypes.data)
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
    native = Sensor(kernels, WAY)

    @DEAR
    @given(SIDES.filter(lambda size: size != (4, 1)), AMOUNTS, st.integers(0, 2**32 - 2))
    def law(size: tuple[int, int], amounts: tuple[float, float], seed: int) -> None:
        check(native, colours_of(size, seed), *amounts, seed)

    law()
    assert all(check(native, IMAGE, 0.03, 0.3, seed) for seed in range(20))


@ON_EACH
def test_what_is_not_sure_is_left_alone(kernels: Library) -> None:
    native, flat = Sensor(kernels, WAY), np.full((20, 30, 3), 77, np.uint8)
    assert native(flat, 0.1, 0.5, 3) is None  # deviations are told by last bits
    assert native(IMAGE, 0.1, 0.0, 3) is None
    assert native(IMAGE, 0.1, 100.0, 3) is None  # numpy counts in another way
    for amounts in ((np.nan, 0.5), (0.5, np.nan), (np.inf, 1.0), (-1.0, 1.0)):
        assert native(IMAGE, *amounts, 3) is None
    assert native(IMAGE, 0.1, 0.5, 2**32) is None


@ON_EACH
@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_is_touched_beside_the_arrays(kernels: Library, at_end: bool) -> None:
    native = Sensor(kernels, WAY)
    noise, floats = kernels.kernel("sensor_noise", "plllddppplipp"), kernels.kernel("hls_floats", "pllilip")
    address, *tables = native.numbers
    held = [guarded(table, at_end) for table in (native._bounds, native._widths)]
    for rows, columns in ((1, 1), (1, 7), (3, 15), (2, 16), (1, 255), (1, 257), (5, 300)):
        image = guarded(colours_of((rows, columns), 0), at_end)
        out, counts = guarded(np.zeros_like(image), at_end), guarded(np.zeros(rows * columns, np.uint8), at_end)
        places = (one.ctypes.data for one in held)
        noise(
            image.ctypes.data, rows, columns, 9, 0.5, 0.5, address, *places, WAY.lanes, int(WAY.fused),
            counts.ctypes.data, out.ctypes.data,
        )  # fmt: skip
        for back in (0, 1):
            parts = guarded(image.astype(np.float32) / np.float32(255), at_end)
            to = guarded(np.zeros_like(parts), at_end)
            assert not floats(parts.ctypes.data, rows, columns, back, WAY.lanes, int(WAY.fused), to.ctypes.data)
            whiten = kernels.kernel("snow", "pllplip")
            light = guarded(np.arange(256, dtype=np.uint8), at_end)
            assert not whiten(
                image.ctypes.data, rows, columns, light.ctypes.data, WAY.lanes, int(WAY.fused), out.ctypes.data
            )  # fmt: skip
    assert tables


@ON_EACH
def test_the_laws_see_kernels_that_are_one_bit_off(kernels: Library) -> None:
    spoilt: Any = Spoilt(kernels, 12, spoil_last)
    native = Sensor(kernels, WAY)
    native._kernel = spoilt.kernel("sensor_noise", "plllddppplipp")
    with pytest.raises(AssertionError):
        check(native, IMAGE, 0.03, 0.3, 1)
    with pytest.raises(AssertionError):
        check_colours(Spoilt(kernels, 6, spoil_first), WAY, (5, 40), 0)  # type: ignore[arg-type]


@ON_EACH
def test_a_strip_that_is_too_wide_is_found(kernels: Library) -> None:
    native = Sensor(kernels, WAY)
    native._bounds[17] += np.uint64(2**46)
    assert not np.array_equal(native.normals(5, 40_000), np.random.default_rng(5).normal(size=40_000))


@ON_EACH
@pytest.mark.parametrize("other", ["lanes", "fused"])
def test_other_ways_are_not_opencvs(kernels: Library, other: str) -> None:
    ways = Ways(WAY.lanes * 2, WAY.fused) if other == "lanes" else Ways(WAY.lanes, not WAY.fused)
    assert hls.agrees(kernels, WAY)
    assert not hls.agrees(kernels, ways)
