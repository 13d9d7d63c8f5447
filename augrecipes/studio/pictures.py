"""Pictures as PNGs, each under an address that nobody can guess, as many as a bound on memory allows."""

from __future__ import annotations

import secrets
import struct
import threading
import zlib
from collections import OrderedDict
from hashlib import blake2b
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.preview.display import Picture, picture_of_output, within
from augrecipes.recipe.model import Output

MOST_BYTES = 192 << 20
_COARSE = 64  # px; smaller pictures are made at once of the large ones
_COLOURS = {3: 2, 4: 6}  # PNG's numbers of RGB and RGBA


def png_of(picture: NDArray[np.uint8]) -> bytes:
    """A picture H×W×3 RGB, or H×W×4 RGBA, as a PNG: its pixels come back to the bit.

    Nothing is compressed: it goes no further than to the browser of this machine, and compressing takes ten times as
    long as all else about it.

    >>> picture = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    >>> back = cv2.imdecode(np.frombuffer(png_of(picture), np.uint8), cv2.IMREAD_UNCHANGED)
    >>> bool((back[..., ::-1] == picture).all())
    True
    """
    height, width, channels = picture.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # before each row the number of its filter: none
    rows[:, 1:] = picture.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    parts = (b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), 0)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(name)))


def shown_of(image: NDArray[Any], output: Output, size: int) -> Picture:
    """What a pipeline has returned as a picture, with its longer side at most `size` px; 0: as it is.

    Of floats that are to be shown smaller the smaller ones are turned into levels, which are a few.
    """
    first = output.layout == "chw"
    height, width = image.shape[1:] if first else image.shape[:2]
    if not size or max(height, width) <= size or image.dtype != np.float32:
        return shrunk(picture_of_output(image, output), size)
    scale = size / max(height, width)
    to = max(round(width * scale), 1), max(round(height * scale), 1)
    planes = image if first else np.moveaxis(image, -1, 0)
    small = np.stack([_smaller(np.ascontiguousarray(plane), to) for plane in planes])
    return picture_of_output(small if first else np.moveaxis(small, 0, -1), output)


def _smaller(plane: NDArray[Any], to: tuple[int, int]) -> NDArray[Any]:
    """A plane at a width and height; by halves at first, which is many times as fast, unless it becomes tiny."""
    while min(to) >= _COARSE and all(
        there % 2 == 0 and there >= 2 * wanted for there, wanted in zip(plane.shape, to[::-1], strict=True)
    ):
        plane = cv2.resize(plane, (plane.shape[1] // 2, plane.shape[0] // 2), interpolation=cv2.INTER_AREA)
    return cv2.resize(plane, to, interpolation=cv2.INTER_AREA)


def shrunk(picture: Picture, size: int) -> Picture:
    """The picture with its longer side at most `size` px; 0: as it is."""
    return within(picture, size) if size else picture


class Pictures:
    """PNGs by address, those asked for least recently dropped first; safe to use from several threads."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._bytes = most_bytes, 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self._secret = secrets.token_bytes(32)

    def put(self, picture: NDArray[np.uint8], size: int = 0, whole: tuple[int, int] | None = None) -> dict[str, Any]:
        """Keep a picture, shown with its longer side at most `size` px.

        Returns:
            `url`, and `width` and `height` of the picture before it was made smaller: here, or as `whole` says.
        """
        data = png_of(shrunk(picture, size))
        address = blake2b(data, key=self._secret, digest_size=16).hexdigest()
        with self._lock:
            if address not in self._kept:
                self._bytes += len(data)
            self._kept[address] = data
            self._kept.move_to_end(address)
            while self._bytes > self._most and len(self._kept) > 1:
                _, gone = self._kept.popitem(last=False)
                self._bytes -= len(gone)
        height, width = whole or picture.shape[:2]
        return {"url": f"/api/picture/{address}.png", "width": width, "height": height}

    def get(self, address: str) -> bytes | None:
        """The PNG at an address; None where none is, or is no longer."""
        with self._lock:
            found = self._kept.get(address)
            if found is not None:
                self._kept.move_to_end(address)
            return found

    def has(self, url: str) -> bool:
        """Whether what `put` has returned is still there."""
        return self.get(url.rpartition("/")[2].removesuffix(".png")) is not None

    @property
    def nbytes(self) -> int:
        """Of all that is kept."""
        return self._bytes
