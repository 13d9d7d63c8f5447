"""A recipe and data of each kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np

from augrecipes.recipe.parse import parse_text

KINDS = ("image", "pair", "bag")
_STEPS = {
    "image": "[{RandomResizedCrop: {size: [24, 24]}}, HorizontalFlip, {ColorJitter: {p: 1.0}}]",
    "pair": "[{RandomCrop: {height: 12, width: 12, at: lr}}, {D4: {p: 1.0}}, {GaussNoise: {target: lr, p: 0.5}}]",
    "bag": "[{Rotate: {limit: 30, border_mode: reflect_101, p: 1.0}}, {StainJitter: {share: bag, p: 1.0}}]",
}


def kind_data(kind: str, root: Path) -> tuple[Any, Any]:
    """Recipe, and what to read: four images, four pairs, or three bags of two tiles."""
    scales = "scales: {lr: 1, hr: 2}\n" if kind == "pair" else ""
    recipe = parse_text(f"version: 1\nrecipe: it\nkind: {kind}\n{scales}steps: {_STEPS[kind]}\neval: []\n")
    draw = np.random.default_rng(0)

    def picture(name: str, size: int = 32) -> None:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        assert cv2.imwrite(str(path), draw.integers(0, 256, (size, size, 3), np.uint8))

    for k in range(4 if kind != "bag" else 3):
        if kind == "image":
            picture(f"{k}.jpg", 48)
        elif kind == "pair":
            picture(f"hr/{k}.png", 64)
            picture(f"lr/{k}.png", 32)
        else:
            picture(f"slide{k}/x0_y0.png")
            picture(f"slide{k}/x1_y0.png")
    return recipe, {"hr": str(root / "hr"), "lr": str(root / "lr")} if kind == "pair" else str(root)
