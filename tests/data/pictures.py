"""Small image folders for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

RECIPE = """
version: 1
recipe: test
inputs: {mask: optional, boxes: {format: pascal_voc, labels: box_labels}, keypoints: {format: xy}}
steps:
  - RandomCrop: {height: 24, width: 20}
  - HorizontalFlip
  - VerticalFlip
  - RandomBrightnessContrast
eval:
  - CenterCrop: {height: 24, width: 20}
"""


def draw(path: Path, seed: int, size: tuple[int, int] = (32, 28)) -> Path:
    """Write noise as an image."""
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)
    assert cv2.imwrite(str(path), noise)
    return path


def class_folders(root: Path, classes: Sequence[str] = ("cat", "dog", "emu"), each: int = 4) -> Path:
    """A folder of class folders."""
    for k, name in enumerate(classes):
        for i in range(each):
            draw(root / name / f"{i}.png", seed=100 * k + i)
    return root
