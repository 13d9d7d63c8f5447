"""Pictures and masks without loss: the very array comes back, whole or in part, and damage never passes."""

from __future__ import annotations

import math
import zlib
from itertools import product
from typing import Any

import numpy as np
import pytest
from guarded import guarded
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt, spoil_first

from augrecipes.errors import DataError
from augrecipes.images import lossless
from augrecipes.images.format import UnreadableError
from augrecipes.images.lossless import LosslessPicture, encode
from augrecipes.native.kernels import using

pytest.importorskip("zstandard")

SIZES = st.integers(1, 70)
TILES = st.sampled_from([(128, 512), (7, 5), (16, 16), (1, 64)])
CONTENT = ("noise", "flat", "ramp")


def drawn(seed: int, dtype: str, height: int, width: int, channels: int, content: str) -> np.ndarray:
    """An array of any dtype that stores keep, without channels where they are 0."""
    shape = (height, width, channels) if channels else (height, width)
    rng, bound = np.random.default_rng(seed), np.iinfo(dtype)
    if content == "noise":
        return rng.integers(bound.min, bound.max, shape, endpoint=True).astype(dtype)
    if content == "flat":
        return np.full(shape, rng.integers(0, 255), dtype)
    return (
        (np.add.outer(np.arange(height) * 3, np.arange(width) * 2)[..., None] + np.arange(max(channels, 1)))
        .reshape(shape)
        .astype(dtype)
    )


def comes_back(array: np.ndarray, window: tuple[int, int, int, int]) -> None:
    """The law."""
    y0, x0, y1, x1 = window
    for data in (encode(array), memoryview(encode(np.asfortranarray(array)))):
        picture = LosslessPicture(data)
        assert (picture.shape, picture.dtype) == (array.shape, array.dtype)
        found = picture.array()
        assert (found.dtype, found.tobytes()) == (array.dtype, array.tobytes())
        assert np.array_equal(picture.view(y0, x0, y1, x1), array[y0:y1, x0:x1])


@settings(max_examples=150)
@given(
    st.integers(0, 9), st.sampled_from(["u1", "u1", "<u2", "<i4"]), SIZES, SIZES, st.integers(0, 5),
    st.sampled_from(CONTENT), TILES, st.booleans(), st.data(),
)  # fmt: skip
def test_the_very_array_comes_back(
    seed: int, dtype: str, height: int, width: int, channels: int, content: str, tile: tuple[int, int],
    native: bool, data: st.DataObject,
) -> None:  # fmt: skip
    y0, x0 = data.draw(st.integers(0, height - 1)), data.draw(st.integers(0, width - 1))
    y1, x1 = data.draw(st.integers(y0 + 1, height)), data.draw(st.integers(x0 + 1, width))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lossless, "TALL", tile[0])
        patch.setattr(lossless, "WIDE", tile[1])
        if not native:
            patch.setattr(lossless, "library", lambda: None)
        comes_back(drawn(seed, dtype, height, width, channels, content), (y0, x0, y1, x1))


def test_large_ones_come_back_and_windows_read_their_tiles_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    array = drawn(0, "u1", 300, 1100, 3, "noise")
    comes_back(array, (100, 500, 140, 530))
    read: list[int] = []
    true = LosslessPicture._decode
    monkeypatch.setattr(LosslessPicture, "_decode", lambda self, n, out: (read.append(n), true(self, n, out))[1])
    picture = LosslessPicture(encode(array))
    assert np.array_equal(picture.view(10, 520, 100, 1000), array[10:100, 520:1000])
    assert read == [1]
    picture.view(127, 511, 129, 513)
    assert read == [1, 0, 1, 3, 4]
    with pytest.raises(ValueError, match="not a part"):
        picture.view(0, 0, 301, 5)


def otherwise(tile: np.ndarray, way: int) -> np.ndarray:
    return residues_of(tile, way ^ lossless.ACROSS)


def without_colours(residues: bytes, way: int, out: np.ndarray) -> None:
    put(residues, way & lossless.ACROSS, out)


put, residues_of = lossless._put_together, lossless._residues


@pytest.mark.parametrize(("name", "fault"), [("_residues", otherwise), ("_put_together", without_colours)])
def test_a_planted_fault_is_caught(name: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lossless, name, fault)
    with pytest.raises(AssertionError):
        for seed in range(20):
            comes_back(drawn(seed, "u1", 40, 30, 3, "ramp"), (0, 0, 9, 8))


