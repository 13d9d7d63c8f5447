"""Pictures and masks without loss: the very array comes back, whole or in part, and damage never passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augrecipes.errors import DataError
from augrecipes.native.kernels import library
from augrecipes.sources import lossless
from augrecipes.sources.formats.header import UnreadableError
from augrecipes.sources.lossless import LosslessPicture, encode

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


def wrong(tile: np.ndarray, coloured: bool) -> np.ndarray:
    return np.ascontiguousarray(tile.transpose(2, 0, 1))


def without_colours(residues: np.ndarray, coloured: bool, out: np.ndarray) -> None:
    put(residues, False, out)


put = lossless._put_together


@pytest.mark.parametrize(("name", "fault"), [("_residues", wrong), ("_put_together", without_colours)])
def test_a_planted_fault_is_caught(name: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lossless, name, fault)
    with pytest.raises(AssertionError):
        comes_back(drawn(0, "u1", 9, 8, 3, "noise"), (0, 0, 9, 8))


Harm = Callable[[bytes, int, int], bytes]
HARMS: list[Harm] = [
    lambda data, at, value: data[:at] + bytes([data[at] ^ value]) + data[at + 1 :],
    lambda data, at, value: data[:at],
    lambda data, at, value: data[:at] + data[at + 1 :],
    lambda data, at, value: data + bytes([value]),
    lambda data, at, value: data[:at] + b"\xff\xff\xff\x7f" + data[at + 4 :],
    lambda data, at, value: data[: at // 2] + data[at:],
]


def noticed(data: bytes, array: np.ndarray) -> None:
    """What is damaged is an error, or was no damage."""
    try:
        found = LosslessPicture(data).array()
    except (UnreadableError, DataError):
        return
    assert found.shape == array.shape
    assert found.tobytes() == array.tobytes()


SMALL = drawn(3, "u1", 20, 11, 3, "ramp")


@settings(max_examples=300)
@given(st.sampled_from(HARMS), st.integers(0, 10_000), st.integers(1, 255))
def test_damage_is_noticed(harm: Harm, at: int, value: int) -> None:
    data = encode(SMALL)
    noticed(harm(data, at % len(data), value), SMALL)


def test_unchecked_damage_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: checksums that are not looked at."""
    data = encode(SMALL)
    monkeypatch.setattr(lossless.zlib, "crc32", lambda *_: 0)
    held = encode(SMALL)
    with pytest.raises(AssertionError):
        for at in range(len(data) - 1, 0, -1):
            noticed(HARMS[0](held, at, 1), SMALL)


def test_a_forged_head_takes_no_memory() -> None:
    """More channels than a picture has, under the right checksum."""
    data, start = encode(SMALL), lossless._HEAD.size
    table = data[start : start + 8]
    head = [*lossless._HEAD.unpack_from(data)[:3], 1 << 31, 0]
    stated = lossless.zlib.crc32(table, lossless.zlib.crc32(lossless._HEAD.pack(*head, 0)))
    with pytest.raises(UnreadableError, match="head is damaged"):
        LosslessPicture(lossless._HEAD.pack(*head, stated) + data[start:])


def test_any_bytes_are_no_picture() -> None:
    rng = np.random.default_rng(0)
    for size in range(120):
        for start in (b"", b"ARL1"):
            with pytest.raises(UnreadableError):
                LosslessPicture(start + rng.bytes(size))


def test_kernels_and_their_twin_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    if library() is None:
        pytest.skip("there are no kernels")
    rng = np.random.default_rng(1)
    for planes, coloured in ((1, False), (2, False), (3, False), (3, True), (4, True), (8, False)):
        residues = rng.integers(0, 256, (planes, 9, 31), np.uint8)
        native, plain = np.zeros((9, 31, planes), np.uint8), np.zeros((9, 40, planes), np.uint8)[:, 5:36]
        put(residues, coloured, native)
        with monkeypatch.context() as patch:
            patch.setattr(lossless, "library", lambda: None)
            put(residues, coloured, plain)
        assert np.array_equal(native, plain)
