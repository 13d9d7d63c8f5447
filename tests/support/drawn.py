"""Folders of images that many tests read: smooth waves, so that codecs and warps change them little."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray


def waves(height: int, width: int, k: int = 0) -> NDArray[np.uint8]:
    """An image of waves, RGB; each `k` has another."""
    y, x = np.mgrid[:height, :width]
    made = np.stack([128 + 100 * np.sin(x / 9 + k), 128 + 100 * np.cos(y / (5 + k)), (x + y) % 256], axis=-1)
    return np.ascontiguousarray(made.astype(np.uint8))


def draw_waves(folder: Path, count: int = 4, size: tuple[int, int] = (80, 100), form: str = "png") -> Path:
    """Write `0.png` and further ones into a folder, which is made; the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(count):
        assert cv2.imwrite(str(folder / f"{k}.{form}"), waves(*size, k))
    return folder
