"""TIFF layouts that Pillow does not write: planes, inverted grey, small samples, odd masks."""

from __future__ import annotations

import struct

import encoded_pictures as pictures
import numpy as np
import pytest
from decoding import decode_image

from augrecipes.errors import DataError
from augrecipes.sources.files import decode_mask


def tiff(photometric: int, bits: int, samples: int, *strips: bytes, planar: int = 1) -> bytes:
    """An uncompressed TIFF of WIDTH × HEIGHT, little-endian, one strip a plane."""
    out, starts = bytearray(b"II*\0\0\0\0\0"), []
    for strip in strips:
        starts.append(len(out))
        out += strip
    tags = {256: [pictures.WIDTH], 257: [pictures.HEIGHT], 258: [bits] * samples, 259: [1], 262: [photometric]}
    tags |= {273: starts, 277: [samples], 279: [len(strip) for strip in strips], 284: [planar]}
    if samples in (2, 4):
        tags[338] = [2]
    records = b""
    for tag, values in tags.items():
        place = len(out)
        if len(values) > 1:
            out += struct.pack(f"<{len(values)}I", *values)
        records += struct.pack("<HHII", tag, 4, len(values), place if len(values) > 1 else values[0])
    struct.pack_into("<I", out, 4, len(out))
    return bytes(out + struct.pack("<H", len(tags)) + records + bytes(4))


def test_tiff_layouts() -> None:
    planes = [np.ascontiguousarray(plane) for plane in pictures.RGB.transpose(2, 0, 1)]
    separate = tiff(2, 8, 3, *(plane.tobytes() for plane in planes), planar=2)
    np.testing.assert_array_equal(decode_image(separate, name="x"), pictures.RGB)
    with pytest.raises(DataError, match="strips"):
        decode_image(tiff(2, 8, 3, planes[0].tobytes(), planar=2), name="x")
    # Alpha is not multiplied into the colours.
    four = np.dstack([pictures.RGB, pictures.ALPHA])
    found = decode_image(tiff(2, 8, 4, four.tobytes()), name="x", channels=4)
    np.testing.assert_array_equal(found, four)
    deep = [(plane.astype(np.uint16) * 257).tobytes() for plane in planes]
    found = decode_image(tiff(2, 16, 3, *deep, planar=2), name="x", depth="8bit")
    np.testing.assert_array_equal(found, pictures.RGB)


def test_tiff_where_zero_is_white() -> None:
    white = tiff(0, 16, 1, pictures.DEEP.tobytes())
    np.testing.assert_array_equal(decode_image(white, name="x", channels=1)[:, :, 0], (65535 - pictures.DEEP) >> 8)
    np.testing.assert_array_equal(decode_mask(white, name="x"), pictures.DEEP)
    white = tiff(0, 8, 1, pictures.GREY.tobytes())
    np.testing.assert_array_equal(decode_image(white, name="x", channels=1)[:, :, 0], 255 - pictures.GREY)
    np.testing.assert_array_equal(decode_mask(white, name="x"), pictures.GREY)


def test_tiff_masks_keep_their_ids_or_are_refused() -> None:
    ids = pictures.IDS.astype(np.uint32)
    assert decode_mask(tiff(1, 32, 1, ids.tobytes()), name="x").dtype == np.int32
    pair = np.dstack([pictures.DEEP, pictures.DEEP])
    np.testing.assert_array_equal(decode_mask(tiff(1, 16, 2, pair.tobytes()), name="x"), pictures.DEEP)
    packed = (pictures.IDS[:, ::2] << 4 | pictures.IDS[:, 1::2]).astype(np.uint8)
    np.testing.assert_array_equal(decode_mask(tiff(1, 4, 1, packed.tobytes()), name="x"), pictures.IDS)
    np.testing.assert_array_equal(decode_image(tiff(1, 4, 1, packed.tobytes()), name="x")[:, :, 0], pictures.IDS * 17)
    np.testing.assert_array_equal(
        decode_image(tiff(0, 4, 1, packed.tobytes()), name="x")[:, :, 0], 255 - pictures.IDS * 17
    )
