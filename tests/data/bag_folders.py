"""Small folders of bags for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pictures import draw

BAGS = """
version: 1
recipe: test-bags
kind: bag
bag: {max_tiles: 4}
steps:
  - RandomCrop: {height: 12, width: 10}
  - D4: {p: 1.0, id: turn, share: bag}
  - HorizontalFlip
  - RandomBrightnessContrast: {p: 1.0}
  - Resize: {height: 12, width: 10}
eval:
  - CenterCrop: {height: 12, width: 10}
"""
SIZES = {"slide-a": 5, "slide-b": 3, "slide-c": 7, "slide-d": 4}


def bag_folders(root: Path, sizes: Mapping[str, int] | None = None) -> Path:
    """A folder of bags of noisy tiles, whose names tell their places."""
    for b, (bag, n) in enumerate((SIZES if sizes is None else sizes).items()):
        (root / bag).mkdir(parents=True, exist_ok=True)
        for k in range(n):
            draw(root / bag / f"tile_x{k}_y{10 * b}.png", seed=100 * b + k, size=(18, 16))
    return root
