"""The native blurs have the bits of OpenCV's, and touch nothing beside their arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest
from examples import DEAR
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt, spoil_first

from augrecipes.compiler.lowering import opencv_variants
from augrecipes.compiler.lowering.opencv_variants import SHOWING, weights_of

NATIVE = [kernels for kernels in KERNEL_SETS if kernels is not None]
pytestmark = pytest.mark.skipif(not NATIVE, reason="no native kernels here")
ON_EACH = pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)


@st.composite
def pictures(draw: st.DrawFn) -> np.ndarray:
    """Noise, or black and white, of 1 to 70 px and 1 to 4 channels."""
    seed, rows, columns, channels = (draw(st.integers(low, high)) for low, high in ((0, 2**32), *[(1, 70)] * 2, (1, 4)))
    image = np.random.default_rng(seed).integers(0, 256, (rows, columns, channels), np.uint8)
    return np.where(image > 127, np.uint8(255), np.uint8(0)) if seed % 3 == 0 else image


PICTURE = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)


def blurred(
    kernels: Any, name: str, kinds: str, image: np.ndarray, given: tuple[Any, ...], room: Any, at_end: bool
) -> np.ndarray | None:
    """What a kernel makes of a picture, and what it is told beside it; None: it takes no such."""
    source, out = guarded(image, at_end), guarded(np.zeros_like(image), at_end)
    held = [guarded(one, at_end) if isinstance(one, np.ndarray) else one for one in (*given, room)]
    told = [one.ctypes.data if isinstance(one, np.ndarray) else one for one in held]
    answer = kernels.kernel(name, f"plll{kinds}pp")(source.ctypes.data, *image.shape, *told, out.ctypes.data)
    np.testing.assert_array_equal(source, image)
    assert not answer or not out.any()
    return None if answer else out


def check(kernels: Any, image: np.ndarray, side: int, at_end: bool) -> bool:
    """Whether the kernel takes it; of what it takes all levels are OpenCV's."""
    columns, channels = image.shape[1:]
    room = np.zeros((columns + side) * channels, np.uint16)
    out = blurred(kernels, "blur", "l", image, (side,), room, at_end)
    if out is not None:
        np.testing.assert_array_equal(out, cv2.blur(image, (side, side)).reshape(image.shape))
    return out is not None


@ON_EACH
def test_levels_are_those_of_opencv(kernels: Any) -> None:
    @DEAR
    @given(pictures(), st.integers(0, 8), st.booleans())
    def law(image: np.ndarray, far: int, at_end: bool) -> None:
        assert check(kernels, image, 2 * far + 1, at_end) == (far <= 7 and min(image.shape[:2]) > far)

    law()


@ON_EACH
def test_every_mean_is_rounded_as_opencv_rounds(kernels: Any) -> None:
    for side in range(3, 16, 2):
        levels = np.arange(side * side * 255 + 1) // (side * side)
        for whole in np.unique(levels):  # squares of one level, but for some of their pixels
            image = np.full((side + 2, 4 * side, 1), whole, np.uint8)
            image[:, ::2] += np.uint8(whole < 255)
            assert check(kernels, image, side, True)


def smoothed(
    kernels: Any, image: np.ndarray, weights: np.ndarray, fused: tuple[int, int], at_end: bool
) -> np.ndarray | None:
    """Blurred by weights; sums are fused so many at a time along rows, and so many along columns."""
    columns, channels = image.shape[1:]
    size = len(weights)
    room = np.zeros(size * (columns * channels + 64) + (columns + size) * channels + 64, np.float32)
    return blurred(kernels, "gaussian", "plll", image, (weights.astype(np.float32), size, *fused), room, at_end)


def check_gaussian(kernels: Any, image: np.ndarray, weights: np.ndarray, at_end: bool) -> bool:
    """The same as `check`, of a Gaussian."""
    out = smoothed(kernels, image, weights, opencv_variants.gaussian(), at_end)
    if out is not None:
        np.testing.assert_array_equal(out, cv2.sepFilter2D(image, -1, weights, weights).reshape(image.shape))
    return out is not None


