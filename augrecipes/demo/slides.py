"""Draw slides into a folder: as bags of tiles, and as whole-slide pyramids like those of scanners."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import simplejpeg
from numpy.typing import NDArray

from augrecipes.demo.brushes import Random, noise
from augrecipes.demo.dataset import random_of, remove_drawings, shrunk, write_image, write_table
from augrecipes.demo.tissue import CLASSES, LABORATORIES, render_tile
from augrecipes.errors import DataError
from augrecipes.progress import Progress

# Tiles and side (px) of each slide; bags of a real study differ as much.
BAGS: tuple[tuple[int, int], ...] = ((96, 128), (12, 192), (16, 160), (40, 128), (14, 160), (24, 160))
_WHOLE, _PATCH = (2304, 3072), 384  # px: of level 0, and of the drawn tissue that mirrored tiling repeats
_TILE, _MPP, _LESION = 256, 0.5, 0.17  # px; micrometres a pixel; radius, as a share of the sides


def draw_slides(
    out: str | Path,
    *,
    bags: int = len(BAGS),
    seed: int = 0,
    shrink: int = 1,
    progress: Progress = lambda done, total: None,
) -> Path:
    """Draw bags of tiles into `out`; the same arguments write the same bytes (with the same libraries).

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
    out = Path(out)
    remove_drawings(out, "slide-*/*", r"x\d{5}_y\d{5}\.jpg")
    for folder in out.glob("slide-*/"):
        if not any(folder.iterdir()):  # a bag without tiles would have no label
            folder.rmdir()
    labels = [("bag", "label")]
    for k in range(bags):
        rng, name, kind = random_of(seed, 4, k), f"slide-{k + 1}", CLASSES[-1 - k % len(CLASSES)]
        count, side = BAGS[k % len(BAGS)]
        cells, (side, _) = _piece(rng, max(count // shrink, 1)), shrunk((side, side), shrink)
        height, width = (side * (1 + max(places)) for places in zip(*cells, strict=True))
        image = render_tile(kind, (height, width), LABORATORIES[k % len(LABORATORIES)], rng).image
        left, top = (int(v) * side for v in rng.integers(8, 40, 2))
        for y, x in ((row * side, column * side) for row, column in cells):
            write_image(out / name / f"x{left + x:05d}_y{top + y:05d}.jpg", image[y : y + side, x : x + side])
        labels.append((name, kind))
        progress(k + 1, bags)
    write_table(out / "labels.csv", labels)
    return out


def _piece(rng: Random, count: int) -> list[tuple[int, int]]:
    """A ragged piece of tissue: the `count` cells (row, column) nearest to the middle of a grid, with some noise."""
    columns = max(round((1.45 * count) ** 0.5), 1)
    size = -(-round(1.3 * count) // columns), columns
    order = np.argsort(_distances(rng, size, 0.09, 1.5), axis=None, kind="stable")[:count]
    return sorted((int(k) // columns, int(k) % columns) for k in order)


def _distances(rng: Random, size: tuple[int, int], chance: float, bump: float) -> NDArray[np.float64]:
    """The distance of each grid cell from the middle, plus noise of strength `chance`."""
    y, x = np.mgrid[: size[0], : size[1]]
    return np.hypot((y + 0.5) / size[0] - 0.5, (x + 0.5) / size[1] - 0.5) + chance * noise(rng, size, bump)


def draw_whole_slides(
    out: str | Path, *, slides: int = 3, seed: int = 0, shrink: int = 1, lesions: bool = False,
    progress: Progress = lambda done, total: None,
) -> Path:  # fmt: skip
    """Draw whole slides into `out`; the same arguments draw the same pixels (with the same libraries).

    Args:
        out: folder, made when missing: `slide-1.tif`, ..., 3072×2304 px at 0.5 µm with levels of a half and a quarter,
            and labels.csv (bag, label). Earlier drawings in it are removed, nothing else is touched.
        slides: how many.
        seed: any integer.
        shrink: divides the sides, down to 256 px (for tests).
        lesions: all slides are stroma, and every second one has a spot of tumour in it, which is its label.
        progress: called with (done, all) after each slide.

    Returns:
        The folder, as SlideBags takes it.

    Raises:
        DataError: tifffile is not installed: it comes with the extra `slides`.
        OSError: the folder cannot be written.
    """
    out = Path(out)
    remove_drawings(out, "slide-*.tif", r"slide-\d+\.tif")
    labels = [("bag", "label")]
    for k in range(slides):
        rng, kind = random_of(seed, 5, k), CLASSES[-1 - k % len(CLASSES)]
        laboratory = k // 2 if lesions else k  # the same with a lesion and without
        height, width = (max(side // shrink, 256) for side in _WHOLE)
        tissue = _tissue("stroma" if lesions else kind, (height, width), laboratory, rng)
        kind = ("stroma", "tumour")[k % 2] if lesions else kind
        if lesions and kind == "tumour":
            (y, x), (rows, columns) = rng.uniform(0.4, 0.6, 2), np.ogrid[:height, :width]
            spot = np.hypot(rows / height - y, columns / width - x) < _LESION
            tissue = np.where(spot[..., None], _tissue(kind, (height, width), laboratory, rng), tissue)
        # A ragged piece of it lies on bare glass.
        piece: NDArray[Any] = (_distances(rng, (height // 16, width // 16), 0.12, 12) < 0.42).astype(np.float32)
        piece = cv2.resize(piece, (width, height))[..., None]
        glass = 243 + rng.normal(0, 1.5, (height, width, 1)).astype(np.float32)
        image = np.clip(tissue * piece + glass * (1 - piece), 0, 255).astype(np.uint8)
        write_pyramid(out / f"slide-{k + 1}.tif", [image, reduced(image, 2), reduced(image, 4)])
        labels.append((f"slide-{k + 1}", kind))
        progress(k + 1, slides)
    write_table(out / "labels.csv", labels)
    return out


def _tissue(kind: str, size: tuple[int, int], laboratory: int, rng: Random) -> NDArray[np.uint8]:
    """Draw a patch of tissue, and repeat it by mirroring up to a size."""
    patch = render_tile(kind, (_PATCH, _PATCH), LABORATORIES[laboratory % len(LABORATORIES)], rng).image
    height, width = (max(side - _PATCH, 0) for side in size)
    return np.pad(patch, ((0, height), (0, width), (0, 0)), mode="symmetric")[: size[0], : size[1]]


def reduced(image: NDArray[np.uint8], times: int) -> NDArray[np.uint8]:
    """Downscale an image by averaging `times`×`times` blocks; incomplete blocks are dropped."""
    size = image.shape[1] // times, image.shape[0] // times
    whole = image[: size[1] * times, : size[0] * times]
    return np.asarray(cv2.resize(whole, size, interpolation=cv2.INTER_AREA), np.uint8).reshape(*size[::-1], -1)


def write_pyramid(path: Path, levels: Sequence[NDArray[np.uint8]]) -> None:
    """Write the levels of a slide, uint8 H×W×3 each, the largest first, as JPEG tiles; DataError without tifffile."""
    try:
        import tifffile
    except ImportError:
        raise DataError("writing slides needs tifffile: pip install 'augrecipes[slides]'") from None
    path.parent.mkdir(parents=True, exist_ok=True)
    with tifffile.TiffWriter(path) as file:
        for k, level in enumerate(levels):
            per_cm = 1e4 / _MPP * level.shape[1] / levels[0].shape[1]
            file.write(
                _jpeg_tiles(level), shape=level.shape, dtype=np.uint8, tile=(_TILE, _TILE), metadata=None,
                # tifffile cannot write ready JPEG tiles: declare them deflated, and correct the tags below.
                compression="deflate", photometric="rgb", software=False, subfiletype=min(k, 1),
                resolution=(per_cm, per_cm), resolutionunit="CENTIMETER",
                extratags=[(530, 3, 2, (2, 2), True)],  # YCbCrSubSampling
            )  # fmt: skip
    with tifffile.TiffFile(path, mode="r+") as file:
        for page in file.pages:
            page.aspage().tags["Compression"].overwrite(7)
            page.aspage().tags["PhotometricInterpretation"].overwrite(6)


def _jpeg_tiles(level: NDArray[np.uint8]) -> Iterator[bytes]:
    """Yield JPEG tiles row by row; edge tiles are padded with their last row and column."""
    for y in range(0, level.shape[0], _TILE):
        for x in range(0, level.shape[1], _TILE):
            tile = level[y : y + _TILE, x : x + _TILE]
            more = (0, _TILE - tile.shape[0]), (0, _TILE - tile.shape[1]), (0, 0)
            yield simplejpeg.encode_jpeg(np.pad(tile, more, mode="edge"), 85, "RGB", "420")
