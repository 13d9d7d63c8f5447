"""Draw synthetic data into a folder: stained tissue with masks and boxes of nuclei, photo-like JPEGs, and pairs."""

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from augrecipes.demo.brushes import Random, Size
from augrecipes.demo.photos import CLASSES as SCENES
from augrecipes.demo.photos import render_photo
from augrecipes.demo.tissue import CLASSES as TISSUES
from augrecipes.demo.tissue import LABORATORIES, render_tile
from augrecipes.ops.matlab_bicubic import imresize
from augrecipes.paths import write_file
from augrecipes.progress import Progress

TILE_SIZES: tuple[Size, ...] = ((384, 384), (320, 320), (288, 352), (448, 384), (256, 256), (512, 512))
PHOTO_SIZES: tuple[Size, ...] = ((375, 500), (333, 500), (500, 375), (360, 480), (427, 640), (300, 400))
# The third does not divide by 4: its last rows and columns have no partner in the LR images.
PAIR_SIZES: tuple[Size, ...] = ((384, 512), (416, 416), (386, 515), (512, 384))
_PALETTE = ((0, 0, 0), (230, 159, 0), (86, 180, 233), (0, 158, 115))  # Okabe and Ito's, colour-blind safe
_UPRIGHT = {0x0112: 6}  # the EXIF orientation of a phone held upright


@dataclass(frozen=True, slots=True)
class DemoData:
    """The paths of the drawn dataset.

    Attributes:
        tissue: class folders of H&E tiles, JPEG and some PNG.
        masks: folders of the same names; palette PNGs with the cell type of each pixel (0: none; then
            the order of `augrecipes.demo.tissue.CELL_TYPES`).
        table: CSV with columns image, mask, label, split, group (the laboratory) and boxes: JSON
            [[x_min, y_min, x_max, y_max, cell type], ...] in px (`pascal_voc`).
        photos: class folders of JPEGs, one of them grey, one stored on its side with an EXIF orientation.
    """

    tissue: Path
    masks: Path
    table: Path
    photos: Path


@dataclass(frozen=True, slots=True)
class Scenes:
    """The folders of the drawn pairs.

    Attributes:
        hr: folder of PNGs 0001.png, 0002.png, ...
        x2: the same scenes at half the size, 0001x2.png, ...
        lr: at a quarter, 0001x4.png, ...
    """

    hr: Path
    x2: Path
    lr: Path

    def roots(self, *targets: str) -> dict[str, str]:
        """The folders of these targets, as PairedImages takes them.

        >>> sorted(Scenes(Path("a"), Path("b"), Path("c")).roots("hr", "lr").items())
        [('hr', 'a'), ('lr', 'c')]
        """
        return {name: os.fspath(getattr(self, name)) for name in targets}


def draw_dataset(
    out: str | Path,
    *,
    tiles: int = 36,
    photo_count: int = 24,
    seed: int = 0,
    shrink: int = 1,
    progress: Progress = lambda done, total: None,
) -> DemoData:
    """Draw tissue and photos into `out`; the same arguments write the same bytes (with the same libraries).

    Args:
        out: folder, made when missing. Earlier drawings in it are removed, nothing else is touched.
        tiles: number of tissue tiles, spread over the classes.
        photo_count: number of photos, spread over the classes.
        seed: any integer.
        shrink: divides every image's height and width (for quick looks and tests).
        progress: called with (done, total) after each image.

    Raises:
        OSError: the folder cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = draw_dataset(Path(folder), tiles=3, photo_count=3, shrink=4)
    ...     sorted(path.name for path in data.tissue.iterdir())
    ['lymphocytes', 'stroma', 'tumour']
    """
    out = Path(out)
    data = DemoData(out / "tissue", out / "tissue-masks", out / "tissue.csv", out / "photos")
    for folder in (data.tissue, data.masks, data.photos):
        remove_drawings(folder, "*/*", r"(tile|photo)-\d{3}\.(png|jpg)")
    rows: list[Sequence[str]] = [("image", "mask", "label", "split", "group", "boxes")]
    for k in range(tiles):
        turn, place = divmod(k, len(TISSUES))
        kind, laboratory = TISSUES[place], LABORATORIES[turn % len(LABORATORIES)]
        tile = render_tile(kind, shrunk(TILE_SIZES[turn % len(TILE_SIZES)], shrink), laboratory, random_of(seed, 1, k))
        name = f"tile-{k:03d}"
        image = write_image(data.tissue / kind / f"{name}.{'png' if k % 4 == 3 else 'jpg'}", tile.image)
        mask = write_image(data.masks / kind / f"{name}.png", tile.types, palette=_PALETTE)
        boxes = json.dumps([[*box, label] for box, label in zip(tile.boxes, tile.labels, strict=True)])
        files = (path.relative_to(out).as_posix() for path in (image, mask))
        # Every class and every laboratory is in both splits.
        rows.append((*files, kind, "val" if turn % 5 == 3 else "train", laboratory.name, boxes))
        progress(k + 1, tiles + photo_count)
    write_table(data.table, rows)
    for k in range(photo_count):
        turn, place = divmod(k, len(SCENES))
        size = shrunk(PHOTO_SIZES[turn % len(PHOTO_SIZES)], shrink)
        photo, path = render_photo(SCENES[place], size, random_of(seed, 2, k)), f"{SCENES[place]}/photo-{k:03d}.jpg"
        shown = np.rot90(photo) if k == 1 else cv2.cvtColor(photo, cv2.COLOR_RGB2GRAY) if k == 2 else photo
        write_image(data.photos / path, shown, exif=_UPRIGHT if k == 1 else {})
        progress(tiles + k + 1, tiles + photo_count)
    return data


