"""PNG by windows: the pixels of Pillow and OpenCV whatever is cut out, and damage told wherever it is read."""

from __future__ import annotations

import ctypes
import io
import itertools
import random
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import pytest
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS
from numpy.typing import NDArray
from PIL import Image

from augrecipes.errors import DataError
from augrecipes.images import png
from augrecipes.images.encoded import Encoded, encoded
from augrecipes.native.kernels import library, using
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
    """The rows of a picture, or of a pass, with their filters."""
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


def window_of(rng: random.Random, height: int, width: int) -> tuple[int, int, int, int]:
    y, x = rng.randrange(height), rng.randrange(width)
    return y, x, rng.randint(y + 1, height), rng.randint(x + 1, width)


def law(rng: random.Random) -> None:
    """Any window of any kind, with every set of kernels and without: what was drawn."""
    kind, bits = rng.choice(KINDS)
    of = drawn(rng, kind, bits, interlaced=rng.random() < 0.2, clear=rng.random() < 0.3)
    height, width = of.samples.shape[:2]
    y0, x0, y1, x1 = window_of(rng, height, width)
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
    for interlaced in (False, True):
        of = drawn(rng, kind, bits, interlaced=interlaced, size=(21, 17))
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
    picture = encoded(data, name="x", channels=1)
    np.testing.assert_array_equal(picture.array()[:, :, 0], grey)
    np.testing.assert_array_equal(picture.view(0, 7, size[0], 300)[:, :, 0], grey[:, 7:300])


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


def photo(rng: random.Random, **more: Any) -> tuple[bytes, NDArray[np.uint8]]:
    of = drawn(rng, 2, 8, size=(64, 48), **more)
    return of.data, of.samples


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


def mutant(data: bytes, rng: random.Random) -> bytes:
    """A file with damage that its checksums do not tell of, mostly."""
    out = bytearray(data)
    begin, end = idat(data)
    for _ in range(rng.choice((1, 1, 3))):
        at = rng.randrange(begin, end) if begin < end and rng.random() < 0.7 else rng.randrange(8, len(out))
        out[at] = rng.randrange(256)
    rows = bytearray(zlib.decompressobj().decompress(data[begin:end]))
    if rows and rng.random() < 0.3:  # of other bytes, unknown filters among them
        rows[rng.randrange(len(rows))] = rng.randrange(256)
        made = zlib.compress(bytes(rows[: rng.randint(1, len(rows))] if rng.random() < 0.3 else rows), 1)
        out = bytearray(data[: begin - 8] + chunk(b"IDAT", made) + data[end + 4 :])
    at = 8
    while at + 12 <= len(out) and rng.random() < 0.97:
        stop = at + 8 + int.from_bytes(out[at : at + 4], "big")
        if stop + 4 > len(out):
            break
        struct.pack_into(">I", out, stop, zlib.crc32(out[at + 4 : stop]))
        at = stop + 4
    return bytes(out)


def found_in(picture: Encoded, *window: int) -> NDArray[np.uint8] | None:
    try:
        return picture.view(*window) if window else picture.array()
    except DataError as error:
        assert error.path == "it"
        return None


def fuzz(rng: random.Random, times: int) -> int:
    """What is read of mutants: the same with kernels and without, by OpenCV and by Pillow; how many were read."""
    read = 0
    for n in range(times):
        if n % 20 == 0:
            kind, bits = rng.choice([one for one in KINDS if one[1] >= 8])
            of = drawn(rng, kind, bits)
        data = mutant(of.data, rng)
        try:
            picture = encoded(data, name="it", depth="8bit", max_pixels=1 << 16)
        except DataError:
            continue
        window = window_of(rng, *picture.shape[:2])
        whole, part = found_in(picture), found_in(picture, *window)
        with using(None):
            by_pillow = found_in(picture)
        assert (whole is None) == (by_pillow is None)
        if whole is None or by_pillow is None:
            continue
        read += 1
        y0, x0, y1, x1 = window
        assert part is not None
        np.testing.assert_array_equal(whole, by_pillow)
        np.testing.assert_array_equal(part, whole[y0:y1, x0:x1])
        theirs = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
        if theirs is not None and theirs.shape == whole.shape and kind != 3:  # indices past a palette's end differ
            np.testing.assert_array_equal(whole, theirs[:, :, ::-1])
        if bits == 8 and kind != 3:
            with suppress(OSError, SyntaxError, ValueError):
                theirs = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
                assert theirs.shape != whole.shape or np.array_equal(whole, theirs)
    return read


@pytest.mark.parametrize("times", [400, pytest.param(100_000, marks=pytest.mark.soak)])
def test_mutants_are_read_as_others_read_them_or_refused(times: int) -> None:
    assert times // 10 < fuzz(random.Random(3), times) < times


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
