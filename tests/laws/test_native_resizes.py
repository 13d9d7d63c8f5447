"""A native resize gives the bits of the installed OpenCV, with every instruction set, or leaves it the work."""

from __future__ import annotations

import os
import subprocess
import sys
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
from augrecipes.native.kernels import Library
from augrecipes.ops.constants import AREA, CUBIC, LINEAR, NEAREST

HOWS = (LINEAR, AREA, NEAREST, CUBIC)
NAMES = ("resize", "shrink", "blocks", "nearest")
NATIVE = [k for k in KERNEL_SETS if k is not None and all(resize_native.same_bits(k, n) for n in NAMES)]
# Those that add up cubics as OpenCV does on this processor, if any do.
CUBICS = [k for k in NATIVE if resize_native.same_bits(k, "cubic")]
EACH = pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
SIDES = st.integers(1, 70)
# A picture of 60 x 60 by each kernel.
CASES = (((41, 43), LINEAR), ((41, 43), AREA), ((20, 30), AREA), ((41, 43), NEAREST), ((41, 43), CUBIC))
TARGET = 7  # which argument of a kernel is what it writes to
Window = tuple[int, int, int, int]  # y0, x0, y1, x1 of a result, ends exclusive
_CHANNELS = {"resize": (3, 4), "cubic": (3,), "shrink": (3, 4), "blocks": (1, 2, 3, 4)}
_MOST = 16  # pixels along a block
_LEAST = 4  # pixels of a side: of smaller pictures OpenCV makes larger or smaller ones by cubics in another way
_BYTES = 32  # of a pixel
_DTYPES = frozenset("bBhHifd")  # what OpenCV resizes


class Resizes:
    """The kernels that resize, called by their names."""

    def __init__(self, kernels: Any) -> None:
        self.kernels = kernels

    def has(self, name: str) -> bool:
        return name in NAMES or self.kernels.isa in [one.isa for one in CUBICS]

    def forced(
        self, name: str, image: np.ndarray, size: tuple[int, int], out: Any = None, window: Window | None = None
    ) -> np.ndarray | None:
        height, width = int(size[0]), int(size[1])
        y0, x0, y1, x1 = window or (0, 0, height, width)
        if out is None:
            out = np.empty((max(y1 - y0, 0), max(x1 - x0, 0), *image.shape[2:]), image.dtype)
        done = self.kernels.kernel(name, resize_native.ARGUMENTS)(
            image.ctypes.data, *image.shape[:2], image.strides[0], image.strides[1], height, width,
            out.ctypes.data, y0, x0, y1 - y0, x1 - x0, out.strides[0],
        )  # fmt: skip
        return out if done == 0 else None


def kernel_for(image: np.ndarray, size: tuple[int, int], interpolation: int) -> str | None:
    """The kernel that does what OpenCV does with such a picture; None: there is none. OpenCV has many ways."""
    (rows, columns, *more), (height, width) = image.shape, size
    channels: int = more[0] if more else 1
    bytes_of = channels * image.itemsize
    if (
        image.strides[1] != bytes_of
        or (channels > 1 and image.strides[2] != image.itemsize)
        or min(height, width, rows) < 1
    ):
        return None
    if interpolation == NEAREST:
        return "nearest" if bytes_of <= _BYTES and image.dtype.char in _DTYPES else None
    if image.dtype != np.uint8 or columns < 1:
        return None
    down, across = 1 / (height / rows), 1 / (width / columns)  # as OpenCV calculates
    if interpolation == LINEAR:
        name = "blocks" if down == across == 2 else "resize"
    elif interpolation == CUBIC and min(rows, columns) >= _LEAST:
        name = "cubic"
    elif interpolation == AREA and down >= 1 and across >= 1:
        whole = down.is_integer() and across.is_integer()
        if whole and max(down, across) > _MOST:
            return None
        name = "blocks" if whole else "shrink"
    else:
        return None
    return name if channels in _CHANNELS[name] else None


def picture(height: int, width: int, channels: int, seed: int = 0, dtype: Any = np.uint8) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8).astype(dtype)


def check(
    native: Resizes, image: np.ndarray, size: tuple[int, int], how: int = LINEAR, window: Window | None = None
) -> str | None:
    """Holds a resize, or a window of one, to OpenCV's; the kernel that did it, or None where there is none."""
    name = kernel_for(image, size, how)
    if name == "cubic" and not native.has(name):
        return None
    if name is not None:
        found = native.forced(name, image, size, window=window)
        y0, x0, y1, x1 = window or (0, 0, *size)
        assert found is not None
        np.testing.assert_array_equal(found, geometric.resize(image, size, how)[y0:y1, x0:x1])
    return name


