"""What the native kernel makes of a picture is what OpenCV reads from the JPEG that it writes, to the bit."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import cv2
import numpy as np
import pytest
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt, spoil_first

from augrecipes.compiler.kernels import probes
from augrecipes.native.kernels import Library

NATIVE = [kernels for kernels in KERNEL_SETS if kernels is not None]
_ARGUMENTS = "pllllipl" + "p"
SIDES = st.integers(1, 70)
LARGE = st.integers(71, 300)


def picture(kind: str, height: int, width: int, channels: int, seed: int) -> np.ndarray:
    """Noise, black and white or saturated colours, dark, or smooth with edges, as photographs are."""
    rng = np.random.default_rng(seed)
    shape = (height, width, channels)
    if kind == "saturated":
        return rng.choice(np.array([0, 255], np.uint8), shape)
    if kind == "smooth":
        walk = rng.normal(0, 6, shape).cumsum(axis=0) + rng.normal(0, 6, shape).cumsum(axis=1)
        return np.asarray(np.clip(walk + rng.choice([0, 90], (height, width, 1), p=[0.9, 0.1]) + 100, 0, 255), np.uint8)
    return rng.integers(0, 12 if kind == "dark" else 256, shape, np.uint8)


def lying(image: np.ndarray, how: str) -> np.ndarray:
    """The same picture as a window of a larger one, upside down, or frozen."""
    if how == "window":
        return np.pad(image, ((1, 2), (3, 1), (0, 0)), constant_values=255)[1:-2, 3:-1]
    if how == "upside down":
        return image[::-1].copy()[::-1]
    image.flags.writeable = False
    return image


def by_opencv(image: np.ndarray, quality: int) -> np.ndarray:
    how = cv2.IMREAD_GRAYSCALE if image.shape[2] == 1 else cv2.IMREAD_UNCHANGED
    image = np.ascontiguousarray(image)
    done: Any = cv2.imdecode(cv2.imencode(".jpg", image, (cv2.IMWRITE_JPEG_QUALITY, quality))[1], how)
    return np.asarray(done).reshape(image.shape)


def through(kernels: Any, image: np.ndarray, quality: int) -> np.ndarray | None:
    """What the kernel makes of a picture whose pixels lie side by side; None where it takes no such."""
    (rows, columns, channels), out = image.shape, np.zeros(image.shape, np.uint8)
    room = np.empty(-(-columns // 64) * 64 * 57 + 512, np.uint8)
    done = kernels.kernel("jpeg_round_trip", _ARGUMENTS)(
        image.ctypes.data, rows, columns, image.strides[0], channels, quality, room.ctypes.data, room.size,
        out.ctypes.data,
    )  # fmt: skip
    assert done == 0 or not out.any()
    return out if done == 0 else None


def check(kernels: Any, image: np.ndarray, quality: int) -> None:
    before = image.copy()
    made = through(kernels, image, quality)
    assert made is not None
    np.testing.assert_array_equal(made, by_opencv(image, quality), err_msg=f"{image.shape}, quality {quality}")
    np.testing.assert_array_equal(image, before)


PICTURES = st.builds(
    picture, st.sampled_from(["noise", "saturated", "smooth", "dark"]), st.one_of(SIDES, SIDES, SIDES, LARGE),
    st.one_of(SIDES, SIDES, SIDES, LARGE), st.sampled_from([3, 3, 1]), st.integers(0, 9999),
)  # fmt: skip
VIEWS = st.sampled_from(["window", "upside down", "frozen"])


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_the_bits_are_those_of_opencv(kernels: Library) -> None:
    @given(image=PICTURES, how=VIEWS, quality=st.integers(1, 100))
    def law(image: np.ndarray, how: str, quality: int) -> None:
        check(kernels, lying(image, how), quality)

    law()


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_every_quality(kernels: Library) -> None:
    for quality in range(1, 101):
        check(kernels, picture(("noise", "smooth", "saturated")[quality % 3], 23, 37, 3, quality), quality)
        check(kernels, picture("smooth", 17, 16, 1, quality), quality)
    for shown in (*probes.pictures(), *probes.squares()):
        for quality in (1, 2, 5):
            check(kernels, shown, quality)
            check(kernels, 255 - shown, quality)


@cache
def on_edges() -> np.ndarray:
    """Squares of 16 px, each of a colour one of whose sums, in 65536ths, is just at the edge of rounding."""
    some, every = np.arange(0, 256, 17, dtype=np.int32), np.arange(256, dtype=np.int32)
    blue, green, red = np.meshgrid(some, every, every, indexing="ij")
    weights = ((7471, 38470, 19595), (32768, -21709, -11059), (-5329, -27439, 32768))
    colours = []
    for of_blue, of_green, of_red in weights:
        part = (of_blue * blue + of_green * green + of_red * red) % 65536
        for edge in range(32766, 32771):
            found = np.argwhere(part == edge) * (17, 1, 1)
            colours.append(found[:: max(1, len(found) // 12)][:12])
    flat = np.concatenate(colours).astype(np.uint8)
    flat = flat[: len(flat) // 6 * 6].reshape(6, -1, 3)
    return flat.repeat(16, axis=0).repeat(16, axis=1)


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_colours_at_the_edge_of_rounding(kernels: Library) -> None:
    for quality in (99, 100):
        check(kernels, on_edges(), quality)


@pytest.mark.soak
@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_every_small_size(kernels: Library) -> None:
    for height in range(1, 71):
        for width in range(1, 71):
            seed = 70 * height + width
            for channels in (1, 3):
                check(kernels, picture(("noise", "smooth")[seed % 2], height, width, channels, seed), 1 + seed % 100)


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_large_and_long_pictures(kernels: Library) -> None:
    for shape in ((3, 16384, 3), (16384, 2, 3), (2, 16385, 1), (16385, 3, 1), (515, 777, 3)):
        check(kernels, picture("smooth", *shape, 0), 80)


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_what_it_does_not_take_is_left_to_opencv(kernels: Library) -> None:
    image = picture("noise", 9, 12, 3, 0)
    assert through(kernels, image, 50) is not None
    for quality in (0, -1, 101):
        assert through(kernels, image, quality) is None
    for shape in ((9, 12, 2), (9, 12, 6), (0, 12, 3), (9, 0, 3), (1, 65501, 3), (65501, 1, 3)):
        assert through(kernels, np.zeros(shape, np.uint8), 50) is None
    kernel = kernels.kernel("jpeg_round_trip", _ARGUMENTS)
    room, out = np.empty(57 * 64 + 511, np.uint8), np.zeros_like(image)
    given = image.ctypes.data, *image.shape[:2], 36, 3, 50, room.ctypes.data, room.size, out.ctypes.data
    assert kernel(*given) != 0
    assert not out.any()


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_is_touched_beside_the_arrays(kernels: Library, at_end: bool) -> None:
    kernel = kernels.kernel("jpeg_round_trip", _ARGUMENTS)
    for height, width in [(1, 1), (2, 5), (8, 8), (9, 15), (16, 16), (17, 31), (15, 33), (33, 64), (3, 65), (40, 127)]:
        for channels in (1, 3):
            image = picture("noise", height, width, channels, width)
            room = np.zeros(-(-width // 64) * 64 * 57 + 512, np.uint8)
            source, room, out = (guarded(array, at_end) for array in (image, room, np.zeros_like(image)))
            given = source.ctypes.data, height, width, width * channels, channels, 70, room.ctypes.data, room.size
            assert kernel(*given, out.ctypes.data) == 0
            np.testing.assert_array_equal(out, by_opencv(image, 70))
            kernel(source[-1].ctypes.data, height, width, -width * channels, *given[4:], out.ctypes.data)
            np.testing.assert_array_equal(out, by_opencv(image[::-1], 70))


def _in_444(own: Any) -> Callable[..., Any]:
    """As if colours were not mixed between their samples."""
    more = (cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444)
    return lambda kind, image, flags: own(kind, image, (*flags, *more))


def _of_less(own: Any) -> Callable[..., Any]:
    return lambda kind, image, flags: own(kind, image, (flags[0], flags[1] - 1))


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("fault", [_in_444, _of_less])
def test_the_law_sees_other_jpegs(kernels: Library, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cv2, "imencode", fault(cv2.imencode))
    with pytest.raises(AssertionError):
        check(kernels, picture("noise", 23, 37, 3, 0), 50)


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_the_law_sees_a_kernel_that_is_one_bit_off(kernels: Library) -> None:
    with pytest.raises(AssertionError):
        check(Spoilt(kernels, 8, spoil_first), picture("noise", 23, 37, 3, 0), 50)
