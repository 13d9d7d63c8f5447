"""Pictures into files: JPEG, PNG, palette PNG, and a JPEG that lies on its side."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray


def write_picture(path: Path, pixels: NDArray[Any], orientation: int | None = None) -> Path:
    """Write RGB, grey or 16-bit pixels, encoded by the path's suffix; `orientation` (1..8) goes into the EXIF data."""
    if pixels.ndim == 3:
        pixels = pixels[..., ::-1]
    options = [cv2.IMWRITE_JPEG_QUALITY, 92] if path.suffix == ".jpg" else [cv2.IMWRITE_PNG_COMPRESSION, 3]
    done, buffer = cv2.imencode(path.suffix, np.ascontiguousarray(pixels), options)
    if not done:
        raise OSError(f"{path}: OpenCV could not encode it")
    encoded = buffer.tobytes()
    return write_bytes(path, encoded if orientation is None else _with_orientation(encoded, orientation))


def write_bytes(path: Path, encoded: bytes) -> Path:
    """Write `encoded`, in folders made where missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded)
    return path


def palette_png(indices: NDArray[np.uint8], palette: Sequence[tuple[int, int, int]]) -> bytes:
    """Encode uint8 H×W indices into `palette` (RGB) as a palette PNG: the file keeps the numbers, viewers show colours.

    >>> palette_png(np.zeros((2, 3), np.uint8), [(0, 0, 0)])[:4]
    b'\\x89PNG'
    """
    height, width = indices.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    rows = np.zeros((height, width + 1), np.uint8)  # each row opens with its filter: 0, none
    rows[:, 1:] = indices
    colours = bytes(value for colour in palette for value in colour)
    chunks = ((b"IHDR", header), (b"PLTE", colours), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    packed = (
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


def _with_orientation(jpeg: bytes, orientation: int) -> bytes:
    """The JPEG with an EXIF segment that says how to turn it (1..8), after its start marker."""
    entry = b"\x01\x12\x00\x03\x00\x00\x00\x01" + orientation.to_bytes(2, "big") + b"\x00\x00"
    tiff = b"MM\x00\x2a\x00\x00\x00\x08" + b"\x00\x01" + entry + b"\x00\x00\x00\x00"
    payload = b"Exif\x00\x00" + tiff
    return jpeg[:2] + b"\xff\xe1" + (len(payload) + 2).to_bytes(2, "big") + payload + jpeg[2:]
