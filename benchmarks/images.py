"""Draws README's images from the demo's data: `python benchmarks/images.py`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np

import augrecipes as ar
from augrecipes.demo.dataset import draw_dataset, draw_scenes
from augrecipes.demo.slides import draw_slides
from augrecipes.preview import preview
from augrecipes.sources.files import read_image

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
        render_views(tissue)
        scenes = draw_scenes(folder / "pairs", count=3)
        render("pair", "sr-x4", scenes.roots("hr", "lr"), folder, rows=1, columns=4)
        slides = draw_slides(folder / "slides", bags=3)
        render("bag", "stained-tissue-bag", slides, folder, rows=1, columns=8)


def render_views(tissue: Path) -> None:
    """Eight views of a tile, windows on an image, and what they say of it: apart, and blended."""
    tile = read_image(next(iter(sorted(tissue.rglob("*.jpg")))))
    small = cv2.resize(tile, (128, 128), interpolation=cv2.INTER_AREA)
    plain: dict[str, Any] = {"version": 1, "recipe": "views", "steps": [], "eval": []}
    plain["output"] = {"dtype": "uint8", "layout": "hwc"}
    views = [one["image"] for one in ar.tta({**plain, "tta": {"views": "d4"}}).split(image=small)]
    framed = [np.pad(view[2:-2, 2:-2], ((2, 2), (2, 2), (0, 0)), constant_values=255) for view in views]
    panels = [np.vstack([np.hstack(framed[:4]), np.hstack(framed[4:])])]
    wide = cv2.resize(tile, (512, 256), interpolation=cv2.INTER_AREA)
    for overlap in (0.0, 0.5):
        split = ar.tta({**plain, "tta": {"tile": {"size": 128, "overlap": overlap}}}).split(image=wide)
        random = np.random.default_rng(3)  # a network that is sure of itself in some windows, and less in others
        says = [one["image"].mean(axis=2) / 255 + random.uniform(-0.2, 0.2) for one in split]
        heat = np.clip(255 * split.merge(says, "mask"), 0, 255).astype(np.uint8)
        panels.append(cv2.cvtColor(cv2.applyColorMap(heat, cv2.COLORMAP_VIRIDIS), cv2.COLOR_BGR2RGB))
    gap = np.full((256, 8, 3), 255, np.uint8)
    sheet = np.hstack([panels[0], gap, panels[1], gap, panels[2]])
    cv2.imwrite(str(HERE / "views.jpg"), sheet[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])


def render(name: str, recipe: str, data: Any, folder: Path, **options: Any) -> None:
    """Write one preview as a JPEG that suits a page."""
    grid = preview(recipe, data, folder / f"{name}.png", seed=0, **options)
    sheet = cv2.imread(str(grid))
    size = (_WIDTH, round(sheet.shape[0] * _WIDTH / sheet.shape[1]))
    small = cv2.resize(sheet, size, interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(HERE / f"{name}.jpg"), small, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])


if __name__ == "__main__":
    main()
