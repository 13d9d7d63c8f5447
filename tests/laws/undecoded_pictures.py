"""Arrays that pretend to be files."""

from __future__ import annotations

import cv2
import numpy as np


class Picture:
    """An array that pretends to be a file, and remembers what was read of it.

    Reduced blocks at the end are filled up by repeating the edge, as JPEG encoders do.
    """

    def __init__(self, pixels: np.ndarray, scales: tuple[int, ...] = ()) -> None:
        self.pixels, self._scales = pixels, scales
        self.shape, self.dtype = pixels.shape, pixels.dtype
        self.read: list[tuple[int, ...]] = []

    def scales(self) -> tuple[int, ...]:
        return self._scales

    def array(self) -> np.ndarray:
        self.read.append((0, 0, *self.shape[:2], 1))
        return self.pixels.copy()

    def view(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> np.ndarray:
        self.read.append((y0, x0, y1, x1, reduce))
        assert reduce == 1 or not (y0 % reduce or x0 % reduce)
        part = self.pixels[y0:y1, x0:x1].copy()
        if reduce == 1:
            return part
        below, right = -part.shape[0] % reduce, -part.shape[1] % reduce
        part = cv2.copyMakeBorder(part, 0, below, 0, right, cv2.BORDER_REPLICATE)
        size = part.shape[1] // reduce, part.shape[0] // reduce
        return cv2.resize(part, size, interpolation=cv2.INTER_AREA).reshape(size[1], size[0], -1)
