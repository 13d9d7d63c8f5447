"""Drawings into files: JPEG, PNG, palette PNG, a JPEG that lies on its side; and earlier drawings away."""

from __future__ import annotations

import csv
import re
import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.demo.brushes import Random, Size


def random_of(seed: int, kind: int, number: int) -> Random:
    """What one drawing draws from; any integer is a seed.

    >>> random_of(-1, 2, 3).random() == random_of(-1, 2, 3).random()
    True
    """
    return np.random.default_rng((seed % (1 << 64), kind, number))


def shrunk(size: Size, shrink: int) -> Size:
    """Height and width divided, down to 64 px."""
    return max(size[0] // shrink, 64), max(size[1] // shrink, 64)


def remove_drawings(root: Path, pattern: str, name: str) -> None:
    """Delete the files below `root` that match the glob pattern, and whose name is one that the demo gives."""
    for path in root.glob(pattern):
        if re.fullmatch(name, path.name):
            path.unlink()


def write_picture(path: Path, pixels: NDArray[Any], orientation: int | None = None) -> Path:
    """Write RGB, grey or 16-bit pixels, encoded by the path's suffix; `orientation` (1..8) goes into the EXIF data."""
    if pixels.ndim == 3:
        pixels = pixels[..., ::-1]
    options = [cv2.IMWRITE_JPEG_QUALITY, 92] if path.suffix == ".jpg" else [cv2.IMWRITE_PNG_COMPRESSION, 3]
    encoded = cv2.imencode(path.suffix, np.ascontiguousarray(pixels), options)[1].tobytes()
    if orientation:  # an EXIF segment with this one entry, after the JPEG's start marker
        tiff = b"MM\0*\0\0\0\x08\0\x01" + struct.pack(">HHIHHI", 0x0112, 3, 1, orientation, 0, 0)
        encoded = encoded[:2] + struct.pack(">HH", 0xFFE1, len(tiff) + 8) + b"Exif\0\0" + tiff + encoded[2:]
    return _write(path, encoded)


def write_indices(path: Path, indices: NDArray[np.uint8], palette: Sequence[tuple[int, int, int]]) -> Path:
    """Write uint8 H×W indices into `palette` (RGB) as a PNG: the file keeps the numbers, viewers show colours."""
    rows = np.pad(indices, ((0, 0), (1, 0)))  # each row opens with its filter: 0, none
    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", *indices.shape[::-1], 8, 3, 0, 0, 0),
        b"PLTE": bytes(np.array(palette, np.uint8)),
        b"IDAT": zlib.compress(rows.tobytes()),
        b"IEND": b"",
    }
    packed = (
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks.items()
    )
    return _write(path, b"\x89PNG\r\n\x1a\n" + b"".join(packed))


def write_table(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """Write rows as CSV; the first is the header."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def _write(path: Path, encoded: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded)
    return path
