"""Draws README's images from the demo's data: `python benchmarks/images.py`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import cv2

from augrecipes.demo.dataset import draw_dataset, draw_scenes
from augrecipes.demo.slides import draw_slides
from augrecipes.preview import preview

HERE = Path(__file__).parent / "images"
_WIDTH = 1280
_QUALITY = 75


def main() -> None:
    HERE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tissue = draw_dataset(folder, tiles=12, photo_count=12).tissue
        render("stages", "stained-tissue", tissue, folder, rows=1, columns=5, stages=True)
        render("draws", "stained-tissue", tissue, folder, rows=2, columns=5)
        scenes = draw_scenes(folder / "pairs", count=3)
        render("pair", "sr-x4", scenes.roots("hr", "lr"), folder, rows=1, columns=4)
        slides = draw_slides(folder / "slides", bags=3)
        render("bag", "stained-tissue-bag", slides, folder, rows=1, columns=8)


def render(name: str, recipe: str, data: Any, folder: Path, **options: Any) -> None:
    """Write one preview as a JPEG that suits a page."""
    grid = preview(recipe, data, folder / f"{name}.png", seed=0, **options)
    sheet = cv2.imread(str(grid))
    size = (_WIDTH, round(sheet.shape[0] * _WIDTH / sheet.shape[1]))
    small = cv2.resize(sheet, size, interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(HERE / f"{name}.jpg"), small, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])


if __name__ == "__main__":
    main()
