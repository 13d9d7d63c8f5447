"""Compressed TIFFs that are damaged are refused wherever Pillow, which listens to libtiff, refuses them."""

from __future__ import annotations

import io
import random
import struct
import warnings
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from augrecipes.errors import DataError
from augrecipes.sources.files import decode_image
from augrecipes.sources.formats import tiff, tiff_damage
from augrecipes.sources.formats.tiff_ifd import first_directory

STRIPS, STRIP_BYTES = 273, 279
PACKINGS = ("tiff_lzw", "tiff_adobe_deflate", "packbits")
MODES = {"L": 1, "RGB": 3, "RGBA": 4, "CMYK": 4}


def drawn(mode: str, width: int, height: int, rng: np.random.Generator) -> Image.Image:
    """Something between a flat picture and noise."""
    small = rng.integers(0, 256, (3, 4, MODES[mode]), np.uint8)
    steps = np.kron(small, np.ones((-(-height // 3), -(-width // 4), 1), np.uint8))[:height, :width]
    noise = rng.integers(0, rng.choice([1, 2, 40]), steps.shape).astype(np.uint8)
    return Image.fromarray(
        (steps + noise).squeeze().reshape((height, width, -1)).squeeze(2) if mode == "L" else steps + noise, mode
    )


def written(image: Image.Image, packing: str, rows: int, predictor: int) -> bytes:
    buffer = io.BytesIO()
    more = {317: predictor} if packing != "packbits" else {}
    image.save(buffer, "tiff", compression=packing, tiffinfo={278: rows, **more})
    return buffer.getvalue()


def tiled(packing: str, across: int, down: int, rng: np.random.Generator) -> tuple[bytes, list[tuple[int, int]]]:
    """A grey picture of tiles of 16×16, whose data are those of strips that Pillow wrote; and where they lie."""
    tiles = []
    for _ in range(across * down):
        data = written(drawn("L", 16, 16, rng), packing, 16, 1)
        page = first_directory(data)
        at, size = page.values(data, STRIPS)[0], page.values(data, STRIP_BYTES)[0]
        tiles.append(data[at : at + size])
    count, code = len(tiles), {"tiff_lzw": 5, "tiff_adobe_deflate": 8, "packbits": 32773}[packing]
    tables = 8 + 2 + 11 * 12 + 4
    places, at = [], tables + 8 * count
    for tile in tiles:
        places.append((at, len(tile)))
        at += len(tile)
    values = [(256, 16 * across - 3), (257, 16 * down - 5), (258, 8), (259, code), (262, 1), (277, 1), (284, 1)]
    entries = [(tag, 4, 1, value) for tag, value in values]
    entries += [(322, 4, 1, 16), (323, 4, 1, 16), (324, 4, count, tables), (325, 4, count, tables + 4 * count)]
    directory = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    head = struct.pack("<2sHIH", b"II", 42, 8, len(entries)) + directory + bytes(4)
    head += struct.pack(f"<{2 * count}I", *(at for at, _ in places), *(size for _, size in places))
    return head + b"".join(tiles), places


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


def made(rng: random.Random) -> tuple[str, bytes, list[tuple[int, int]]]:
    """What it is, its bytes, and where its strips or tiles lie."""
    numbers, packing = np.random.default_rng(rng.getrandbits(32)), rng.choice(PACKINGS)
    if rng.random() < 0.25:
        across, down = rng.randint(1, 3), rng.randint(2, 3)
        return (f"{packing} {across}×{down} tiles", *tiled(packing, across, down, numbers))
    mode, width, height = rng.choice(list(MODES)), rng.randint(1, 40), rng.randint(1, 30)
    rows, predictor = rng.choice([1, 2, 7, height, height + 5]), rng.choice([1, 2])
    data = written(drawn(mode, width, height, numbers), packing, rows, predictor)
    page = first_directory(data)
    places = list(zip(page.values(data, STRIPS), page.values(data, STRIP_BYTES), strict=True))
    odd = packing == "tiff_lzw" and width * MODES[mode] % 2  # of their strips the last byte may not be looked at
    told = f"{packing} {mode} {width}×{height}, {rows} rows a strip, predictor {predictor}"
    return told + (" LZW by halves" if odd else ""), data, places


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
        decode_image(data, name="x.tiff")
    except DataError:
        return False
    return True


def law(seed: int, files: int, damages: int) -> Counter[str]:
    """Whole files are read; of damaged ones none that Pillow refuses."""
    rng, found = random.Random(seed), Counter[str]()
    for _ in range(files):
        what, data, places = made(rng)
        assert read_by_us(data), what
        for _ in range(damages):
            bad = damaged(data, places, rng)
            ours, pillows = read_by_us(bad), read_by_pillow(bad)
            if ours and not pillows and " LZW by halves" in what:
                found["the last byte of an odd strip"] += 1
                continue
            assert pillows or not ours, f"{what}: read, and Pillow refuses it"
            found[f"{what.split()[0]} {'read' if ours else 'refused'}"] += 1
    return found


def test_what_libtiff_complains_of_is_refused() -> None:
    found = law(0, 60, 6)
    assert all(found[f"{packing} refused"] > 5 for packing in PACKINGS), found


@pytest.mark.soak
def test_many_damaged_files() -> None:
    found = law(1, 1500, 10)
    assert found["the last byte of an odd strip"] < 0.1 * found["tiff_lzw refused"]


@pytest.mark.parametrize("part", ["lzw", "deflate", "packbits"])
def test_a_check_that_is_left_out_is_caught(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if part == "packbits":
        monkeypatch.setattr(tiff_damage, "_run_length", lambda part, most: most)
    else:
        monkeypatch.setattr(tiff_damage, f"_check_{part}", lambda *given: None)
    with pytest.raises(AssertionError, match="Pillow refuses it"):
        law(0, 150, 6)


def test_pixels_of_whole_files_are_pillows() -> None:
    rng = random.Random(2)
    for _ in range(40):
        what, data, _ = made(rng)
        if "RGB " in what or " L " in what:
            expected = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
            assert np.array_equal(decode_image(data, name="x"), expected), what


def test_what_opencv_tells_by_itself_is_not_decoded_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiff.tiff_damage, "check", lambda *given: pytest.fail("checked"))
    buffer = io.BytesIO()
    Image.fromarray(np.arange(600, dtype=np.uint16).reshape(20, 30)).save(buffer, "tiff", compression="tiff_lzw")
    tiff.decode_mask(buffer.getvalue(), tiff.header(buffer.getvalue()))
