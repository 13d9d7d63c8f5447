"""A large file of which all views are made: it is decoded once, no larger than they need, for each of them."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.encoded_images import Decodable
from augrecipes.native.libjpeg import Coded

LARGE = 1 << 20  # px: below, a file is decoded about as soon as it is known how small it may be
_PER_PIXEL = 1.5  # px of the decoded image for each of a view, at least: as the rule read_scaled has it


class ReducedFile:
    """A file that is decoded at one scale; what is smaller yet is averaged from that.

    Args:
        source: the file.
        scale: `scale` × `scale` pixels of it are decoded as one; what asks for larger ones has it decoded again.
    """

    def __init__(self, source: Decodable, scale: int) -> None:
        self._source, self._scale = source, scale
        self.shape, self.dtype = source.shape, source.dtype
        self._made: dict[int, np.ndarray] = {}

    def scales(self) -> tuple[int, ...]:
        """Those of the file."""
        return self._source.scales()

    def array(self) -> np.ndarray:
        """The whole image."""
        return self.view(0, 0, *self.shape[:2])

    def view(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> np.ndarray:
        """A window, ends exclusive, `reduce` × `reduce` pixels as one."""
        if reduce not in self._made:
            self._made[reduce] = self._whole(reduce)
        return self._made[reduce][y0 // reduce : -(-y1 // reduce), x0 // reduce : -(-x1 // reduce)]

    def coded(self, y0: int, x0: int, y1: int, x1: int) -> Coded | None:
        """None: kernels do not decode it themselves."""
        return None

    def _whole(self, reduce: int) -> np.ndarray:
        height, width, channels = self.shape
        if reduce <= self._scale:
            return self._source.view(0, 0, height, width, reduce)
        finer, by = self.view(0, 0, height, width, self._scale), reduce // self._scale
        below, right = -finer.shape[0] % by, -finer.shape[1] % by
        if below or right:  # as encoders fill the last blocks
            finer = cv2.copyMakeBorder(finer, 0, below, 0, right, cv2.BORDER_REPLICATE)
        size = finer.shape[1] // by, finer.shape[0] // by
        return np.asarray(cv2.resize(finer, size, interpolation=cv2.INTER_AREA)).reshape(size[1], size[0], channels)


def scale_for(image: Decodable, matrices: Any) -> int:
    """The greatest scale of a file's decoder at which it is fine enough for all views; 1: none is.

    Args:
        image: the file.
        matrices: float64 (n, 3, 3), from the image to each view.
    """
    finest = np.linalg.svd(np.asarray(matrices)[:, :2, :2], compute_uv=False).max()
    return max((k for k in image.scales() if k * _PER_PIXEL * finest <= 1), default=1)
