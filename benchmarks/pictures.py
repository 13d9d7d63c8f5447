"""Draws README's pictures from the demo's data set: `python benchmarks/pictures.py`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import cv2

from augrecipes.demo.dataset import draw_dataset
from augrecipes.preview import preview

HERE = Path(__file__).parent / "pictures"
_WIDTH = 1280


def main() -> None:
    HERE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        data = draw_dataset(Path(folder), tiles=12, photo_count=12)
        for name, rows, stages in (("stages", 1, True), ("draws", 2, False)):
            grid = Path(folder) / f"{name}.png"
            preview("stained-tissue", data.tissue, grid, rows=rows, columns=5, seed=0, stages=stages)
            sheet = cv2.imread(str(grid))
            size = (_WIDTH, round(sheet.shape[0] * _WIDTH / sheet.shape[1]))
            small = cv2.resize(sheet, size, interpolation=cv2.INTER_AREA)
            cv2.imwrite(str(HERE / f"{name}.jpg"), small, [cv2.IMWRITE_JPEG_QUALITY, 82])


if __name__ == "__main__":
    main()
