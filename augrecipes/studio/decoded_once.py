"""Picture files that are kept decoded, for those who read parts of them again and again: the same pixels, sooner."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.images.encoded import Encoded


class DecodedOnce(Encoded):
    """A file of which the whole is decoded, once at every scale, when a part of it is first read at that scale.

    `Encoded.region` promises that a part is, to the bit, that part of the whole. A file that is damaged is
    read part by part, as every other, so that it raises what every other raises.

    >>> from augrecipes.images.encoded import encoded
    >>> picture = DecodedOnce(encoded(b"P2 3 2 255 1 2 3 4 5 6", name="six", channels=1))
    >>> picture.region(0, 1, 2, 3)[:, :, 0].tolist()
    [[2, 3], [5, 6]]
    """

    __slots__ = ("_lock", "_whole")
    _whole: dict[int, NDArray[np.uint8] | None]
    _lock: threading.Lock

    def __init__(self, file: Encoded) -> None:
        super().__init__(file.name, file.data, file.header, file.channels, file.turn, file.shape)
        object.__setattr__(self, "_whole", {})
        object.__setattr__(self, "_lock", threading.Lock())

    @property
    def nbytes(self) -> int:
        """Of the file, and of what may come to be kept of it: the whole, and a third of it at smaller scales."""
        height, width, channels = self.shape
        return len(self.data) + height * width * channels * 4 // 3

    def array(self) -> NDArray[np.uint8]:
        """As every file; in memory of its own."""
        whole = self._decoded(1)
        return super().array() if whole is None else np.array(whole)

    def view(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> NDArray[np.uint8]:
        """As every file; in memory of its own."""
        height, width, _ = self.shape
        inside = 0 <= y0 < y1 <= height and 0 <= x0 < x1 <= width and not y0 % reduce and not x0 % reduce
        whole = self._decoded(reduce) if inside and reduce in (1, *self.scales()) else None
        if whole is None:
            return super().view(y0, x0, y1, x1, reduce)
        return np.array(whole[y0 // reduce : -(-y1 // reduce), x0 // reduce : -(-x1 // reduce)])

    def _decoded(self, reduce: int) -> NDArray[np.uint8] | None:
        with self._lock:
            if reduce not in self._whole:
                height, width, _ = self.shape
                try:
                    self._whole[reduce] = super().view(0, 0, height, width, reduce)
                except DataError:
                    self._whole[reduce] = None
            return self._whole[reduce]