@pytest.mark.skipif(not NATIVE, reason="no native kernel gives this OpenCV's bits")
@given(
    st.sampled_from(NATIVE or [None]), SIDES, SIDES, SIDES, SIDES, st.integers(1, 5), st.integers(0, 99),
    st.sampled_from(["whole", "window", "turned"]), st.sampled_from(HOWS), st.sampled_from([np.uint8, np.float32]),
    st.booleans(), st.booleans(), st.data(),
)  # fmt: skip
def test_the_bits_are_those_of_opencv(
    kernels: Library, h: int, w: int, height: int, width: int, channels: int, seed: int, lies: str, how: int,
    dtype: Any, multiple: bool, part: bool, data: st.DataObject,
) -> None:  # fmt: skip
    if multiple and how != NEAREST:
        h, w = height * (h % 18 + 1), width * (w % 18 + 1)
    image = picture(h, w, channels, seed, dtype)
    if lies == "window":
        image = np.pad(image, ((1, 1), (2, 3), (0, 0)), constant_values=255)[1:-1, 2:-3]
    elif lies == "turned":
        image = image[::-1]
    image.flags.writeable = False
    window = None
    if part:
        y0, x0 = data.draw(st.integers(0, height - 1)), data.draw(st.integers(0, width - 1))
        window = y0, x0, data.draw(st.integers(y0 + 1, height)), data.draw(st.integers(x0 + 1, width))
    check(Resizes(kernels), image, (height, width), how, window)


@EACH
def test_means_that_lie_on_halves_are_rounded_as_opencv_rounds_its_sums(kernels: Library) -> None:
    native, halves = Resizes(kernels), 0

    @given(
        st.integers(1, 9), st.integers(1, 9), st.sampled_from(((4, 3), (8, 3), (8, 5), (16, 7))), st.integers(0, 999),
        st.sampled_from((3, 4)), st.integers(1, 4),
    )  # fmt: skip
    def law(rows: int, columns: int, ratio: tuple[int, int], seed: int, channels: int, levels: int) -> None:
        nonlocal halves
        image = picture(rows * ratio[0], columns * ratio[0], channels, seed) % (levels + 1) + np.uint8(seed % 200)
        size = rows * ratio[1], columns * ratio[1]
        assert check(native, image, size, AREA) == "shrink"
        means = cv2.resize(image.astype(np.float64), size[::-1], interpolation=AREA)
        halves += int((np.abs(means % 1 - 0.5) < 1e-4).sum())

    law()
    assert halves > 1000  # it is such pictures that the law is about


@pytest.mark.parametrize("kernels", CUBICS, ids=lambda kernels: kernels.isa)
def test_sums_of_cubics_that_lie_on_halves_are_rounded_as_opencv_rounds_them(kernels: Library) -> None:
    """By one sixth and by fifths: every weight is a short fraction, and many a sum a half but for its rounding."""
    native = Resizes(kernels)

    ratios = st.sampled_from(((25, 3), (5, 4), (5, 6), (3, 1)))

    @given(st.integers(1, 9), st.integers(1, 9), ratios, st.integers(0, 999))
    def law(rows: int, columns: int, ratio: tuple[int, int], seed: int) -> None:
        image = picture(rows * ratio[0], columns * ratio[0], 3, seed)
        size = rows * ratio[1], columns * ratio[1]
        assert check(native, image, size, CUBIC) == (None if min(image.shape[:2]) < 4 else "cubic")

    law()


@pytest.mark.parametrize("processor", ["avx2", "sse42"])
def test_cubics_are_left_to_opencv_where_it_adds_in_another_order(processor: str) -> None:
    """Its primitives do so on processors without AVX-512: they can be told that this is one."""
    program = """if True:
        import cv2
        import numpy as np
        from augrecipes.recipe.parse import parse_text
        image = np.random.default_rng(5).integers(0, 256, (500, 50, 3), np.uint8)
        for height, width in (500, 6), (60, 30), (100, 60):
            step = f"Resize: {{height: {height}, width: {width}, interpolation: cubic}}"
            output = "output: {dtype: uint8, layout: hwc}"
            made = parse_text(f"version: 1\\nrecipe: test\\nsteps: [{step}]\\neval: []\\n{output}\\n").compile()
            own = cv2.resize(image, (width, height), interpolation=cv2.INTER_CUBIC)
            print(np.array_equal(made.at(0)(image=image)["image"], own))"""
    environment = {**os.environ, "OPENCV_IPP": processor}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert "False" not in done.stdout


@EACH
def test_every_kernel_is_asked_somewhere(kernels: Library) -> None:
    native = Resizes(kernels)
    cases = (
        ((33, 50), LINEAR), ((32, 24), LINEAR), ((33, 31), AREA), ((16, 24), AREA), ((9, 99), NEAREST),
        ((33, 31), CUBIC),
    )  # fmt: skip
    pictures = [picture(64, 48, channels) for channels in (1, 2, 3, 4)]
    found = [[check(native, image, size, how) for image in pictures] for size, how in cases]
    assert found == [
        [None, None, "resize", "resize"], ["blocks"] * 4, [None, None, "shrink", "shrink"], ["blocks"] * 4,
        ["nearest"] * 4, [None, None, "cubic" if kernels in CUBICS else None, None],
    ]  # fmt: skip


