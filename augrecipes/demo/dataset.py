"""Draws the synthetic data set into a folder: stained tissue with nuclei masks and boxes, and photo-like JPEGs."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from augrecipes.demo import photos, tissue
from augrecipes.demo.encoding import palette_png, write_bytes, write_picture
from augrecipes.demo.fields import Size

TILE_SIZES: tuple[Size, ...] = ((384, 384), (320, 320), (288, 352), (448, 384), (256, 256), (512, 512))
PHOTO_SIZES: tuple[Size, ...] = ((375, 500), (333, 500), (500, 375), (360, 480), (427, 640), (300, 400))
_PALETTE = ((0, 0, 0), (230, 159, 0), (86, 180, 233), (0, 158, 115))  # Okabe and Ito's: told apart by everyone
_OURS = re.compile(r"(tile|photo)-\d{3}\.(png|jpg)")

Progress = Callable[[int, int], None]  # images done, images in all


@dataclass(frozen=True, slots=True)
class DemoData:
    """Where the drawn data set lies.

    Attributes:
        tissue: class folders of H&E tiles, JPEG and some PNG.
        masks: folders of the same names; palette PNGs with the cell type of each pixel (0: none; then
            the order of `augrecipes.demo.tissue.CELL_TYPES`).
        nuclei: folders of the same names; 16-bit PNGs with one id for each nucleus.
        table: CSV with columns image, mask, label, split, group (the laboratory) and boxes: JSON
            [[x_min, y_min, x_max, y_max, cell type], ...] in px (`pascal_voc`).
        photos: class folders of JPEGs, one of them grey, one lying on its side with an EXIF orientation.
    """

    tissue: Path
    masks: Path
    nuclei: Path
    table: Path
    photos: Path


def draw_dataset(
    out: Path,
    *,
    tiles: int = 36,
    photo_count: int = 24,
    seed: int = 0,
    shrink: int = 1,
    progress: Progress | None = None,
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
    data = DemoData(out / "tissue", out / "tissue-masks", out / "tissue-nuclei", out / "tissue.csv", out / "photos")
    for folder in (data.tissue, data.masks, data.nuclei, data.photos):
        for path in folder.glob("*/*"):
            if _OURS.fullmatch(path.name):
                path.unlink()
    seed &= (1 << 64) - 1  # numpy takes no negative seeds
    rows: list[dict[str, str]] = []
    total = tiles + photo_count
    for done, row in enumerate(_tiles(data, tiles, seed, shrink), start=1):
        rows.append(row)
        if progress:
            progress(done, total)
    with data.table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["image", "mask", "label", "split", "group", "boxes"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for done, _ in enumerate(_photos(data, photo_count, seed, shrink), start=tiles + 1):
        if progress:
            progress(done, total)
    return data


def _tiles(data: DemoData, count: int, seed: int, shrink: int) -> Iterator[dict[str, str]]:
    """Draw the tiles one by one; yields each one's row of the table."""
    for k in range(count):
        kind = tissue.CLASSES[k % len(tissue.CLASSES)]
        turn = k // len(tissue.CLASSES)
        laboratory = tissue.LABORATORIES[turn % len(tissue.LABORATORIES)]
        size = _shrunk(TILE_SIZES[turn % len(TILE_SIZES)], shrink)
        tile = tissue.draw_tile(kind, size, laboratory, np.random.default_rng((seed, 1, k)))
        name = f"tile-{k:03d}.{'png' if k % 4 == 3 else 'jpg'}"
        image = write_picture(data.tissue / kind / name, tile.image)
        mask = write_bytes((data.masks / kind / name).with_suffix(".png"), palette_png(tile.types, _PALETTE))
        write_picture((data.nuclei / kind / name).with_suffix(".png"), tile.ids)
        yield {
            "image": image.relative_to(data.table.parent).as_posix(),
            "mask": mask.relative_to(data.table.parent).as_posix(),
            "label": kind,
            # Every class and every laboratory is in both splits.
            "split": "val" if turn % 5 == 3 else "train",
            "group": laboratory.name,
            "boxes": json.dumps([[*box, label] for box, label in zip(tile.boxes, tile.labels, strict=True)]),
        }


def _photos(data: DemoData, count: int, seed: int, shrink: int) -> Iterator[Path]:
    for k in range(count):
        kind = photos.CLASSES[k % len(photos.CLASSES)]
        size = _shrunk(PHOTO_SIZES[(k // len(photos.CLASSES)) % len(PHOTO_SIZES)], shrink)
        image = photos.draw_photo(kind, size, np.random.default_rng((seed, 2, k)))
        path = data.photos / kind / f"photo-{k:03d}.jpg"
        if k == 1:  # as a phone held upright writes it
            yield write_picture(path, np.rot90(image), orientation=6)
        elif k == 2:
            yield write_picture(path, cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))
        else:
            yield write_picture(path, image)


def _shrunk(size: Size, shrink: int) -> Size:
    return max(size[0] // shrink, 64), max(size[1] // shrink, 64)
