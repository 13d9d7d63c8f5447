"""Small slides of every kind that scanners and libraries write, with the pixels to read back."""

import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import simplejpeg
from PIL import Image

from augrecipes.demo.slides import reduced

Image.MAX_IMAGE_PIXELS = None


@dataclass(frozen=True)
class Slide:
    """A slide that a test wrote.

    Attributes:
        path: the file.
        levels: the encoded pixels, uint8 H×W×C each.
        known: whether OpenSlide opens it.
        direct: whether its tiles are read without OpenSlide.
        lossless: whether its pixels equal those of `levels`.
    """

    path: Path
    levels: list[np.ndarray]
    known: bool
    direct: bool
    lossless: bool


@dataclass(frozen=True)
class Layout:
    """The layout of a pyramid in a TIFF.

    Attributes:
        encode: encodes a tile, uint8 rows×columns×3 or ×1.
        compression: value of the tag Compression; 7 for JPEG.
        photometric: value of the tag PhotometricInterpretation; 6 for YCbCr.
        tile: side of a tile in px; of strips, their rows.
        strips: write strips instead of tiles.
        sampling: chroma subsampling, across and down.
        tables: JPEG tables that the tiles share.
        below: write the levels as SubIFDs of the first, as in OME-TIFF, not as further pages.
        about: description of the first image; "Aperio Image Library" makes the file an Aperio slide.
        mpp: micrometres per pixel; None: not stated.
    """

    encode: Callable[[np.ndarray], bytes]
    compression: int = 7
    photometric: int = 6
    tile: int = 256
    strips: bool = False
    sampling: tuple[int, int] = (2, 2)
    tables: bytes = b""
    below: bool = False
    about: str = ""
    mpp: float | None = 0.5