def draw_scenes(
    out: str | Path,
    *,
    count: int = 8,
    seed: int = 0,
    shrink: int = 1,
    progress: Progress = lambda done, total: None,
) -> Scenes:
    """Draw pairs into `out`; the same arguments write the same bytes (with the same libraries).

    LR images are made by MATLAB's bicubic from the HR image without its last odd rows and columns (the field's
    mod-crop), which the HR file keeps.

    Args:
        out: folder, made when missing. Earlier drawings in it are removed, nothing else is touched.
        count: scenes.
        seed: any integer.
        shrink: divides every image's height and width (for tests).
        progress: called with (done, all) after each scene.

    Raises:
        OSError: the folder cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     drawn = draw_scenes(Path(folder), count=2, shrink=4)
    ...     [sorted(path.name for path in root.iterdir()) for root in (drawn.hr, drawn.lr)]
    [['0001.png', '0002.png'], ['0001x4.png', '0002x4.png']]
    """
    out = Path(out)
    drawn = Scenes(out / "HR", out / "LR_bicubic" / "X2", out / "LR_bicubic" / "X4")
    for folder in (drawn.hr, drawn.x2, drawn.lr):
        remove_drawings(folder, "*", r"\d{4}(x\d)?\.png")
    for k in range(count):
        size = shrunk(PAIR_SIZES[k % len(PAIR_SIZES)], shrink)
        image = render_photo(SCENES[k % len(SCENES)], size, random_of(seed, 3, k))
        write_image(drawn.hr / f"{k + 1:04d}.png", image)
        for factor, folder in ((2, drawn.x2), (4, drawn.lr)):
            rows, columns = size[0] // factor, size[1] // factor
            small = imresize(image[: rows * factor, : columns * factor], rows, columns)
            write_image(folder / f"{k + 1:04d}x{factor}.png", small)
        progress(k + 1, count)
    return drawn


def random_of(seed: int, kind: int, number: int) -> Random:
    """The random generator of one drawing; any integer is a seed.

    >>> random_of(-1, 2, 3).random() == random_of(-1, 2, 3).random()
    True
    """
    return np.random.default_rng((seed % (1 << 64), kind, number))


def shrunk(size: Size, shrink: int) -> Size:
    """Divide height and width by `shrink`, to no less than 64 px."""
    return max(size[0] // shrink, 64), max(size[1] // shrink, 64)


def remove_drawings(root: Path, pattern: str, name: str) -> None:
    """Delete the files below `root` that match the glob `pattern`, and whose name matches the regex `name`."""
    for path in root.glob(pattern):
        if re.fullmatch(name, path.name):
            path.unlink()


def write_image(
    path: Path, pixels: NDArray[Any], *, palette: Sequence[Sequence[int]] = (), exif: dict[int, int] | None = None
) -> Path:
    """Write uint8 RGB or grey pixels, or indices into a palette, as a JPEG or PNG; missing folders are created."""
    image, tags = Image.fromarray(np.ascontiguousarray(pixels)), Image.Exif()
    if palette:  # the file keeps the indices, viewers show colours
        image.putpalette(np.array(palette, np.uint8).tobytes())
    tags.update(exif or {})
    kind = "JPEG" if path.suffix == ".jpg" else "PNG"
    image.save(data := io.BytesIO(), kind, quality=92, compress_level=3, exif=tags)
    write_file(path, data.getvalue(), lasting=False)
    return path


def write_table(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """Write rows as CSV; the first is the header."""
    csv.writer(text := io.StringIO(), lineterminator="\n").writerows(rows)
    write_file(path, text.getvalue().encode("utf-8"), lasting=False)