def bell(deviation: float, size: int) -> np.ndarray:
    parts = np.exp(-0.5 * ((np.arange(size) - size // 2) / deviation) ** 2)
    return np.asarray(parts / parts.sum())


BELLS = st.builds(bell, st.floats(0.2, 5), st.integers(0, 33).map(lambda far: 2 * far + 1))


@ON_EACH
def test_weighed_levels_are_those_of_opencv(kernels: Any) -> None:
    @DEAR
    @given(pictures(), BELLS, st.booleans())
    def law(image: np.ndarray, weights: np.ndarray, at_end: bool) -> None:
        whole = bool((np.abs(weights * 256 - np.rint(weights * 256)) < 0.0011).all())
        assert check_gaussian(kernels, image, weights, at_end) or whole or len(weights) > 63

    law()


def in_turn(columns: int, levels: tuple[int, int], channels: int) -> np.ndarray:
    """Rows of which every second one is of the first level, the others of the second."""
    image = np.full((7, columns, channels), levels[1], np.uint8)
    image[1::2] = levels[0]
    return image


def check_rounding(kernels: Any, columns: int) -> None:
    """Pictures of so many columns that show where sums are fused, and where they are not."""
    for beside, across, _, along, _ in SHOWING:
        for image in (in_turn(columns, across, 3), in_turn(columns, along, 1).transpose(1, 0, 2).copy()):
            assert check_gaussian(kernels, image, weights_of(beside), columns % 2 == 0)
        wide = np.tile(np.array(along, np.uint8), (3, columns))[..., None]
        assert check_gaussian(kernels, wide, weights_of(beside), columns % 2 == 0)


@ON_EACH
def test_weighed_levels_are_rounded_as_opencv_rounds_in_every_column(kernels: Any) -> None:
    for columns in (*range(1, 71), 255):
        check_rounding(kernels, columns)


@pytest.mark.parametrize("fused", [(0, 0), (1, 1), (16, 4)])
def test_sums_that_are_fused_elsewhere_are_found(fused: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    if fused == opencv_variants.gaussian():
        pytest.skip("so does OpenCV here")
    monkeypatch.setattr(opencv_variants, "gaussian", lambda: fused)
    with pytest.raises(AssertionError):
        for columns in range(60, 71):
            check_rounding(NATIVE[-1], columns)


@DEAR
@given(pictures(), BELLS, st.sampled_from([(0, 0), (1, 1), (32, 4), (5, 0), (0, 8)]), st.booleans())
def test_all_instruction_sets_weigh_alike(
    image: np.ndarray, weights: np.ndarray, fused: tuple[int, int], at_end: bool
) -> None:
    first, *others = (smoothed(kernels, image, weights, fused, at_end) for kernels in NATIVE)
    for other in others:
        np.testing.assert_array_equal(other, first)


def test_weights_that_are_no_mean_are_refused() -> None:
    right = bell(1.0, 5)
    for k, weight in ((0, np.nan), (1, -0.1), (2, 2.0), (4, 0.3)):
        wrong = right.copy()
        wrong[k] = weight
        assert smoothed(NATIVE[-1], PICTURE, wrong, (0, 0), False) is None


def check_median(kernels: Any, image: np.ndarray, side: int, at_end: bool) -> bool:
    """The same as `check`, of medians."""
    columns, channels = image.shape[1:]
    room = np.zeros(side * ((columns + side - 1) * channels + 64), np.uint8)
    out = blurred(kernels, "median", "l", image, (side,), room, at_end)
    if out is not None:
        np.testing.assert_array_equal(out, cv2.medianBlur(image, side).reshape(image.shape))
    return out is not None


@ON_EACH
def test_medians_are_those_of_opencv(kernels: Any) -> None:
    @DEAR
    @given(pictures(), st.sampled_from((1, 3, 5, 7, 9)), st.booleans())
    def law(image: np.ndarray, side: int, at_end: bool) -> None:
        assert check_median(kernels, image, side, at_end) == (side in (3, 5, 7) and image.shape[2] != 2)

    law()


@ON_EACH
def test_medians_of_all_that_is_black_or_white_are_right(kernels: Any) -> None:
    """What puts every picture of two levels in order puts all in order; those of 3 x 3 are all, of others some."""
    rng = np.random.default_rng(0)
    for side, count in ((3, 512), (5, 2000), (7, 2000)):
        words = np.arange(512)[:, None] >> np.arange(9) & 1 if side == 3 else None
        bits = rng.random((count, side * side)) < rng.uniform(0.4, 0.6, (count, 1)) if words is None else words > 0
        image = np.where(bits.reshape(count * side, side, 1), np.uint8(255), np.uint8(0))
        out = blurred(
            kernels, "median", "l", image, (side,), np.zeros(side * (2 * side + 63), np.uint8), False
        )  # fmt: skip
        assert out is not None
        middle = out[side // 2 :: side, side // 2, 0] > 0
        np.testing.assert_array_equal(middle, bits.sum(axis=1) * 2 > side * side)


@pytest.mark.parametrize(
    ("target", "law"),
    [
        (6, lambda spoilt: check(spoilt, PICTURE, 5, False)),
        (9, lambda spoilt: check_gaussian(spoilt, PICTURE, bell(1.0, 5), False)),
        (6, lambda spoilt: check_median(spoilt, PICTURE, 5, False)),
    ],
    ids=["means", "Gaussian", "medians"],
)
@ON_EACH
def test_a_planted_fault_is_found(kernels: Any, target: int, law: Callable[[Any], bool]) -> None:
    law(kernels)
    with pytest.raises(AssertionError):
        law(Spoilt(kernels, target, spoil_first))