def write_pyramid(path: Path, levels: Sequence[np.ndarray], layout: Layout) -> Path:
    """Write the levels of a slide, uint8 H×W×C each, the largest first."""
    import tifffile

    with tifffile.TiffWriter(path) as file:
        for k, level in enumerate(levels):
            first = k == 0
            file.write(
                (layout.encode(tile) for tile in _tiles(level, layout)),
                shape=level.shape if level.shape[2] == 3 else level.shape[:2],
                dtype=np.uint8,
                # tifffile passes on encoded tiles under any compression; the tags are corrected below.
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


def jpeg_layout(example: np.ndarray, quality: int = 85, sampling: str = "420", **options: Any) -> Layout:
    """Return a layout of JPEG tiles that share their tables, as scanners write it.

    Args:
        example: an image whose JPEG gives the tables, uint8 H×W×3.
        quality: 1 to 100.
        sampling: `444`, `422` or `420`.
        options: further fields of `Layout`.
    """

    def encode(tile: np.ndarray) -> bytes:
        return simplejpeg.encode_jpeg(np.ascontiguousarray(tile), quality, "RGB", sampling)

    steps = {"444": (1, 1), "422": (2, 1), "420": (2, 2)}[sampling]
    tables, _ = without_tables(encode(example[:64, :64]))
    return Layout(lambda tile: without_tables(encode(tile))[1], sampling=steps, tables=tables, **options)


def without_tables(jpeg: bytes) -> tuple[bytes, bytes]:
    """Split a JPEG into a stream of its tables, and the JPEG without them."""
    tables, rest, at = b"", b"", 2
    while (marker := jpeg[at + 1]) != 0xDA:
        end = at + 2 + int.from_bytes(jpeg[at + 2 : at + 4], "big")
        if marker in (0xC4, 0xDB):
            tables += jpeg[at:end]
        elif marker >> 4 != 0xE:  # drop APPn segments: a TIFF has tags for their content
            rest += jpeg[at:end]
        at = end
    return jpeg[:2] + tables + b"\xff\xd9", jpeg[:2] + rest + jpeg[at:]


def _tiles(level: np.ndarray, layout: Layout) -> Iterator[np.ndarray]:
    """Yield the tiles or strips row by row; tiles are padded with their last row and column."""
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


def tissue(height: int, width: int, seed: int = 0) -> np.ndarray:
    """Draw smooth colours with grain, which JPEG encodes well and which differ everywhere."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(60, 240, (height // 24 + 3, width // 24 + 3, 3)).astype(np.uint8)
    smooth = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    return np.clip(smooth + rng.normal(0, 6, (height, width, 3)), 0, 255).astype(np.uint8)


def _as_rgb(tile: np.ndarray) -> bytes:
    """Encode a JPEG with RGB components and no marker that says so."""
    out = io.BytesIO()
    Image.fromarray(tile).save(out, "jpeg", quality=90, subsampling=0, keep_rgb=True)
    jpeg = bytearray(without_application(out.getvalue()))
    frame, scan = jpeg.index(b"\xff\xc0"), jpeg.index(b"\xff\xda")
    for k in range(3):  # components by number, as libtiff writes them, not by the letters R, G and B
        jpeg[frame + 10 + 3 * k] = jpeg[scan + 5 + 2 * k] = k + 1
    return bytes(jpeg)


def _as_grey(tile: np.ndarray) -> bytes:
    return cv2.imencode(".jpg", tile, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()


def _as_jp2(tile: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(tile).save(out, "jpeg2000", irreversible=False, no_jp2=True)
    return out.getvalue()


def without_application(jpeg: bytes) -> bytes:
    """Remove the segments of JFIF and Adobe from a JPEG; its tables stay."""
    tables, rest = without_tables(jpeg)
    return tables[:-2] + rest[2:]


def _plain(compression: int, encode: Callable[[np.ndarray], bytes], photometric: int = 2) -> Callable[..., Layout]:
    return lambda image, **options: Layout(encode, compression=compression, photometric=photometric, **options)


def _with_own_tables(image: np.ndarray, **options: Any) -> Layout:
    made = jpeg_layout(image, 80, "420", **options)
    head = made.tables
    return replace(made, encode=lambda tile: head[:-2] + made.encode(tile)[2:], tables=b"")


# By name: the layout, and the fields `known`, `direct` and `lossless` of its slides.
KINDS: dict[str, tuple[Callable[..., Layout], bool, bool, bool]] = {
    "420": (lambda image, **more: jpeg_layout(image, 85, "420", **more), True, True, False),
    "422": (lambda image, **more: jpeg_layout(image, 60, "422", **more), True, True, False),
    "444": (lambda image, **more: jpeg_layout(image, 95, "444", **more), True, True, False),
    "own tables": (_with_own_tables, True, True, False),
    "rgb": (_plain(7, _as_rgb), True, True, False),
    "grey": (_plain(7, _as_grey, 1), True, True, False),
    "aperio": (lambda image, **more: jpeg_layout(image, 70, "422", about="Aperio Image Library v1 |MPP = 0.5", **more),
               True, True, False),
    "strips": (lambda image, **more: jpeg_layout(image, 85, "420", strips=True, **more), False, True, False),
    "rgb strips": (lambda image, **more: replace(_plain(7, _as_rgb)(image, **more), strips=True), False, True, False),
    "below": (lambda image, **more: jpeg_layout(image, 85, "420", below=True, **more), True, True, False),
    "raw": (_plain(1, lambda tile: np.ascontiguousarray(tile).tobytes()), True, False, True),
    "deflate": (_plain(8, lambda tile: zlib.compress(np.ascontiguousarray(tile).tobytes())), True, False, True),
    "jp2": (lambda image, **more: Layout(_as_jp2, compression=33005, photometric=2,
                                         about="Aperio Image Library v1 |MPP = 0.5", **more), True, False, True),
}  # fmt: skip


def write_slide(
    folder: Path, kind: str, *, height: int = 300, width: int = 420, tile: int = 64, factors: tuple[int, ...] = (2, 4),
    seed: int = 0, name: str = "slide", image: np.ndarray | None = None, mpp: float | None = 0.5,
) -> Slide:  # fmt: skip
    """Write a slide of a kind in `KINDS`."""
    made, known, direct, lossless = KINDS[kind]
    image = tissue(height, width, seed) if image is None else image
    image = image[:, :, :1] if kind == "grey" else image
    levels = [image, *(reduced(image, k) for k in factors)]
    suffix = ".svs" if "about" in kind or kind in ("aperio", "jp2") else ".tif"
    path = write_pyramid(folder / f"{name}{suffix}", levels, made(image, tile=tile, mpp=mpp))
    return Slide(path, levels, known, direct, lossless)
