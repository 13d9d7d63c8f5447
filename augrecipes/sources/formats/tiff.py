"""TIFF: the directory checked here; of several pages, the first.

Samples of the usual kinds are unpacked by `tiff_samples`, anything else (JPEG, fax codes, CIELAB, YCbCr, …) is decoded
by OpenCV's libtiff. It tells of no damage to fax codes (CCITT), nor does any other reader: such a file may be read with
rows that are wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.formats import opencv, tiff_samples
from augrecipes.sources.formats.format import Ends, Format
from augrecipes.sources.formats.header import Color, ImageHeader, UnreadableError
from augrecipes.sources.formats.tiff_ifd import Directory, first_directory, pictures
from augrecipes.sources.formats.tiff_samples import TiffLayout

_WIDTH, _HEIGHT, _BITS, _PACKING, _PHOTOMETRIC, _FILL, _ORIENTATION = 256, 257, 258, 259, 262, 266, 274
_STRIPS, _SAMPLES, _ROWS, _STRIP_BYTES, _PLANAR = 273, 277, 278, 279, 284
_PREDICTOR, _PALETTE = 317, 320
_TILE_WIDTH, _TILE_HEIGHT, _TILES, _TILE_BYTES, _EXTRA, _FORMAT = 322, 323, 324, 325, 338, 339
_WHITE_IS_ZERO, _BLACK_IS_ZERO, _INDICES = 0, 1, 3
_COLORS: dict[int, Color] = {0: "grey", 1: "grey", 2: "rgb", 3: "palette", 5: "cmyk", 6: "rgb", 8: "lab"}
_UNSIGNED, _SIGNED = 1, 2
_ASSOCIATED = 1
_YCBCR = 6
_SEPARATE = 2


def header(data: bytes) -> ImageHeader:
    """The header of a TIFF's first page; the data must reach its directory. Raises UnreadableError."""
    page = first_directory(data)
    width, height = page.first(data, _WIDTH, 0), page.first(data, _HEIGHT, 0)
    bits = page.values(data, _BITS, (1,))
    samples = page.first(data, _SAMPLES, 1)
    photometric = page.first(data, _PHOTOMETRIC, -1)
    color = _COLORS.get(photometric, "other")
    turn = page.first(data, _ORIENTATION, 1)
    return ImageHeader(
        "tiff",
        width,
        height,
        bits=bits[0] if bits else 1,
        color=color,
        alpha=color == "rgb" and samples > 3,  # OpenCV leaves out that of grey
        orientation=turn if 1 <= turn <= 8 else 1,
        frames=pictures(data, page),
    )


def decode(data: bytes, info: ImageHeader, channels: int | None) -> NDArray[Any]:
    """Pixels, uint8 or uint16, H×W, H×W×3 or H×W×4. Raises UnreadableError for float and signed samples, and damage."""
    page, layout = _checked(data, info)
    kind = page.first(data, _FORMAT, _UNSIGNED)
    if kind != _UNSIGNED or info.bits > 16:
        what = {2: "signed", 3: "float"}.get(kind, "unsigned" if kind == _UNSIGNED else "unusual")
        raise UnreadableError(
            f"a TIFF of {info.bits}-bit {what} samples, of unknown range; up to 16 bits unsigned are read"
        )
    if info.bits > 8 and info.color not in ("grey", "rgb"):
        raise UnreadableError(f"a TIFF of {info.bits}-bit {info.color} samples in a layout that OpenCV misreads")
    if _simple(layout, info):
        return _colored(data, page, info, tiff_samples.samples(data, layout))
    if info.bits > 8 and layout.planes > 1:
        raise UnreadableError(f"a TIFF of {info.bits}-bit {info.color} samples in a layout that OpenCV misreads")
    expand = info.bits <= 8 and info.color != "grey" and not (info.color == "rgb" and info.alpha)
    out = _libtiff(data, page, layout, info, color=expand)
    # OpenCV inverts up to 8 bits only.
    white = page.first(data, _PHOTOMETRIC, _BLACK_IS_ZERO) == _WHITE_IS_ZERO
    return ~out if white and out.dtype == np.uint16 else out


def decode_mask(data: bytes, info: ImageHeader) -> NDArray[Any]:
    """Label ids: palette indices or grey samples as stored, uint8, uint16 or uint32. Raises UnreadableError."""
    page, layout = _checked(data, info)
    if page.first(data, _FORMAT, _UNSIGNED) == _UNSIGNED and _simple(layout, info):
        stored = tiff_samples.samples(data, layout)
        return _colored(data, page, info, stored) if info.color == "cmyk" else stored
    if info.bits > 8 and (info.bits not in (16, 32) or layout.planes > 1):
        raise UnreadableError(f"a TIFF mask of {info.bits}-bit samples, which OpenCV would not give as stored")
    out = _libtiff(data, page, layout, info, color=False, ids=info.color in ("grey", "palette"))
    if info.bits > 8 and out.dtype.itemsize * 8 != info.bits:
        raise UnreadableError(f"a TIFF mask of {info.bits}-bit samples, of which OpenCV gives {out.dtype}")
    if info.color in ("grey", "palette") and info.bits < 8:
        out = out // (255 // (2**info.bits - 1))
    return np.asarray(out)


