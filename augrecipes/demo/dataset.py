"""Draws the synthetic data set into a folder: stained tissue with masks and boxes of nuclei, and photo-like JPEGs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from augrecipes.demo.brushes import Size
from augrecipes.demo.files import (
    random_of,
    remove_drawings,
    shrunk,
    write_indices,
    write_picture,
    write_table,
)
from augrecipes.demo.photos import CLASSES as SCENES
from augrecipes.demo.photos import render_photo
from augrecipes.demo.tissue import CLASSES as TISSUES
from augrecipes.demo.tissue import LABORATORIES, render_tile
from augrecipes.progress import Progress

TILE_SIZES: tuple[Size, ...] = ((384, 384), (320, 320), (288, 352), (448, 384), (256, 256), (512, 512))
PHOTO_SIZES: tuple[Size, ...] = ((375, 500), (333, 500), (500, 375), (360, 480), (427, 640), (300, 400))
_PALETTE = ((0, 0, 0), (230, 159, 0), (86, 180, 233), (0, 158, 115))  # Okabe and Ito's: told apart by everyone
_COLUMNS = ("image", "mask", "label", "split", "group", "boxes")


@dataclass(frozen=True, slots=True)
class DemoData:
    """Where the drawn data set lies.

    Attributes:
        tissue: class folders of H&E tiles, JPEG and some PNG.
        masks: folders of the same names; palette PNGs with the cell type of each pixel (0: none; then
            the order of `augrecipes.demo.tissue.CELL_TYPES`).
        table: CSV with columns image, mask, label, split, group (the laboratory) and boxes: JSON
            [[x_min, y_min, x_max, y_max, cell type], ...] in px (`pascal_voc`).
        photos: class folders of JPEGs, one of them grey, one lying on its side with an EXIF orientation.
    """

    tissue: Path
    masks: Path
    table: Path
    photos: Path


def draw_dataset(
    out: Path,
    *,
    tiles: int = 36,
    photo_count: int = 24,
    seed: int = 0,
    shrink: int = 1,
    progress: Progress = lambda done, total: None,
) -> DemoData:
    """Draw the data set into `out`; the same arguments write the same bytes (with the same OpenCV and numpy).

    Args:
        out: folder, made when missing. Earlier drawings in it are removed, nothing else is touched.
        tiles: number of tissue tiles, dealt out over the classes.
        photo_count: number of photos, dealt out over the classes.
        seed: any integer.
        shrink: divides every image's height and width (for quick looks and tests).
        progress: called with (done, all) after each image.

    Raises:
        OSError: the folder cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = draw_dataset(Path(folder), tiles=3, photo_count=3, shrink=4)
    ...     sorted(path.name for path in data.tissue.iterdir())
    ['lymphocytes', 'stroma', 'tumour']
    """
    data = DemoData(out / "tissue", out / "tissue-masks", out / "tissue.csv", out / "photos")
    for folder in (data.tissue, data.masks, data.photos):
        remove_drawings(folder, "*/*", r"(tile|photo)-\d{3}\.(png|jpg)")
    out.mkdir(parents=True, exist_ok=True)
    rows: list[Sequence[str]] = [_COLUMNS]
    for k in range(tiles):
        rows.append(_write_tile(data, k, seed, shrink))
        progress(k + 1, tiles + photo_count)
    write_table(data.table, rows)
    for k in range(photo_count):
        _write_photo(data, k, seed, shrink)
        progress(tiles + k + 1, tiles + photo_count)
    return data


def _write_tile(data: DemoData, k: int, seed: int, shrink: int) -> Sequence[str]:
    """Draw the k-th tile with its masks; returns its row of the table."""
    turn, place = divmod(k, len(TISSUES))
    kind, laboratory = TISSUES[place], LABORATORIES[turn % len(LABORATORIES)]
    tile = render_tile(kind, shrunk(TILE_SIZES[turn % len(TILE_SIZES)], shrink), laboratory, random_of(seed, 1, k))
    name = Path(kind, f"tile-{k:03d}.png")
    image = write_picture(data.tissue / name.with_suffix(".png" if k % 4 == 3 else ".jpg"), tile.image)
    mask = write_indices(data.masks / name, tile.types, _PALETTE)
    boxes = json.dumps([[*box, label] for box, label in zip(tile.boxes, tile.labels, strict=True)])
    files = (path.relative_to(data.table.parent).as_posix() for path in (image, mask))
    # Every class and every laboratory is in both splits.
    return (*files, kind, "val" if turn % 5 == 3 else "train", laboratory.name, boxes)


def _write_photo(data: DemoData, k: int, seed: int, shrink: int) -> None:
    turn, place = divmod(k, len(SCENES))
    size = shrunk(PHOTO_SIZES[turn % len(PHOTO_SIZES)], shrink)
    image = render_photo(SCENES[place], size, random_of(seed, 2, k))
    path = data.photos / SCENES[place] / f"photo-{k:03d}.jpg"
    if k == 1:  # as a phone held upright writes it
        write_picture(path, np.rot90(image), orientation=6)
    else:
        write_picture(path, cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) if k == 2 else image)
