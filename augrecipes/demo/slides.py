"""Draws slides as bags of tiles into a folder: one folder a slide, places in the tiles' names, labels in labels.csv."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from augrecipes.demo.brushes import Random, noise
from augrecipes.demo.files import random_of, remove_drawings, shrunk, write_picture, write_table
from augrecipes.demo.tissue import CLASSES, LABORATORIES, render_tile
from augrecipes.progress import Progress

# Tiles and side (px) of each slide; bags of a real study differ as much.
BAGS: tuple[tuple[int, int], ...] = ((96, 128), (12, 192), (16, 160), (40, 128), (14, 160), (24, 160))


def draw_slides(
    out: Path,
    *,
    bags: int = len(BAGS),
    seed: int = 0,
    shrink: int = 1,
    progress: Progress = lambda done, total: None,
) -> Path:
    """Draw the slides into `out`; the same arguments write the same bytes (with the same OpenCV and numpy).

    A slide's tiles are cut from one drawn piece of tissue, so neighbours fit together; classes and laboratories take
    turns.

    Args:
        out: folder, made when missing: `slide-1/x03200_y01600.jpg`, ..., and labels.csv (bag, label). Earlier drawings
            in it are removed, nothing else is touched.
        bags: how many slides; from the seventh on sizes repeat.
        seed: any integer.
        shrink: divides the number of tiles of every slide, and their sides down to 64 px (for tests).
        progress: called with (done, all) after each slide.

    Returns:
        The folder, as TileBags takes it.

    Raises:
        OSError: the folder cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     root = draw_slides(Path(folder), bags=2, shrink=12)
    ...     [len(list((root / f"slide-{k}").iterdir())) for k in (1, 2)]
    [8, 1]
    """
    remove_drawings(out, "slide-*/*", r"x\d{5}_y\d{5}\.jpg")
    for folder in out.glob("slide-*/"):
        if not any(folder.iterdir()):  # a bag without tiles would have no label
            folder.rmdir()
    out.mkdir(parents=True, exist_ok=True)
    labels = [("bag", "label")]
    for k in range(bags):
        rng, name = random_of(seed, 4, k), f"slide-{k + 1}"
        count, side = BAGS[k % len(BAGS)]
        cells = _piece(rng, max(count // shrink, 1))
        side, _ = shrunk((side, side), shrink)
        rows, columns = (1 + max(places) for places in zip(*cells, strict=True))
        kind, laboratory = CLASSES[-1 - k % len(CLASSES)], LABORATORIES[k % len(LABORATORIES)]
        image = render_tile(kind, (rows * side, columns * side), laboratory, rng).image
        left, top = (int(v) * side for v in rng.integers(8, 40, 2))
        for row, column in cells:
            y, x = row * side, column * side
            write_picture(out / name / f"x{left + x:05d}_y{top + y:05d}.jpg", image[y : y + side, x : x + side])
        labels.append((name, kind))
        progress(k + 1, bags)
    write_table(out / "labels.csv", labels)
    return out


def _piece(rng: Random, count: int) -> list[tuple[int, int]]:
    """A ragged piece of tissue: the `count` cells (row, column) nearest to the middle of a grid, with some chance."""
    columns = max(round((1.45 * count) ** 0.5), 1)
    rows = -(-round(1.3 * count) // columns)
    y, x = np.mgrid[:rows, :columns]
    away = np.hypot((y + 0.5) / rows - 0.5, (x + 0.5) / columns - 0.5) + 0.09 * noise(rng, (rows, columns), 1.5)
    order = np.argsort(away, axis=None, kind="stable")[:count]
    return sorted((int(k) // columns, int(k) % columns) for k in order)