def forged(height: int, width: int, channels: int, sample: int, tiles: list[bytes]) -> bytes:
    """A picture whose head says what it likes, under the right checksums."""
    table = np.array([(len(tile), zlib.crc32(tile)) for tile in tiles], "<u4").tobytes()
    head = (lossless._MAGIC, height, width, channels, sample)
    stated = zlib.crc32(table, zlib.crc32(lossless._HEAD.pack(*head, 0)))
    return b"".join([lossless._HEAD.pack(*head, stated), table, *tiles])


@settings(max_examples=200)
@given(
    st.sampled_from([1, 20, 128, 5_000, 1 << 20, (1 << 32) - 1]), st.sampled_from([1, 11, 512, 9_999, (1 << 32) - 1]),
    st.sampled_from([0, 1, 3, 512, 513, (1 << 32) - 1]), st.integers(0, 3),
)  # fmt: skip
def test_a_forged_head_takes_no_memory(height: int, width: int, channels: int, sample: int) -> None:
    """No more than as many bytes can say at the best, whatever is said, and so many tiles as it takes."""
    count = -(-height // lossless.TALL) * -(-width // lossless.WIDE)
    data = forged(height, width, channels, sample, [b"frame"] * min(count, 5_000))
    asked: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        empty = np.empty
        patch.setattr(lossless.np, "empty", lambda shape, *a: (asked.append(math.prod(shape)), empty(shape, *a))[1])
        with pytest.raises((UnreadableError, DataError), match="damaged"):
            LosslessPicture(data).array()
    assert sum(asked) <= (1 << 15) * len(data)


def test_an_unbounded_head_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: heads that are not compared with what there is of tiles."""
    law = test_a_forged_head_takes_no_memory.hypothesis.inner_test  # type: ignore[attr-defined]
    law(5_000, 512, 64, 0)
    monkeypatch.setattr(lossless, "_MOST", 1 << 60)
    with pytest.raises(AssertionError):
        law(5_000, 512, 64, 0)


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((300, 1100, 3), "u1"), ((1, 1), "u1"), pytest.param((128, 512, 512), "<i4", marks=pytest.mark.soak)],
)
def test_what_is_as_small_as_can_be_is_read(shape: tuple[int, ...], dtype: str) -> None:
    """The bound is that of the format: samples that are all alike, of as many planes as there may be."""
    array = np.zeros(shape, dtype)
    assert np.array_equal(LosslessPicture(encode(array)).array(), array)


def test_any_bytes_are_no_picture() -> None:
    rng = np.random.default_rng(0)
    for size in range(120):
        for start in (b"", b"ARL2"):
            with pytest.raises(UnreadableError):
                LosslessPicture(start + rng.bytes(size))


def test_kernels_and_what_stands_for_them_agree() -> None:
    """To the bit, in every instruction set, and no byte is touched that is of neither array."""
    rng = np.random.default_rng(1)
    for planes, way in [*product((1, 2, 3, 4, 5, 9), (0, 1)), *product((3, 4, 5), (2, 3))]:
        for rows, columns in ((1, 1), (9, 31), (2, 16), (3, 48), (128, 512), (5, 511)):
            residues = rng.integers(0, 256, (planes, rows, columns), np.uint8)
            plain = np.zeros((rows, columns + 9, planes), np.uint8)[:, 5 : columns + 5]
            with using(None):
                put(residues.tobytes(), way, plain)
            for kernels, at_end in product(KERNEL_SETS[1:], (False, True)):
                given, out = guarded(residues, at_end), guarded(np.zeros_like(plain), at_end)
                kernel = kernels.kernel("residues", "plllpli")
                assert kernel(given.ctypes.data, planes, rows, columns, out.ctypes.data, out.strides[0], way) == 0
                assert np.array_equal(out, plain)
                assert np.array_equal(given, residues)


def test_a_kernel_that_spoils_a_byte_is_caught() -> None:
    if KERNEL_SETS[1:]:
        with using(Spoilt(KERNEL_SETS[-1], 4, spoil_first)), pytest.raises(AssertionError):  # type: ignore[arg-type]
            comes_back(drawn(0, "u1", 9, 8, 3, "noise"), (0, 0, 9, 8))
