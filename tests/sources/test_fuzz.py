"""Damaged files of every format: an array of the size that the header says, or a DataError that names the file."""

from __future__ import annotations

import random
import struct
import zlib

import encoded_pictures as pictures
import numpy as np
import pytest
from decoding import decode_image
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.sources.files import decode_mask
from augrecipes.sources.headers import read_header

PICTURES = pictures.all_pictures()


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


def read_or_none(data: bytes) -> NDArray[np.uint8] | None:
    try:
        return decode_image(data, name="it")
    except DataError:
        return None


def check_channels(data: bytes, channels: int | None) -> None:
    try:
        image = decode_image(data, name="it", channels=channels, max_pixels=1_000_000)
    except DataError as error:
        assert error.path == "it"
    else:
        assert image.dtype == np.uint8
        assert channels in (None, image.shape[2])


def check(data: bytes) -> bool:
    """Whether it was read; anything but an array as promised, or a DataError, fails."""
    try:
        image = decode_image(data, name="it", max_pixels=1_000_000)
    except DataError as error:
        assert error.path == "it"
        assert str(error).startswith("it: ")
        image = None
    for channels in (None, 1, 4):
        check_channels(data, channels)
    try:
        mask = decode_mask(data, name="it", max_pixels=1_000_000)
    except DataError as error:
        assert error.path == "it"
    else:
        assert mask.ndim == 2
        assert mask.dtype in (np.uint8, np.uint16, np.int32)
    if image is None:
        return False
    header = read_header(data)
    size = (header.height, header.width) if header.orientation < 5 else (header.width, header.height)
    assert image.shape == (*size, 3)
    assert image.dtype == np.uint8
    return True


@given(st.sampled_from(PICTURES), st.randoms(use_true_random=False))
def test_damage_is_survived(picture: pictures.Picture, rng: random.Random) -> None:
    check(damaged(picture.data, rng))


@given(st.sampled_from(PICTURES), st.binary(max_size=80))
def test_noise_after_a_true_beginning_is_survived(picture: pictures.Picture, noise: bytes) -> None:
    for keep in (2, 4, 12, 26, 40):
        check(picture.data[:keep] + noise)


@given(st.binary(max_size=200))
def test_noise_is_no_picture(noise: bytes) -> None:
    check(noise)


@pytest.mark.parametrize("picture", PICTURES, ids=lambda p: p.name)
def test_a_cut_file_never_gives_other_pixels(picture: pictures.Picture) -> None:
    whole = decode_image(picture.data, name="it")
    size = len(picture.data)
    for keep in {*range(0, size, 1 + size // 50), *range(size - 20, size)}:
        image = read_or_none(picture.data[:keep])
        if image is not None:  # what is missing is padding, a checksum or a note
            np.testing.assert_array_equal(image, whole)
            assert size - keep < 16


def test_nothing_is_said_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    rng, read = random.Random(7), 0
    for picture in PICTURES:
        assert check(picture.data)
        for _ in range(25 if not picture.name.endswith(".tif") else 0):  # of damage in those libtiff itself tells
            read += check(damaged(picture.data, rng))
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")
    assert 50 < read < len(PICTURES) * 20  # some damage is harmless, most is not


@pytest.mark.soak
def test_soak(capfd: pytest.CaptureFixture[str]) -> None:
    rng = random.Random()
    for _ in range(20_000):
        check(damaged(rng.choice(PICTURES).data, rng))
    assert capfd.readouterr().err == ""
