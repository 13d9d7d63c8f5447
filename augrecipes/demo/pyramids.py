"""Draws whole slides, as scanners write them: TIFF pyramids of JPEG tiles, which tifffile lays out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import simplejpeg
from numpy.typing import NDArray

from augrecipes.demo.brushes import noise
from augrecipes.demo.files import random_of, remove_drawings, write_table
from augrecipes.demo.tissue import CLASSES, LABORATORIES, render_tile
from augrecipes.errors import DataError
from augrecipes.progress import Progress

Encode = Callable[[NDArray[np.uint8]], bytes]
_GLASS = 243  # grey of the bare slide
_PATCH = 384  # px of drawn tissue, mirrored side by side
_SIZE = 2304, 3072  # px of level 0
_MPP = 0.5
_TABLES = (0xC4, 0xDB)  # segments of a JPEG that tiles share
_SCAN = 0xDA


@dataclass(frozen=True)
class Layout:
    """How a pyramid is written.

    Attributes:
        encode: gives the bytes of a tile: uint8 rows×columns×3, or ×1.
        compression: value of TIFF's tag; 7 for JPEG.
        photometric: value of TIFF's tag; 6 for YCbCr.
        tile: side in px; of strips their rows.
        strips: instead of tiles.
        sampling: of chroma, across and down.
        tables: that the tiles lack.
        below: levels stand below the first one, as OME-TIFFs have it, not behind it.
        about: text of the first picture; "Aperio Image Library" makes the file one of theirs.
        mpp: micrometres a pixel; None leaves it out.
    """

    encode: Encode
    compression: int = 7
    photometric: int = 6
    tile: int = 256
    strips: bool = False
    sampling: tuple[int, int] = (2, 2)
    tables: bytes = b""
    below: bool = False
    about: str = ""
    mpp: float | None = _MPP


def write_pyramid(path: Path, levels: Sequence[NDArray[np.uint8]], layout: Layout) -> Path:
    """Write the levels of a slide, uint8 H×W×C each, the largest first; DataError without tifffile."""
    try:
        import tifffile
    except ImportError:
        raise DataError("writing slides needs tifffile: pip install 'augrecipes[slides]'") from None
    path.parent.mkdir(parents=True, exist_ok=True)
    with tifffile.TiffWriter(path) as file:
        for k, level in enumerate(levels):
            first = k == 0
            file.write(
                (layout.encode(tile) for tile in _tiles(level, layout)),
                shape=level.shape if level.shape[2] == 3 else level.shape[:2],
                dtype=np.uint8,
                # What tifffile compresses by itself; the tags say afterwards what it was given.
                compression="deflate",
                photometric="rgb" if level.shape[2] == 3 else "minisblack",
                description=layout.about if first else None,
                metadata=None,
                software=False,
                subifds=len(levels) - 1 if first and layout.below else None,
                subfiletype=0 if first else 1,
                extratags=_tags(layout),
                **({"rowsperstrip": layout.tile} if layout.strips else {"tile": (layout.tile, layout.tile)}),
                **({} if layout.mpp is None or not first else _resolution(layout.mpp)),
            )
    with tifffile.TiffFile(path, mode="r+") as file:
        top, *others = file.pages
        for page in (top, *(top.aspage().pages or ()), *others):
            page.aspage().tags["Compression"].overwrite(layout.compression)
            page.aspage().tags["PhotometricInterpretation"].overwrite(layout.photometric)
    return path


def jpeg_layout(example: NDArray[np.uint8], quality: int = 85, sampling: str = "420", **options: Any) -> Layout:
    """A layout of JPEG tiles whose tables stand once in the file, as scanners write it.

    Args:
        example: a picture that is encoded for its tables, uint8 H×W×3.
        quality: 1 to 100.
        sampling: `444`, `422` or `420`.
        options: others of `Layout`.
    """

    def encode(tile: NDArray[np.uint8]) -> bytes:
        return simplejpeg.encode_jpeg(np.ascontiguousarray(tile), quality, "RGB", sampling)

    steps = {"444": (1, 1), "422": (2, 1), "420": (2, 2)}[sampling]
    tables, _ = without_tables(encode(example[:64, :64]))
    return Layout(lambda tile: without_tables(encode(tile))[1], sampling=steps, tables=tables, **options)


def without_tables(jpeg: bytes) -> tuple[bytes, bytes]:
    """The tables of a JPEG as a stream of their own, and the JPEG without them."""
    tables, rest, at = b"", b"", 2
    while (marker := jpeg[at + 1]) != _SCAN:
        end = at + 2 + int.from_bytes(jpeg[at + 2 : at + 4], "big")
        if marker in _TABLES:
            tables += jpeg[at:end]
        elif marker >> 4 != 0xE:  # what applications say: a TIFF says it in its tags
            rest += jpeg[at:end]
        at = end
    return jpeg[:2] + tables + b"\xff\xd9", jpeg[:2] + rest + jpeg[at:]


def halved(image: NDArray[np.uint8], times: int) -> NDArray[np.uint8]:
    """A picture, each pixel the mean of so many rows and columns; what is left of them goes."""
    size = image.shape[1] // times, image.shape[0] // times
    whole = image[: size[1] * times, : size[0] * times]
    return np.asarray(cv2.resize(whole, size, interpolation=cv2.INTER_AREA), np.uint8).reshape(*size[::-1], -1)


def draw_whole_slides(
    out: Path, *, slides: int = 3, seed: int = 0, shrink: int = 1, progress: Progress = lambda done, total: None
) -> Path:
    """Draw whole slides into `out`; the same arguments draw the same pixels (with the same OpenCV and numpy).

    Args:
        out: folder, made when missing: `slide-1.tif`, ..., 3072×2304 px at 0.5 µm with levels of a half and a quarter,
            and labels.csv (bag, label). Earlier drawings in it are removed, nothing else is touched.
        slides: how many.
        seed: any integer.
        shrink: divides the sides, down to 256 px (for tests).
        progress: called with (done, all) after each slide.

    Returns:
        The folder, as SlideBags takes it.

    Raises:
        DataError: tifffile is not installed: it comes with the extra `slides`.
        OSError: the folder cannot be written.
    """
    remove_drawings(out, "slide-*.tif", r"slide-\d+\.tif")
    out.mkdir(parents=True, exist_ok=True)
    labels = [("bag", "label")]
    for k in range(slides):
        rng, kind = random_of(seed, 5, k), CLASSES[-1 - k % len(CLASSES)]
        height, width = (max(side // shrink, 256) for side in _SIZE)
        patch = render_tile(kind, (_PATCH, _PATCH), LABORATORIES[k % len(LABORATORIES)], rng).image
        image = np.pad(patch, ((0, max(height - _PATCH, 0)), (0, max(width - _PATCH, 0)), (0, 0)), mode="symmetric")
        image = _on_glass(np.ascontiguousarray(image[:height, :width]), rng)
        write_pyramid(out / f"slide-{k + 1}.tif", [image, halved(image, 2), halved(image, 4)], jpeg_layout(image))
        labels.append((f"slide-{k + 1}", kind))
        progress(k + 1, slides)
    write_table(out / "labels.csv", labels)
    return out


def _on_glass(image: NDArray[np.uint8], rng: Any) -> NDArray[np.uint8]:
    """A picture as a ragged piece of tissue on a bare slide."""
    height, width = image.shape[:2]
    y, x = np.mgrid[: height // 16, : width // 16]
    away = np.hypot(y / (height / 16) - 0.5, x / (width / 16) - 0.5) + 0.12 * noise(rng, y.shape, 12)
    piece = cv2.resize((away < 0.42).astype(np.float32), (width, height))[:, :, None]
    glass = np.full(3, _GLASS, np.float32) + rng.normal(0, 1.5, (height, width, 1)).astype(np.float32)
    return np.clip(image * piece + glass * (1 - piece), 0, 255).astype(np.uint8)


def _tiles(level: NDArray[np.uint8], layout: Layout) -> Iterator[NDArray[np.uint8]]:
    """The tiles, or strips, row by row; tiles are filled up with their last row and column."""
    height, width = level.shape[:2]
    across = width if layout.strips else layout.tile
    for y in range(0, height, layout.tile):
        for x in range(0, width, across):
            tile = level[y : y + layout.tile, x : x + across]
            below, right = (0, 0) if layout.strips else (layout.tile - tile.shape[0], layout.tile - tile.shape[1])
            yield np.pad(tile, ((0, below), (0, right), (0, 0)), mode="edge")


def _tags(layout: Layout) -> list[tuple[int, int, int, Any, bool]]:
    tags: list[tuple[int, int, int, Any, bool]] = []
    if layout.photometric == 6:
        tags.append((530, 3, 2, layout.sampling, True))
    if layout.tables:
        tags.append((347, 7, len(layout.tables), layout.tables, True))
    return tags


def _resolution(mpp: float) -> dict[str, Any]:
    return {"resolution": (10_000 / mpp, 10_000 / mpp), "resolutionunit": "CENTIMETER"}
