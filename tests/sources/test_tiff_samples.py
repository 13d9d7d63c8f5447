"""TIFFs of every layout are read as they were drawn, and unpacked once; damaged ones are refused where Pillow does it.

Pillow listens to what libtiff complains of.
"""

from __future__ import annotations

import io
import random
import warnings
import zlib
from collections import Counter
from typing import Any

import drawn_tiffs
import numpy as np
import pytest
from decoding import decode_image
from drawn_tiffs import DEFLATE, LZW, OLD_DEFLATE, PACKBITS, PLAIN, Drawn
from numpy.typing import NDArray
from PIL import Image

from augrecipes.errors import DataError
from augrecipes.sources.formats import opencv, tiff, tiff_samples
from augrecipes.sources.formats.header import UnreadableError

NAMES = {LZW: "lzw", DEFLATE: "deflate", OLD_DEFLATE: "deflate", PACKBITS: "packbits"}


def meant(drawn: Drawn) -> NDArray[Any]:
    """The picture of what was drawn, of 8 bits, or of 16 where it was drawn so."""
    most, stored = 2**drawn.bits - 1, drawn.samples.astype(np.int64)
    match drawn.photometric:
        case drawn_tiffs.PALETTE:
            return (drawn_tiffs.palette(drawn.bits) // 256).T[stored[:, :, 0]]
        case drawn_tiffs.CMYK:
            return (255 - stored[:, :, :3]) * (255 - stored[:, :, 3:]) // 255
        case drawn_tiffs.RGB:
            return stored
    grey = most - stored[:, :, 0] if drawn.photometric == drawn_tiffs.WHITE_IS_ZERO else stored[:, :, 0]
    return grey * (255 // most) if most < 255 else grey


def as_drawn(seed: int, files: int) -> Counter[str]:
    """Samples as they were drawn, and pixels that are what those mean, to libtiff as well where it has no fault."""
    rng, found = random.Random(seed), Counter[str]()
    for _ in range(files):
        drawn = drawn_tiffs.draw(rng)
        data, _ = drawn_tiffs.written(drawn)
        info = tiff.header(data)
        image = tiff.decode(data, info, None)
        assert np.array_equal(image, meant(drawn)), drawn
        if drawn.photometric != drawn_tiffs.CMYK:
            assert np.array_equal(tiff.decode_mask(data, info), drawn.samples), drawn
        # It shows the ends of cut tiles of grey and alpha sheared, their planes not inverted, and refuses plain tiles.
        if drawn.bits == 8 and drawn.samples.shape[2] != 2 and (drawn.packing != PLAIN or not drawn.tiled):
            colored = image if image.ndim == 3 else np.dstack([image] * 3)
            assert np.array_equal(opencv.imdecode(data, info, color=True), colored[:, :, :3]), drawn
            found["compared with libtiff"] += 1
        found[str((drawn.packing, drawn.bits, drawn.tiled))] += 1
    return found


def test_every_layout_is_read_as_it_was_drawn() -> None:
    found = as_drawn(0, 300)
    assert found["compared with libtiff"] > 60
    assert len(found) > 40


@pytest.mark.soak
def test_many_layouts() -> None:
    as_drawn(1, 6000)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("_HORIZONTAL", None),
        ("_REVERSED", bytes(range(256))),
        ("unpack_bits", lambda rows, bits: rows.repeat(8 // bits, axis=1) & (2**bits - 1)),
        ("_with_zeros", lambda part, packing, blocks: bytes(part)),
    ],
)
def test_a_layout_that_is_misread_is_caught(name: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiff_samples, name, fault)
    with pytest.raises((AssertionError, UnreadableError)):
        as_drawn(0, 300)


def damaged(data: bytes, places: list[tuple[int, int]], rng: random.Random) -> bytes:
    changed, (at, size) = bytearray(data), rng.choice(places)
    begin = rng.randrange(at, at + size)
    match rng.randrange(4):
        case 0:
            changed[begin] ^= 1 << rng.randrange(8)
        case 1:
            end = min(begin + rng.randrange(1, 60), at + size)
            changed[begin:end] = bytes(end - begin)
        case 2:
            changed[begin : at + size] = rng.choice([b"\xff", b"\x80", b"\0"]) * (at + size - begin)
        case _:
            end = min(begin + rng.randrange(1, 60), at + size)
            changed[begin:end] = rng.randbytes(end - begin)
    return bytes(changed)


def read_by_pillow(data: bytes) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Image.open(io.BytesIO(data)).load()
    except (OSError, SyntaxError, ValueError):
        return False
    return True


def read_by_us(data: bytes) -> bool:
    try:
        decode_image(data, name="x.tiff", depth="8bit")
    except DataError:
        return False
    return True


def law(seed: int, files: int, damages: int) -> Counter[str]:
    """Whole files are read; of damaged ones none that Pillow refuses."""
    rng, found = random.Random(seed), Counter[str]()
    while files:
        drawn = drawn_tiffs.draw(rng)
        data, places = drawn_tiffs.written(drawn)
        if drawn.packing not in NAMES or not read_by_pillow(data):
            continue
        files -= 1
        assert read_by_us(data), drawn
        for _ in range(damages):
            bad = damaged(data, places, rng)
            ours, pillows = read_by_us(bad), read_by_pillow(bad)
            assert pillows or not ours, f"{drawn}: read, and Pillow refuses it"
            found[f"{NAMES[drawn.packing]} {'read' if ours else 'refused'}"] += 1
    return found


def test_what_libtiff_complains_of_is_refused() -> None:
    found = law(0, 60, 6)
    assert all(found[f"{packing} refused"] > 5 for packing in NAMES.values()), found


@pytest.mark.soak
def test_many_damaged_files() -> None:
    law(1, 1500, 10)


def overlooked(parts: Any, packing: int, width: int, rows: int) -> NDArray[np.uint16]:
    """Black for a damaged part, which OpenCV shows of 8 bits."""
    try:
        return read_as(parts, packing, width, rows)
    except UnreadableError:
        return np.zeros((len(parts) * rows, width), np.uint16)


def inflated_in_part(part: memoryview, needed: int, number: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(part, needed).ljust(needed, b"\0")
    except zlib.error:
        return bytes(needed)


read_as = tiff_samples._read_as_16_bits


@pytest.mark.parametrize(("name", "fault"), [("_read_as_16_bits", overlooked), ("_inflated", inflated_in_part)])
def test_damage_that_is_overlooked_is_caught(name: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiff_samples, name, fault)
    with pytest.raises(AssertionError, match="Pillow refuses it"):
        law(0, 150, 6)


def handed_over(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenCV and zlib are given the packed bytes once, and OpenCV little besides."""
    rng, given = random.Random(seed), []
    decode, inflater = opencv.imdecode, zlib.decompressobj
    monkeypatch.setattr(
        opencv, "imdecode", lambda data, *how, **more: (given.append(len(data)), decode(data, *how, **more))[1]
    )
    monkeypatch.setattr(zlib, "decompressobj", lambda: (given.append(0), inflater())[1])
    for _ in range(150):
        drawn = drawn_tiffs.draw(rng)
        data, places = drawn_tiffs.written(drawn)
        del given[:]
        tiff.decode(data, tiff.header(data), None)
        packed = sum(size for _, size in places)
        if drawn.packing in (DEFLATE, OLD_DEFLATE):
            assert given == [0] * len(places), drawn
        elif drawn.packing in (LZW, PACKBITS):
            assert sum(given) <= packed + len(places) * (8 + 9) + 150 * len(given), drawn
        else:
            assert not given, drawn


def test_nothing_is_unpacked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    handed_over(3, monkeypatch)


def test_a_second_unpacking_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = tiff_samples.samples
    monkeypatch.setattr(tiff_samples, "samples", lambda *given: (samples(*given), samples(*given))[1])
    with pytest.raises(AssertionError):
        handed_over(3, monkeypatch)