@EACH
def test_large_and_long_pictures(kernels: Library) -> None:
    native = Resizes(kernels)
    for shape, size in (((3, 16384, 3), (5, 9000)), ((16384, 2, 4), (300, 3)), ((2, 5, 3), (3, 16384))):
        for how in HOWS:
            check(native, picture(*shape), size, how)
    for channels in (3, 4):
        for wide in (3, 11, 700, 9001):
            assert check(native, picture(9, 16384, channels), (4, wide), AREA) == "shrink"
    for channels in (1, 3, 4):
        assert check(native, picture(32, 16384, channels), (2, 1024), AREA) == "blocks"
        assert check(native, picture(4, 16384, channels), (2, 8192), LINEAR) == "blocks"


@EACH
def test_what_is_no_window_of_a_result_is_refused(kernels: Library) -> None:
    native, image = Resizes(kernels), picture(18, 18, 3)
    for size in ((0, 9), (9, 0), (-1, 9)):
        for name in NAMES:
            assert native.forced(name, image, size) is None
    for window in ((0, 0, 10, 9), (0, 0, 9, 10), (-1, 0, 3, 3), (0, -1, 3, 3), (3, 3, 3, 9), (1 << 40, 0, 1 << 41, 9)):
        for name in NAMES:
            assert native.forced(name, image, (9, 9), np.zeros((9, 9, 3), np.uint8), window) is None
    for size in ((20, 18), (18, 20)):
        assert native.forced("shrink", image, size) is None
    for size in ((18, 18), (7, 9), (9, 7), (36, 36)):
        assert native.forced("blocks", image, size) is None or size == (18, 18)
    assert native.forced("blocks", picture(17 * 3, 17 * 3, 1), (3, 3)) is None  # sums beyond 16 bits
    assert native.forced("nearest", picture(9, 9, 40), (3, 3)) is None


@EACH
@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_is_read_or_written_beside_the_pictures(kernels: Library, at_end: bool) -> None:
    native = Resizes(kernels)
    for h, w in [(1, 1), (1, 2), (2, 1), (3, 3), (1, 7), (5, 64), (33, 17)]:
        for channels in (1, 2, 3, 4):
            sizes = [(h, 2 * w), (h + 3, w + 5), (1, 1), (70, 9), (max(h - 1, 1), w), (h // 3 + 1, w // 2 + 1)]
            for times, size in [((1, 1), size) for size in sizes] + [(times, (h, w)) for times in ((2, 2), (3, 1))]:
                image = guarded(picture(h * times[0], w * times[1], channels), at_end)
                for how in HOWS:
                    if (name := kernel_for(image, size, how)) is None or not (name in NAMES or native.has(name)):
                        continue
                    room = guarded(np.zeros((*size, channels), np.uint8), at_end)
                    assert native.forced(name, image, size, room) is room
                    np.testing.assert_array_equal(room, geometric.resize(image, size, how))


@EACH
def test_a_row_of_more_is_written_and_nothing_beside_it(kernels: Library) -> None:
    image, whole = picture(40, 60, 3), np.full((50, 70, 3), 77, np.uint8)
    for name, size in (("resize", (33, 31)), ("shrink", (33, 31)), ("blocks", (20, 30)), ("nearest", (33, 31))):
        room, part = whole.copy(), (2, 3, size[0], size[1] - 1)
        inside = room[5 : 5 + part[2] - part[0], 6 : 6 + part[3] - part[1]]
        assert Resizes(kernels).forced(name, image, size, inside, part) is inside
        expected = Resizes(kernels).forced(name, image, size)
        np.testing.assert_array_equal(inside, expected[2:, 3:-1])  # type: ignore[index]
        inside[...] = 77
        np.testing.assert_array_equal(room, whole)


@EACH
def test_a_kernel_that_is_one_bit_off_is_seen(kernels: Library) -> None:
    for spoil in (spoil_first, spoil_last):
        spoilt = Resizes(Spoilt(kernels, TARGET, spoil))  # type: ignore[arg-type]
        seen = set()
        for size, how in CASES[: 4 + (kernels in CUBICS)]:
            seen.add(kernel_for(picture(60, 60, 3), size, how))
            with pytest.raises(AssertionError):
                check(spoilt, picture(60, 60, 3), size, how)
        assert seen >= set(NAMES)
    first: Any = Spoilt(kernels, TARGET, spoil_first)
    assert not any(resize_native.same_bits(first, name) for name in NAMES)


@EACH
def test_a_window_that_begins_one_pixel_off_is_seen(kernels: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    native, forced = Resizes(kernels), Resizes.forced

    def careless(self: Any, name: str, image: Any, size: Any, out: Any = None, window: Any = None) -> Any:
        y0, x0, y1, x1 = window
        return forced(self, name, image, size, out, (y0, x0 - 1, y1, x1 - 1))

    monkeypatch.setattr(Resizes, "forced", careless)
    for size, how in CASES[: 4 + (kernels in CUBICS)]:
        with pytest.raises(AssertionError):
            check(native, picture(60, 60, 3), size, how, (2, 3, 18, 29))