def _simple(layout: TiffLayout, info: ImageHeader) -> bool:
    """Whether its samples are read here, and understood."""
    if not tiff_samples.can(layout):
        return False
    match info.color:
        case "grey" | "palette":
            return layout.samples <= 4
        case "rgb":
            return layout.samples in (3, 4) and info.bits in (8, 16, 32)
        case "cmyk":
            return layout.samples == 4 and info.bits == 8
    return False


def _colored(data: bytes, page: Directory, info: ImageHeader, stored: NDArray[Any]) -> NDArray[Any]:
    """What samples mean: grey and colours of full range, as libtiff has them."""
    if info.color == "rgb":
        return stored
    if info.color == "cmyk":
        light = 255 - stored.astype(np.uint16)
        return (light[:, :, :3] * light[:, :, 3:] // 255).astype(np.uint8)
    first = stored[:, :, 0]
    if info.color == "palette":
        table = np.array(page.values(data, _PALETTE), np.uint16)
        if len(table) != 3 * 2**info.bits:
            raise UnreadableError("a TIFF with colour indices and no palette")
        return (table.reshape(3, -1).T >> (8 if table.max() > 255 else 0)).astype(np.uint8)[first]
    most = 2**info.bits - 1
    if page.first(data, _PHOTOMETRIC, _BLACK_IS_ZERO) == _WHITE_IS_ZERO:
        first = first.dtype.type(most) - first
    return first * np.uint8(255 // most) if most < 255 else first


def _libtiff(
    data: bytes, page: Directory, layout: TiffLayout, info: ImageHeader, *, color: bool, ids: bool = False
) -> NDArray[Any]:
    full_rows = page.first(data, _PHOTOMETRIC, -1) != _YCBCR  # whose rows may be shorter
    if full_rows and tiff_samples.can(layout) and layout.packing != tiff_samples.PLAIN and info.bits <= 8:
        tiff_samples.samples(data, layout)  # for the damage that OpenCV does not tell of
    copy = bytearray(data)
    page.patched(copy, _ORIENTATION, 1)
    # libtiff multiplies colours by unassociated alpha on the way; called associated, they come as stored.
    page.patched(copy, _EXTRA, _ASSOCIATED)
    if ids:
        page.patched(copy, _PHOTOMETRIC, _BLACK_IS_ZERO)
    return opencv.imdecode(copy, info, color=color)


def _checked(data: bytes, info: ImageHeader) -> tuple[Directory, TiffLayout]:
    """The directory, and where samples are, once each strip and tile is known to lie inside of the file."""
    page = first_directory(data)
    if page.end > len(data):
        raise UnreadableError("truncated: the values of a TIFF tag lie past the end")
    tiled = _TILES in page.entries
    starts = page.values(data, _TILES if tiled else _STRIPS)
    sizes = page.values(data, _TILE_BYTES if tiled else _STRIP_BYTES)
    width = page.first(data, _TILE_WIDTH, 0) if tiled else info.width
    rows = page.first(data, _TILE_HEIGHT, 0) if tiled else min(info.height, page.first(data, _ROWS, info.height))
    if width < 1 or rows < 1:
        raise UnreadableError("damaged: a TIFF of strips or tiles without a size")
    samples = page.first(data, _SAMPLES, 1)
    planes = samples if page.first(data, _PLANAR, 1) == _SEPARATE and samples > 1 else 1
    count = -(-info.width // width) * -(-info.height // rows) * planes
    if not starts or len(starts) != len(sizes) or len(starts) < count:
        raise UnreadableError("truncated or damaged: a TIFF without a whole table of its strips or tiles")
    if any(start + size > len(data) for start, size in zip(starts, sizes, strict=True)):
        raise UnreadableError("truncated: its TIFF data ends before the picture does")
    bits = page.values(data, _BITS, (1,))
    layout = TiffLayout(
        packing=page.first(data, _PACKING, tiff_samples.PLAIN),
        bits=bits[0] if len(set(bits)) == 1 else 0,
        samples=samples,
        planes=planes,
        size=(info.height, info.width),
        tiled=tiled,
        part=(rows, width),
        places=tuple(zip(starts[:count], sizes[:count], strict=True)),
        predictor=page.first(data, _PREDICTOR, 1),
        fill=page.first(data, _FILL, 1),
        endian=page.endian,
    )
    # Subsampled YCbCr takes less; a half of the plain size is the least that it takes.
    needed = layout.row * info.height * planes
    if layout.packing == tiff_samples.PLAIN and not tiled and 2 * sum(sizes) < needed:
        raise UnreadableError(f"truncated: {sum(sizes)} of {needed} bytes of TIFF pixels")
    return page, layout


def _complete(info: ImageHeader, ends: Ends) -> bool:
    _checked(ends.last, info)
    return True


FORMAT = Format(
    "tiff",
    "TIFF",
    lambda data: data[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    header,
    decode,
    decode_mask,
    _complete,
    header_at="anywhere",
    frames="pages",
)
