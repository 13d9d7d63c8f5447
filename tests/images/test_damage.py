"""Damage, one law for all formats: an array of the size that the header says, or a DataError that names the file."""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections import Counter

import encoded_pictures as pictures
import numpy as np
import pytest
from drawn_jpegs import Jpeg
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.images.encoded import encoded
from augrecipes.images.jpeg_windows import kept
from augrecipes.sources.files import decode_mask


def saved(array: NDArray[np.uint8]) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


FILES = {
    **{picture.name: picture.data for picture in pictures.all_pictures()},
    "plain.jpg": Jpeg(60, 45).data,
    "restarts.jpg": Jpeg(60, 45, restart=2, turn=6).data,
    "odd restarts.jpg": Jpeg(60, 45, restart=5, sampling="4:4:4").data,
    "grey restarts.jpg": Jpeg(60, 45, components=1, restart=3).data,
    "rgb.npy": saved(pictures.RGB),
    "grey.npy": saved(np.asfortranarray(pictures.GREY)),
}
NAMES = st.sampled_from(sorted(FILES))


def with_good_checksums(data: bytes) -> bytes:
    """A PNG whose chunks' checksums fit, so that damage reaches what lies behind them."""
    out, at = bytearray(data), 8
    while data[:4] == b"\x89PNG" and at + 12 <= len(out):
        end = at + 8 + struct.unpack_from(">I", out, at)[0]
        if end + 4 > len(out):
            break
        struct.pack_into(">I", out, end, zlib.crc32(out[at + 4 : end]))
        at = end + 4
    return bytes(out)


def damaged(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(out) if rng.random() < 0.4 else min(len(out), 120))
        match rng.randrange(7):
            case 0:
                out[at] = rng.randrange(256)
            case 1:
                out[at] ^= 1 << rng.randrange(8)
            case 2:
                del out[at : at + rng.randint(1, 9)]
            case 3:
                out[at:at] = rng.randbytes(rng.randint(1, 9))
            case 4:
                out[at : at + 4] = rng.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"\0\0\1\0"))
            case 5:
                out[at:at] = out[: rng.randint(1, 60)]
            case _:
                if rng.random() < 0.4:
                    del out[at:]
        if not out:
            break
    return with_good_checksums(bytes(out)) if rng.random() < 0.7 else bytes(out)


def read_or_none(
    data: bytes, window: tuple[int, int, int, int] | None = None, **how: int | None
) -> NDArray[np.uint8] | None:
    """What is read of a file; None where it is refused, by name."""
    try:
        it = encoded(data, name="it", max_pixels=1_000_000, **how)  # type: ignore[arg-type]
        if window is None:
            return it.array()
        # A header that is cut may say another size.
        return it.region(*window) if window[2] <= it.shape[0] and window[3] <= it.shape[1] else None
    except DataError as error:
        assert error.path == "it"
        assert str(error).startswith("it: ")
        return None


def some_window(rng: random.Random, height: int, width: int) -> tuple[int, int, int, int]:
    y, x = rng.randrange(height), rng.randrange(width)
    return y, x, rng.randint(y + 1, height), rng.randint(x + 1, width)


def check(data: bytes, rng: random.Random) -> str:
    """What becomes of a file, in a word; anything but an array as promised, or a DataError, fails."""
    try:
        it = encoded(data, name="it", max_pixels=1_000_000)
    except DataError as error:
        assert error.path == "it"
        return "no header"
    assert it.header.frames in (1, 2)
    for channels in (None, 1, 4):
        image = read_or_none(data, channels=channels)
        assert image is None or (image.dtype == np.uint8 and channels in (None, image.shape[2]))
    try:
        mask = decode_mask(data, name="it", max_pixels=1_000_000)
        assert mask.ndim == 2
        assert mask.dtype in (np.uint8, np.uint16, np.int32)
    except DataError as error:
        assert error.path == "it"
    kept(data, it.header, it.turn)
    window = y0, x0, y1, x1 = some_window(rng, *it.shape[:2])
    whole, part = read_or_none(data), read_or_none(data, window)
    if whole is None:
        return "refused" if part is None else "part"
    assert whole.shape == it.shape
    assert whole.dtype == np.uint8
    np.testing.assert_array_equal(part, whole[y0:y1, x0:x1])
    return "read"


@given(NAMES, st.randoms(use_true_random=False))
def test_damage_is_survived(name: str, rng: random.Random) -> None:
    check(damaged(FILES[name], rng), rng)


@given(NAMES, st.binary(max_size=80), st.randoms(use_true_random=False))
def test_noise_after_a_true_beginning_is_survived(name: str, noise: bytes, rng: random.Random) -> None:
    for keep in (0, 2, 4, 12, 26, 40):
        check(FILES[name][:keep] + noise, rng)


@pytest.mark.parametrize("name", FILES)
def test_a_cut_file_never_gives_other_pixels(name: str) -> None:
    data, rng = FILES[name], random.Random(1)
    whole, size = read_or_none(data), len(data)
    assert whole is not None
    for keep in {*range(0, size, 1 + size // 50), *range(size - 20, size)}:
        window = y0, x0, y1, x1 = some_window(rng, *whole.shape[:2])
        image, part = read_or_none(data[:keep]), read_or_none(data[:keep], window)
        for found, expected in ((image, whole), (part, whole[y0:y1, x0:x1])):
            if found is not None:  # what is missing is padding, a checksum or a note
                np.testing.assert_array_equal(found, expected)
                assert size - keep < 16


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".jpg")])
def test_an_end_marker_too_early_is_refused(name: str) -> None:
    data = FILES[name]
    start = data.rfind(b"\xff\xda") + 30
    for at in range(start, start + (len(data) - start) // 5, 37):
        assert read_or_none(data[:at] + b"\xff\xd9" + data[at:]) is None


def test_nothing_is_said_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    rng, found = random.Random(7), Counter[str]()
    for name, data in FILES.items():
        assert check(data, rng) == "read"
        for _ in range(25 if not name.endswith(".tif") else 0):  # of damage in those libtiff itself tells
            found[check(damaged(data, rng), rng)] += 1
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")
    assert 50 < found["read"] < found.total() * 0.8  # some damage is harmless, most is not
    assert found["refused"] > found["part"]


@pytest.mark.soak
def test_soak() -> None:
    rng, names = random.Random(), list(FILES)
    for _ in range(20_000):
        check(damaged(FILES[rng.choice(names)], rng), rng)
