"""Photographs as JPEGs: drawn ones of the demo, or those of a folder."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import cv2
import numpy as np
from workloads import photos

from augrecipes.images.encoded import Encoded, encoded
from augrecipes.sources.files import read_image

QUALITY = 90
_LARGE = 4_000_000  # pixels


def jpegs(folder: Path | None, height: int, width: int, *, restart: bool = False) -> list[bytes]:
    """Photographs as JPEGs; `restart`: with a marker after each row of blocks."""
    options = [cv2.IMWRITE_JPEG_QUALITY, QUALITY, cv2.IMWRITE_JPEG_RST_INTERVAL, -(-width // 16) if restart else 0]
    drawn = _pictures(folder, height, width)
    return [cv2.imencode(".jpg", image[:, :, ::-1], options)[1].tobytes() for image in drawn]


def as_file(data: bytes) -> Encoded:
    """A JPEG as our Datasets hand it to a pipeline: read, and not decoded."""
    return encoded(data, name="photo.jpg")


@cache
def _pictures(folder: Path | None, height: int, width: int) -> list[np.ndarray]:
    if folder is not None:
        return _scaled(folder, height, width)
    if height * width < _LARGE:
        return photos(height, width)
    # Drawing large ones takes long: four of half the size, each with its reflections.
    halves = photos(height // 2, width // 2)[:4]
    return [np.hstack([both, both[:, ::-1]]) for both in (np.vstack([half, half[::-1]]) for half in halves)]


def _scaled(folder: Path, height: int, width: int) -> list[np.ndarray]:
    """Photographs of a folder, scaled to cover the size, and their middle cut out."""
    files = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in {".jpg", ".jpeg", ".png"}]
    if not files:
        raise SystemExit(f"{folder}: no JPEG and no PNG in it")
    found = []
    for image in map(read_image, files[: 4 if height * width >= _LARGE else 64]):
        scale = max(height / image.shape[0], width / image.shape[1])
        size = (max(width, round(image.shape[1] * scale)), max(height, round(image.shape[0] * scale)))
        large = cv2.resize(image, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)
        y, x = (large.shape[0] - height) // 2, (large.shape[1] - width) // 2
        found.append(np.ascontiguousarray(large[y : y + height, x : x + width]))
    return found
