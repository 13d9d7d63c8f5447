"""PNG by windows: the pixels of Pillow and OpenCV whatever is cut out, and damage told wherever it is read."""

import ctypes
import itertools
import math
import random
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt, guarded, spoil_first, using
from numpy.typing import NDArray
from support.damage import some_window

from augrecipes.errors import DataError
from augrecipes.images import lossless, png
from augrecipes.images.encoded import encoded
from augrecipes.images.format import UnreadableError
from augrecipes.images.lossless import LosslessImage, encode
from augrecipes.native.kernels import library
from augrecipes.sources.files import decode_mask, open_mask

SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
KINDS = [(kind, bits) for kind in SAMPLES for bits in (1, 2, 4, 8, 16) if bits in png._DEPTHS[kind]]
ADAM7 = png._ADAM7


@dataclass(frozen=True)
class Drawn:
    """A PNG that was written here, and its samples, H×W×S."""

    data: bytes
    samples: NDArray[Any]
    kind: int
    bits: int
    palette: NDArray[np.uint8]
    clear: bytes


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def filtered(row: bytes, above: bytes, pixel: int, how: int) -> bytes:
    """A row as the specification filters it, byte by byte."""
    out = bytearray([how])
    for x, byte in enumerate(row):
        a, b, c = (row[x - pixel] if x >= pixel else 0), above[x], (above[x - pixel] if x >= pixel else 0)
        p = a + b - c
        nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
        out.append((byte - (0, a, b, (a + b) // 2, nearest)[how]) % 256)
    return bytes(out)


def packed(samples: NDArray[Any], bits: int, filters: Iterator[int]) -> bytes:
    """The rows of an image, or of a pass, with their filters."""
    pixel, out, above = max(samples.shape[2] * bits // 8, 1), b"", b""
    for row in samples.reshape(len(samples), -1):
        if bits == 16:
            stored = row.astype(">u2").tobytes()
        else:
            spread = np.unpackbits(row.astype(np.uint8)[:, None], axis=1)[:, 8 - bits :]
            stored = np.packbits(spread.reshape(-1)).tobytes()
        out += filtered(stored, above or bytes(len(stored)), pixel, next(filters))
        above = stored
    return out


def drawn(
    rng: random.Random, kind: int, bits: int, *, interlaced: bool = False, size: Any = None, clear: bool = False
) -> Drawn:
    height, width = size or (rng.randint(1, 24), rng.randint(1, 24))
    levels = np.random.default_rng(rng.randrange(1 << 32))
    smooth = np.add.outer(np.arange(height) * rng.randint(0, 9), np.arange(width) * rng.randint(0, 9))[..., None]
    samples = (smooth + levels.integers(0, rng.choice((1, 4, 2**bits)), (height, width, SAMPLES[kind]))) % 2**bits
    samples = samples.astype(np.uint16 if bits == 16 else np.uint8)
    filters = itertools.repeat(rng.randrange(5)) if rng.random() < 0.3 else iter(lambda: rng.randrange(5), None)
    steps = ADAM7 if interlaced else ((0, 0, 1, 1),)
    parts = (samples[y::dy, x::dx] for x, y, dx, dy in steps)
    rows = b"".join(packed(part, bits, filters) for part in parts if part.size)
    squeezed = zlib.compress(rows, rng.choice((0, 1, 6)))
    cuts = sorted(rng.randrange(len(squeezed) + 1) for _ in range(rng.choice((0, 0, 3))))
    pieces = [squeezed[a:b] for a, b in itertools.pairwise([0, *cuts, len(squeezed)])]
    palette = levels.integers(0, 256, (2 ** min(bits, 8), 3), np.uint8)
    said = b""
    if clear and kind in (0, 2, 3):
        one = samples[rng.randrange(height), rng.randrange(width)]
        said = levels.integers(0, 256, len(palette), np.uint8).tobytes() if kind == 3 else one.astype(">u2").tobytes()
    data = png.SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, interlaced))
    data += chunk(b"PLTE", palette.tobytes()) if kind == 3 else b""
    data += chunk(b"tRNS", said) if said else b""
    data += b"".join(chunk(b"IDAT", piece) for piece in pieces) + chunk(b"IEND", b"")
    return Drawn(data, samples, kind, bits, palette, said)


def meant(of: Drawn) -> NDArray[np.uint8]:
    """What the samples are as they are drawn, H×W×4."""
    full = of.samples.astype(np.int64) * 255 // (2**of.bits - 1) if of.bits < 8 else of.samples >> max(of.bits - 8, 0)
    alpha = np.full(of.samples.shape[:2], 255)
    if of.kind == 3:
        colours = of.palette[of.samples[:, :, 0]]
        alpha = np.frombuffer(of.clear, np.uint8)[of.samples[:, :, 0]] if of.clear else alpha
        return np.dstack([colours, alpha]).astype(np.uint8)
    if of.kind in (4, 6):
        alpha = full[:, :, -1]
    elif of.clear:
        alpha = np.where((of.samples == np.frombuffer(of.clear, ">u2")).all(axis=2), 0, 255)
    grey = of.kind in (0, 4)
    return np.dstack([full[:, :, :1]] * 3 + [alpha] if grey else [full[:, :, :3], alpha]).astype(np.uint8)


def law(rng: random.Random) -> None:
    """Any window of any kind, with every set of kernels and without: what was drawn."""
    kind, bits = rng.choice(KINDS)
    of = drawn(rng, kind, bits, interlaced=rng.random() < 0.2, clear=rng.random() < 0.3)
    height, width = of.samples.shape[:2]
    y0, x0, y1, x1 = some_window(rng, height, width)
    whole = meant(of)
    for kernels in KERNEL_SETS:
        with using(kernels):
            four = encoded(of.data, name="it", channels=4, depth="8bit")
            np.testing.assert_array_equal(four.array(), whole)
            np.testing.assert_array_equal(four.view(y0, x0, y1, x1), whole[y0:y1, x0:x1])
            three = encoded(of.data, name="it", depth="8bit")
            np.testing.assert_array_equal(three.region(y0, x0, y1, x1), whole[y0:y1, x0:x1, :3])
            if kind in (0, 3, 4):
                np.testing.assert_array_equal(decode_mask(of.data, name="it"), of.samples[:, :, 0])
            info = png.header(of.data)
            part = png.Area(y0, x0, y1, x1)
            stored = png._samples(of.data, info, part)
            np.testing.assert_array_equal(stored, of.samples[y0:y1, x0:x1])


@given(st.randoms(use_true_random=False))
def test_windows_are_what_was_drawn(rng: random.Random) -> None:
    law(rng)


@pytest.mark.parametrize(("kind", "bits"), KINDS)
def test_every_kind_and_filter(kind: int, bits: int) -> None:
    rng = random.Random(kind * 100 + bits)
    # Rows so long that sums of what is stored pass 16 bits, too.
    for interlaced, size in ((False, (21, 17)), (True, (21, 17)), (False, (9, 700))):
        of = drawn(rng, kind, bits, interlaced=interlaced, size=size)
        flags = cv2.IMREAD_COLOR if kind in (2, 3, 6) else cv2.IMREAD_GRAYSCALE
        theirs = cv2.imdecode(np.frombuffer(of.data, np.uint8), flags)
        channels = 3 if theirs.ndim == 3 else 1
        ours = encoded(of.data, name="it", channels=channels, depth="8bit").array()
        np.testing.assert_array_equal(ours, theirs.reshape(*theirs.shape[:2], -1)[:, :, ::-1])


@pytest.mark.parametrize("size", [(1, 65534), (1, 65535), (70, 21845), (400, 500)])
@pytest.mark.parametrize("more", [0, 70_000])
def test_large_rows_many_strips_and_pixels_that_no_row_has_room_for(size: tuple[int, int], more: int) -> None:
    grey = np.random.default_rng(0).integers(0, 256, size, np.uint8)
    rows = zlib.compress(np.pad(grey, ((0, 0), (1, 0))).tobytes() + bytes(more), 0)
    ihdr = struct.pack(">IIBBBBB", size[1], size[0], 8, 0, 0, 0, 0)
    data = png.SIGNATURE + chunk(b"IHDR", ihdr) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    image = encoded(data, name="x", channels=1)
    np.testing.assert_array_equal(image.array()[:, :, 0], grey)
    np.testing.assert_array_equal(image.view(0, 7, size[0], 300)[:, :, 0], grey[:, 7:300])


@pytest.mark.skipif(library() is None, reason="no native kernels")
@pytest.mark.parametrize("fault", ["above", "left", "first"])
def test_a_fault_in_a_window_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = png._kernel

    def wrong(kernels: Any) -> Any:
        def undo(rows: Any, *numbers: int) -> int:
            count, size, pixel, first, x0, x1, room, *to = numbers
            if fault == "first":
                first = min(first + 1, count)
            if fault == "left" and x0:
                x0, x1 = x0 - pixel, x1 - pixel
            answer: int = kernel(kernels)(rows, count, size, pixel, first, x0, x1, room, *to)
            if fault == "above":
                ctypes.memset(room, 9, x1)
            return answer

        return undo

    monkeypatch.setattr(png, "_kernel", wrong)
    monkeypatch.setattr(png, "_STRIP", 40)
    with pytest.raises(AssertionError):
        for seed in range(60):
            law(random.Random(seed))


def idat(data: bytes) -> tuple[int, int]:
    at = data.index(b"IDAT")
    return at + 4, at + 4 + int.from_bytes(data[at - 4 : at], "big")


def cut(data: bytes) -> list[bytes]:
    """The same pixels in chunks of 500 bytes, from the first on."""
    begin, end = idat(data)
    parts = [chunk(b"IDAT", data[k : min(k + 500, end)]) for k in range(begin, end, 500)]
    return [data[: begin - 8], *parts, data[end + 4 :]]


def test_checksums_and_lengths_are_compared_of_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = cv2.imencode(".png", np.random.default_rng(1).integers(0, 256, (64, 48, 3), np.uint8))[1].tobytes()
    pixels = encoded(data, name="it").array()
    parts = cut(data)
    last = bytearray(parts[-2])
    last[len(last) // 2] ^= 4
    damaged = b"".join([*parts[:-2], last, parts[-1]])
    with pytest.raises(DataError, match="checksum of its PNG chunk IDAT"):
        encoded(damaged, name="it").array()
    with pytest.raises(DataError, match="checksum of its PNG chunk IDAT"):
        encoded(damaged, name="it").view(60, 0, 64, 9)
    if library() is not None:  # what lies behind the window is not read, unless it is asked for
        np.testing.assert_array_equal(encoded(damaged, name="it").view(4, 3, 20, 30), pixels[4:20, 3:30])
    monkeypatch.setenv(png.REST, "all")
    with pytest.raises(DataError, match="checksum of its PNG chunk IDAT"):
        encoded(damaged, name="it").view(4, 3, 20, 30)
    monkeypatch.delenv(png.REST)
    with pytest.raises(DataError, match="no end chunk"):
        encoded(data[:-12], name="it").view(4, 3, 20, 30)
    with pytest.raises(DataError, match="truncated"):
        encoded(b"".join([*parts[:-3], parts[-1]]), name="it").view(60, 3, 64, 30)


def test_wrong_ends_are_refused() -> None:
    rows = bytes(33) * 8
    other = zlib.compress(rows)[:-1] + b"\0"
    for packed_rows, reason in ((other, "check|damaged"), (zlib.compress(rows[:-1]), "truncated")):
        ihdr = struct.pack(">IIBBBBB", 32, 8, 8, 0, 0, 0, 0)
        data = png.SIGNATURE + chunk(b"IHDR", ihdr) + chunk(b"IDAT", packed_rows) + chunk(b"IEND", b"")
        for kernels in KERNEL_SETS:
            with using(kernels), pytest.raises(DataError, match=reason):
                encoded(data, name="it").array()


def verdicts(stream: bytes, at: int = 30) -> set[bytes | None]:
    """The pixels of a stream of 8 rows of 32, with each set of kernels and without; None where it is refused."""
    ihdr = struct.pack(">IIBBBBB", 32, 8, 8, 0, 0, 0, 0)
    data = png.SIGNATURE + chunk(b"IHDR", ihdr) + chunk(b"IDAT", stream[:at]) + chunk(b"IDAT", stream[at:])
    found: set[bytes | None] = set()
    for kernels in KERNEL_SETS:
        with using(kernels):
            try:
                found.add(encoded(data + chunk(b"IEND", b""), name="it", channels=1).array().tobytes())
            except DataError:
                found.add(None)
    return found


def test_streams_are_read_or_refused_with_and_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(0)
    rows = bytes(rng.randrange(9) if k % 33 else rng.randrange(5) for k in range(33 * 8))
    stream = zlib.compress(rows)
    for cut in range(1, 9):  # the end of the data, or of their checksum
        assert verdicts(stream[:-cut]) == {None}
    preset = b"\x78\xbb" + bytes(4) + stream[2:]
    assert all(verdicts(preset, at) == {None} for at in range(9))
    with_more = zlib.compress(rows + bytes(99))
    for _ in range(300):
        mutant = bytearray(rng.choice((stream, with_more)))
        mutant[rng.randrange(2 if rng.random() < 0.3 else len(mutant))] ^= 1 << rng.randrange(8)
        assert len(verdicts(bytes(mutant[: len(mutant) - rng.choice((0, 0, 1, 5))]))) == 1
    monkeypatch.setattr(png, "_PRESET", 0)
    assert any(verdicts(preset, at) != {None} for at in range(9)) == (png._inflate is not zlib)


@pytest.mark.skipif(library() is None, reason="no native kernels")
@pytest.mark.parametrize("pixel", [1, 2, 3, 4, 6, 8])
def test_nothing_is_read_or_written_beside_the_arrays(pixel: int) -> None:
    rng = random.Random(pixel)
    for kernels, at_end in itertools.product(filter(None, KERNEL_SETS), (False, True)):
        undo = kernels.kernel("png_rows", "pllllllppl")
        for count, width in ((1, 1), (2, 1), (3, 5), (4, 33)):
            size = width * pixel
            x0 = rng.randrange(width) * pixel
            x1 = rng.randint(x0 // pixel + 1, width) * pixel
            rows = guarded(np.random.default_rng(0).integers(0, 256, count * (size + 1), np.uint8), at_end)
            rows[:: size + 1] = [rng.randrange(5) for _ in range(count)]
            room = guarded(np.zeros(3 * (x1 + 16), np.uint8), at_end)
            out = guarded(np.zeros(count * (x1 - x0), np.uint8), at_end)
            addresses = rows.ctypes.data, room.ctypes.data, out.ctypes.data
            assert not undo(addresses[0], count, size, pixel, 0, x0, x1, *addresses[1:], x1 - x0)
            assert undo(addresses[0], count, size, pixel, 0, x1, x0, *addresses[1:], x1 - x0)


def test_masks_are_read_by_windows(tmp_path: Any) -> None:
    rng = random.Random(5)
    for kind, bits in ((3, 8), (0, 8), (3, 4), (0, 16), (4, 8)):
        of = drawn(rng, kind, bits, size=(30, 20))
        (tmp_path / "mask.png").write_bytes(of.data)
        found = open_mask(tmp_path / "mask.png")
        if bits == 8 and kind != 4:
            assert found.shape == (30, 20, 1)
            assert not isinstance(found, np.ndarray)
            np.testing.assert_array_equal(found.view(3, 4, 25, 9), of.samples[3:25, 4:9])
            found = found.array()[:, :, 0]
        np.testing.assert_array_equal(found, of.samples[:, :, 0])


# Images and masks without loss: the very array comes back, whole or in part, and damage never passes.


pytest.importorskip("zstandard")

SIZES = st.integers(1, 70)
TILES = st.sampled_from([(128, 512), (7, 5), (16, 16), (1, 64)])
CONTENT = ("noise", "flat", "ramp")


def drawn_lossless(seed: int, dtype: str, height: int, width: int, channels: int, content: str) -> np.ndarray:
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
        image = LosslessImage(data)
        assert (image.shape, image.dtype) == (array.shape, array.dtype)
        found = image.array()
        assert (found.dtype, found.tobytes()) == (array.dtype, array.tobytes())
        assert np.array_equal(image.view(y0, x0, y1, x1), array[y0:y1, x0:x1])


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
        comes_back(drawn_lossless(seed, dtype, height, width, channels, content), (y0, x0, y1, x1))


def test_large_ones_come_back_and_windows_read_their_tiles_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    array = drawn_lossless(0, "u1", 300, 1100, 3, "noise")
    comes_back(array, (100, 500, 140, 530))
    read: list[int] = []
    true = LosslessImage._decode
    monkeypatch.setattr(LosslessImage, "_decode", lambda self, n, out: (read.append(n), true(self, n, out))[1])
    image = LosslessImage(encode(array))
    assert np.array_equal(image.view(10, 520, 100, 1000), array[10:100, 520:1000])
    assert read == [1]
    image.view(127, 511, 129, 513)
    assert read == [1, 0, 1, 3, 4]
    with pytest.raises(ValueError, match="not a part"):
        image.view(0, 0, 301, 5)


def otherwise(tile: np.ndarray, way: int) -> np.ndarray:
    return residues_of(tile, way ^ lossless.ACROSS)


def without_colours(residues: bytes, way: int, out: np.ndarray) -> None:
    put(residues, way & lossless.ACROSS, out)


put, residues_of = lossless._reconstruct, lossless._residues


@pytest.mark.parametrize(("name", "fault"), [("_residues", otherwise), ("_reconstruct", without_colours)])
def test_a_planted_fault_is_caught(name: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lossless, name, fault)
    with pytest.raises(AssertionError):
        for seed in range(20):
            comes_back(drawn_lossless(seed, "u1", 40, 30, 3, "ramp"), (0, 0, 9, 8))


def forged(height: int, width: int, channels: int, sample: int, tiles: list[bytes]) -> bytes:
    """An image whose head says what it likes, under the right checksums."""
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
            LosslessImage(data).array()
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
    assert np.array_equal(LosslessImage(encode(array)).array(), array)


def test_a_kernel_that_spoils_a_byte_is_caught() -> None:
    if KERNEL_SETS[1:]:
        with using(Spoilt(KERNEL_SETS[-1], 4, spoil_first)), pytest.raises(AssertionError):  # type: ignore[arg-type]
            comes_back(drawn_lossless(0, "u1", 9, 8, 3, "noise"), (0, 0, 9, 8))
