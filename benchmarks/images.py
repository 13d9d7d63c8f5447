"""Draws the images of README and of pages from the demo's data: `python benchmarks/images.py`."""

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
from augrecipes.preview.display import INK, PAGE, render_text
from augrecipes.sources.files import read_image

HERE = Path(__file__).parent / "images"
DOCS = HERE.parent.parent / "docs"
_WIDTH = 1280
_QUALITY = 75
_CELLS, _GAP = 780, 8  # px: the width of a picture of cells, and between them
_BYTES = {"dtype": "uint8", "layout": "hwc"}


def main() -> None:
    HERE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tissue = draw_dataset(folder, tiles=12, photo_count=12).tissue
        render("stages", "stained-tissue", tissue, folder, rows=1, columns=5, stages=True)
        render("draws", "stained-tissue", tissue, folder, rows=2, columns=5)
        render_views(tissue)
        render_crops(tissue)
        render_policies(folder / "photos" / "landscape" / "photo-003.jpg")
        scenes = draw_scenes(folder / "pairs", count=3)
        render("pair", "sr-x4", scenes.roots("hr", "lr"), folder, rows=1, columns=4)
        degraded = cv2.imread(str(preview("real-esrgan-x4", scenes.roots("hr"), folder / "degraded.png", pairs=2)))
        cv2.imwrite(str(DOCS / "degraded.jpg"), degraded, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
        slides = draw_slides(folder / "slides", bags=3)
        render("bag", "stained-tissue-bag", slides, folder, rows=1, columns=8)


def render_policies(photo: Path) -> None:
    """What RandAugment makes of a photo, at a magnitude that shows it."""
    image = cv2.resize(read_image(photo), (240, 160), interpolation=cv2.INTER_AREA)
    raw = {"version": 1, "recipe": "randaugment", "steps": [{"RandAugment": {"n": 2, "m": 20}}], "eval": []}
    pipeline = ar.load({**raw, "output": _BYTES}).compile(seed=0)
    drawn = [(f"epoch {k}", pipeline.at(0, k)(image=image)["image"]) for k in range(5)]
    cells = [("image", image), *drawn]
    write_cells(DOCS / "policies.jpg", "RandAugment: {n: 2, m: 20}", [cells[:3], cells[3:]])


def render_crops(tissue: Path) -> None:
    """A tile of tissue, its two large views and its eight small ones."""
    image = read_image(next(iter(sorted(tissue.rglob("*.jpg")))))
    recipe = ar.load("dino-pathology", overrides={"output": _BYTES})
    made = recipe.compile(seed=0).at(0)(image=image)
    views = [(f"{name} {k + 1}", view) for name in ("global", "local") for k, view in enumerate(made[name])]
    write_cells(DOCS / "views.jpg", "dino-pathology", [[("tile", image), *views[:2]], views[2:6], views[6:]])


def write_cells(path: Path, title: str, rows: list[list[tuple[str, Any]]]) -> None:
    """Write rows of images, each below its caption, in letters that can be read on a phone, too."""
    lines = [_text(title, _CELLS, 30, bold=True)]
    for row in rows:
        wide = (_CELLS - _GAP * (len(row) - 1)) // len(row)
        parts = []
        for caption, image in row:
            small = cv2.resize(
                image, (wide, round(image.shape[0] * wide / image.shape[1])), interpolation=cv2.INTER_AREA
            )
            parts.append(
                np.pad(
                    np.vstack([_text(caption, wide, 20), small]), ((0, _GAP), (0, _GAP), (0, 0)), constant_values=250
                )
            )
        line = np.hstack(parts)[:, :_CELLS]
        lines.append(np.pad(line, ((0, 0), (0, _CELLS - line.shape[1]), (0, 0)), constant_values=250))
    cv2.imwrite(str(path), np.vstack(lines)[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])


def _text(text: str, width: int, size_px: int, *, bold: bool = False) -> Any:
    line = np.full((round(1.5 * size_px), width, 3), PAGE, np.uint8)
    render_text(line, text, (0, size_px), size_px=size_px, colour=INK, bold=bold)
    return line


def render_views(tissue: Path) -> None:
    """Eight views of a tile, windows on an image, and what they say of it: apart, and blended."""
    tile = read_image(next(iter(sorted(tissue.rglob("*.jpg")))))
    small = cv2.resize(tile, (195, 195), interpolation=cv2.INTER_AREA)
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
    captions = "eight views of a tile", "predictions, windows side by side", "windows that overlap, blended"
    views, *merged = zip(captions, panels, strict=True)
    write_cells(HERE / "views.jpg", "Test-time augmentation", [[views], merged])


def render(name: str, recipe: str, data: Any, folder: Path, **options: Any) -> None:
    """Write one preview as a JPEG that suits a page."""
    grid = preview(recipe, data, folder / f"{name}.png", seed=0, **options)
    sheet = cv2.imread(str(grid))
    size = (_WIDTH, round(sheet.shape[0] * _WIDTH / sheet.shape[1]))
    small = cv2.resize(sheet, size, interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(HERE / f"{name}.jpg"), small, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])


if __name__ == "__main__":
    main()
