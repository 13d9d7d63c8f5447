"""What the sink makes of a picture is said by arithmetic alone: however the picture, and what it is written to, lie."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt, spoil_first, spoil_last

from augrecipes.compiler.kernels import sink as sinks
from augrecipes.compiler.kernels.formulas import scales_and_shifts
from augrecipes.compiler.kernels.moves import IDENTITY, Symmetry
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.native.kernels import Library, using
from augrecipes.recipe.model import Normalize, Output

OUTPUTS = st.builds(
    Output,
    dtype=st.sampled_from(["uint8", "float32", "float16"]),
    layout=st.sampled_from(["chw", "hwc"]),
    color=st.sampled_from(["rgb", "bgr", "gray", "y"]),
    normalize=st.sampled_from([None, Normalize((0.25,), (0.5,)), Normalize((0.0,), (1.0,))]),
    range=st.sampled_from([(0.0, 1.0), (0.0, 255.0), (-1.0, 1.0)]),
)
# 8×8 and 16×64: planes side by side begin at the same place of a 64-byte line; 7×9: they do not.
SIZES = st.sampled_from([(1, 1), (7, 9), (8, 8), (16, 64), (33, 31)])
SYMMETRIES = [Symmetry(*which) for which in product((False, True), repeat=3)]
Lying = Callable[[np.ndarray], np.ndarray]


def _window(image: np.ndarray) -> np.ndarray:
    padded = np.pad(image, ((2, 3), (5, 1), (0, 0)), constant_values=7)
    return padded[2:-3, 5:-1]


def _every_other(image: np.ndarray) -> np.ndarray:
    return np.repeat(np.repeat(image, 2, axis=0), 2, axis=1)[::2, ::2]


def _channels_of_more(image: np.ndarray) -> np.ndarray:
    return np.concatenate([image, image[..., :1]], axis=2)[..., :-1]


def _columns_first(image: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(image.swapaxes(0, 1)).swapaxes(0, 1)


def _backwards(image: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(image[::-1, ::-1])[::-1, ::-1]


LYING: list[Lying] = [np.array, _window, _every_other, _channels_of_more, _columns_first, _backwards]


def said(output: Output, image: np.ndarray) -> np.ndarray:
    """The sample by the formulas, channel by channel."""
    full = 255.0 if image.dtype == np.uint8 else 1.0
    if output.color in ("gray", "y"):
        # One channel out of three has a law of its own (tests/device): here only where it lies must not matter.
        return Sink(output)(np.ascontiguousarray(image))
    planes = [image[..., c] for c in range(image.shape[2])]
    planes = planes[::-1] if output.color == "bgr" else planes
    if output.dtype == "uint8":
        made = [p if full == 255 else np.rint(np.clip(p * np.float32(255), 0, 255)).astype(np.uint8) for p in planes]
    else:
        made = []
        for plane, (scale, shift) in zip(planes, scales_and_shifts(output, len(planes), full), strict=True):
            made.append((plane.astype(np.float32) * np.float32(scale) + np.float32(shift)).astype(output.dtype))
    return np.stack(made, axis=0 if output.layout == "chw" else -1)


def check(
    output: Output,
    image: np.ndarray,
    lying: Lying,
    symmetry: Symmetry = IDENTITY,
    kernels: Any = None,
) -> None:
    """Holds a sink to `said`, for one picture that lies somehow, in memory of the sink's choice and of the caller's."""
    given = lying(image)
    np.testing.assert_array_equal(given, image)
    before, expected = given.copy(), said(output, np.ascontiguousarray(symmetry.view(image)))
    sink = Sink(output)
    with using(kernels):
        made = sink(symmetry.view(given))
    assert made.dtype == expected.dtype
    assert made.flags.c_contiguous
    assert not np.shares_memory(made, given)
    np.testing.assert_array_equal(made, expected)
    for step, start in ((1, 1), (2, 0)):  # a row of a batch that begins anywhere; a row whose values lie apart
        room = np.full(step * expected.size + 9, 99, expected.dtype)
        row = room[start : start + step * expected.size : step].reshape(expected.shape)
        assert sink(symmetry.view(given), lambda shape, dtype, row=row: row) is row
        np.testing.assert_array_equal(row, expected)
        assert (np.delete(room, np.s_[start : start + step * expected.size : step]) == 99).all()
    np.testing.assert_array_equal(made, expected)  # still
    np.testing.assert_array_equal(given, before)


@given(
    output=OUTPUTS,
    size=SIZES,
    channels=st.integers(1, 5),
    floats=st.booleans(),
    lying=st.sampled_from(LYING),
    symmetry=st.builds(Symmetry, st.booleans(), st.booleans(), st.booleans()),
    kernels=st.sampled_from(KERNEL_SETS),
    seed=st.integers(0, 9),
)
def test_a_sample_is_what_the_formulas_say_however_its_picture_lies(
    output: Output,
    size: tuple[int, int],
    channels: int,
    floats: bool,
    lying: Lying,
    symmetry: Symmetry,
    kernels: Library | None,
    seed: int,
) -> None:
    channels = channels if output.color == "rgb" else 3
    image: Any = np.random.default_rng(seed).integers(0, 256, (*size, channels), np.uint8)
    check(output, image.astype(np.float32) / np.float32(255) if floats else image, lying, symmetry, kernels)


IMAGE = np.random.default_rng(0).integers(0, 99, (16, 64, 3), np.uint8)


@pytest.mark.parametrize(("output", "fault"), [
    (Output(), lambda planes, image: [planes[0]] * len(planes)),
    (Output(dtype="uint8"), lambda planes, image: [image.base[: len(p), : p.shape[1], 0] for p in planes]),
    (Output(layout="hwc"), lambda planes, image: [p + 1 for p in planes]),
], ids=["planes that are one", "a window taken for the whole", "one level off"])  # fmt: skip
def test_the_law_sees_planes_that_are_others(output: Output, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check(output, IMAGE, _window)
    honest = Sink._planes
    monkeypatch.setattr(sinks.Sink, "_planes", lambda self, image: fault(honest(self, image), image))
    with pytest.raises(AssertionError):
        check(output, IMAGE, _window)


@pytest.mark.parametrize("kernels", KERNEL_SETS[1:], ids=lambda kernels: kernels.isa)
def test_the_law_sees_a_native_kernel_that_is_one_bit_off(kernels: Library) -> None:
    check(Output(), IMAGE, _window, kernels=kernels)
    for spoilt in (spoil_first, spoil_last):
        with pytest.raises(AssertionError):
            check(Output(), IMAGE, _window, kernels=Spoilt(kernels, 8, spoilt))


@pytest.mark.parametrize("kernels", KERNEL_SETS[1:], ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("at_end", [False, True])
def test_no_native_kernel_reads_or_writes_beside_its_arrays(kernels: Library, at_end: bool) -> None:
    for size in [(1, 1), (1, 7), (3, 513), (17, 15), (31, 33), (70, 64)]:
        for channels in (1, 2, 3, 4):
            for dtype, layout in (("float32", "chw"), ("float32", "hwc"), ("uint8", "chw")):
                for turn in SYMMETRIES:
                    image = guarded(np.random.default_rng(0).integers(0, 256, (*size, channels), np.uint8), at_end)
                    output = Output(dtype=dtype, layout=layout)  # type: ignore[arg-type]
                    expected = said(output, np.ascontiguousarray(turn.view(image)))
                    room = guarded(np.zeros_like(expected), at_end)
                    with using(kernels):
                        Sink(output)(turn.view(image), lambda shape, dtype, room=room: room)
                    np.testing.assert_array_equal(room, expected)


@pytest.mark.parametrize("kernels", KERNEL_SETS[1:], ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("layout", ["chw", "hwc"])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_a_part_of_a_batch_larger_than_the_cache_has_the_same_values(
    kernels: Library, layout: Any, channels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("augrecipes.native.kernels._FAR", 1 << 10)
    image: Any = np.random.default_rng(channels).integers(0, 256, (96, 128, channels), np.uint8)
    output = Output(layout=layout, normalize=Normalize((0.4,), (0.3,)))
    expected = said(output, image)
    for broken in (0, 1):  # whole lines of 64 bytes, then broken ones
        whole = np.full(expected.size + 32, np.nan, np.float32)
        start = -whole.ctypes.data % 64 // 4 + broken
        room = whole[start : start + expected.size].reshape(expected.shape)
        with using(kernels):
            Sink(output)(image, lambda shape, dtype, room=room: room)
        np.testing.assert_array_equal(room, expected)
        assert np.isnan(whole).sum() == 32


@pytest.mark.parametrize("kernels", KERNEL_SETS, ids=lambda kernels: kernels.isa if kernels else "python")
@pytest.mark.parametrize("layout", ["chw", "hwc"])
def test_floats_that_begin_at_odd_bytes_are_written_too(kernels: Library | None, layout: Any) -> None:
    output = Output(layout=layout)
    expected = said(output, IMAGE)
    room = np.zeros(expected.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(expected.shape)
    assert not room.flags.aligned
    with using(kernels):
        Sink(output)(IMAGE, lambda shape, dtype: room)
    np.testing.assert_array_equal(room, expected)
