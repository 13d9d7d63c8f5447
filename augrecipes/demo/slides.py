"""Draws slides as bags of tiles into a folder: one folder a slide, places in the tiles' names, labels in labels.csv."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from augrecipes.demo import tissue
from augrecipes.demo.encoding import write_picture
from augrecipes.demo.fields import smooth_noise

# Tiles and side (px) of each slide; bags of a real study differ as much.
BAGS: tuple[tuple[int, int], ...] = ((96, 128), (12, 192), (16, 160), (40, 128), (14, 160), (24, 160))
_OURS = re.compile(r"x\d{5}_y\d{5}\.jpg")


@dataclass(frozen=True, slots=True)
class _Piece:
    """Which cells of a grid hold tissue: (row, column) of each tile, and the size of the grid."""

    cells: list[tuple[int, int]]
    rows: int
    columns: int


def draw_slides(
    out: Path,
    *,
    bags: int = len(BAGS),
    seed: int = 0,
    shrink: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
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
    for path in out.glob("slide-*/*.jpg"):
        if _OURS.fullmatch(path.name):
            path.unlink()
    for folder in out.glob("slide-*/"):
        if not any(folder.iterdir()):  # a bag without tiles would have no label
            folder.rmdir()
    out.mkdir(parents=True, exist_ok=True)
    labels: list[tuple[str, str]] = []
    for k in range(bags):
        rng = np.random.default_rng((seed & (1 << 64) - 1, 4, k))
        count, side = BAGS[k % len(BAGS)]
        count, side = max(count // shrink, 1), max(side // shrink, 64)
        kind = tissue.CLASSES[-1 - k % len(tissue.CLASSES)]
        name = f"slide-{k + 1}"
        piece = _piece(rng, count)
        laboratory = tissue.LABORATORIES[k % len(tissue.LABORATORIES)]
        image = tissue.draw_tile(kind, (piece.rows * side, piece.columns * side), laboratory, rng).image
        left, top = (int(v) * side for v in rng.integers(8, 40, 2))
        for row, column in piece.cells:
            y, x = row * side, column * side
            write_picture(out / name / f"x{left + x:05d}_y{top + y:05d}.jpg", image[y : y + side, x : x + side])
        labels.append((name, kind))
        progress(k + 1, bags)
    with (out / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([("bag", "label"), *labels])
    return out


def _piece(rng: np.random.Generator, count: int) -> _Piece:
    """A ragged piece of tissue: the `count` cells of a grid that are nearest to its middle, with some chance."""
    columns = max(round((1.45 * count) ** 0.5), 1)
    rows = -(-round(1.3 * count) // columns)
    y, x = np.mgrid[:rows, :columns]
    away = np.hypot((y + 0.5) / rows - 0.5, (x + 0.5) / columns - 0.5)
    away += 0.09 * smooth_noise(rng, (max(rows, 2), max(columns, 2)), 1.5)[:rows, :columns]
    order = np.argsort(away, axis=None, kind="stable")[:count]
    return _Piece(sorted((int(k) // columns, int(k) % columns) for k in order), rows, columns)
