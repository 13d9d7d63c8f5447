"""A PNG that is decoded strip by strip has the pixels of one that is decoded whole, and no strip is large."""

from __future__ import annotations

import random
import struct
import zlib

import numpy as np
import pytest
from decoding import decode_image

from augrecipes.errors import DataError
from augrecipes.sources.files import decode_mask
from augrecipes.sources.formats import opencv, png

KINDS = [(0, 8), (0, 16), (2, 8), (2, 16), (3, 8), (4, 8), (4, 16), (6, 8), (6, 16), (0, 1), (0, 4), (3, 2)]
SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def written(rng: random.Random, kind: int, bits: int, width: int, height: int, *, level: int = 6) -> bytes:
    """Rows of any bytes, each with any filter."""
    row = (width * bits * SAMPLES[kind] + 7) // 8
    few = rng.random() < 0.5  # values, so that the colour that is transparent occurs
    data = [
        bytes([rng.randrange(5)]) + (bytes(rng.choices(b"\0\1", k=row)) if few else rng.randbytes(row))
        for _ in range(height)
    ]
    parts = [chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0))]
    if kind == 3:
        parts += [chunk(b"PLTE", rng.randbytes(3 * 2**bits)), chunk(b"tRNS", rng.randbytes(3))]
    elif kind in (0, 2) and rng.random() < 0.5:
        parts.append(chunk(b"tRNS", bytes(2 * SAMPLES[kind])))
    packed = zlib.compress(b"".join(data), level)
    cut = rng.randrange(len(packed))
    parts += [chunk(b"IDAT", packed[:cut]), chunk(b"IDAT", packed[cut:]), chunk(b"IEND", b"")]
    return png.SIGNATURE + b"".join(parts)


def law(seed: int, files: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    for _ in range(files):
        kind, bits = rng.choice(KINDS)
        width, height = rng.randint(1, 30), rng.randint(1, 30)
        data = written(rng, kind, bits, width, height)
        found = []
        for strip in (rng.randint(1, 300), 2**20):
            monkeypatch.setattr(png, "_WHOLE", 0)
            monkeypatch.setattr(png, "_STRIP", strip)
            monkeypatch.setattr(png, "_ROWS", 1)
            found.append([decode_image(data, name="it", channels=c, depth="8bit") for c in (None, 1, 3, 4)])
            if kind in (0, 3):
                found[-1].append(decode_mask(data, name="it"))
        for strips, whole in zip(*found, strict=True):
            np.testing.assert_array_equal(strips, whole, err_msg=f"{kind}, {bits} bits, {width}×{height}")


def test_strips_have_the_pixels_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    law(0, 150, monkeypatch)


@pytest.mark.soak
def test_many_pictures_in_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    law(1, 10_000, monkeypatch)


@pytest.mark.parametrize("fault", [lambda row, kind: bytes(row.nbytes), lambda row, kind: row.tobytes()])
def test_a_row_above_that_is_wrong_is_caught(fault: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(png, "_samples", fault)
    with pytest.raises((AssertionError, DataError)):
        law(0, 150, monkeypatch)


def largest(monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Most bytes that OpenCV is given at a time of a large picture, and all of them."""
    given: list[int] = []
    decode = opencv.imdecode
    monkeypatch.setattr(opencv, "imdecode", lambda data, *h, **m: (given.append(len(data)), decode(data, *h, **m))[1])
    decode_image(written(random.Random(0), 2, 8, 2000, 900, level=1), name="it")
    return max(given), sum(given)


def test_no_strip_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    most, total = largest(monkeypatch)
    assert most < 2**17
    assert total < 1.1 * 2000 * 900 * 3


def test_a_picture_in_one_piece_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(png, "_WHOLE", 2**30)
    assert largest(monkeypatch)[0] > 2**22


@pytest.mark.parametrize("strip", [100, 2**20])
def test_wrong_ends_are_refused_and_more_pixels_are_not(strip: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(png, "_WHOLE", 0)
    monkeypatch.setattr(png, "_STRIP", strip)
    monkeypatch.setattr(png, "_ROWS", 1)
    rows = b"".join(b"\1" + bytes([k] * 60) for k in range(20))

    def read(packed: bytes) -> None:
        ihdr = chunk(b"IHDR", struct.pack(">IIBBBBB", 20, 20, 8, 2, 0, 0, 0))
        decode_image(png.SIGNATURE + ihdr + chunk(b"IDAT", packed) + chunk(b"IEND", b""), name="it")

    packed = zlib.compress(rows)
    for whole in (packed, packed[:-4], zlib.compress(rows + bytes(500)), packed + b"more"):
        read(whole)
    for bad, why in (
        (packed[:-1] + bytes([packed[-1] ^ 1]), "incorrect data check"),
        (zlib.compress(rows[:-1]), "1219 of 1220 bytes"),
        (packed[: len(packed) // 2], "truncated"),
        (zlib.compress(rows[:61] + b"\5" + rows[62:]), "unknown filter"),
    ):
        with pytest.raises(DataError, match=why):
            read(bad)
