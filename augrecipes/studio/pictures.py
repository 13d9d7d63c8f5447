"""Pictures as PNGs, each under an address that nobody can guess, as many as a bound on memory allows."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from hashlib import blake2b
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.preview.display import Picture, fit_into

MOST_BYTES = 192 << 20
# Half the time of the least compression, and a little smaller.
_QUICK = [cv2.IMWRITE_PNG_STRATEGY, cv2.IMWRITE_PNG_STRATEGY_RLE]


def png_of(picture: NDArray[np.uint8]) -> bytes:
    """A picture H×W×3 RGB, or H×W×4 RGBA, as a PNG: its pixels come back to the bit.

    >>> picture = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    >>> back = cv2.imdecode(np.frombuffer(png_of(picture), np.uint8), cv2.IMREAD_UNCHANGED)
    >>> bool((back[..., ::-1] == picture).all())
    True
    """
    how = cv2.COLOR_RGB2BGR if picture.shape[2] == 3 else cv2.COLOR_RGBA2BGRA
    done, data = cv2.imencode(".png", cv2.cvtColor(picture, how), _QUICK)
    if not done:
        raise ValueError("the picture cannot be written as PNG")
    return data.tobytes()


def shrunk(picture: Picture, size: int) -> Picture:
    """The picture with its longer side at most `size` px; 0: as it is."""
    return picture if not size or max(picture.shape[:2]) <= size else fit_into(picture, size, size)[0]


class Pictures:
    """PNGs by address, those asked for least recently dropped first; safe to use from several threads."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._bytes = most_bytes, 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self._secret = secrets.token_bytes(32)

    def put(self, picture: NDArray[np.uint8], size: int = 0) -> dict[str, Any]:
        """Keep a picture, shown with its longer side at most `size` px.

        Returns:
            `url`, and `width` and `height` of the picture before it was made smaller.
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
        return {"url": f"/api/picture/{address}.png", "width": picture.shape[1], "height": picture.shape[0]}

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
