"""TIFF: the directory checked here, pixels by OpenCV's libtiff. Of several pages, the first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.formats import opencv, tiff_damage, tiff_small
from augrecipes.sources.formats.header import Color, ImageHeader, UnreadableError
from augrecipes.sources.formats.tiff_ifd import Directory, first_directory, pictures

_WIDTH, _HEIGHT, _BITS, _PACKING, _PHOTOMETRIC, _ORIENTATION = 256, 257, 258, 259, 262, 274
_STRIPS, _SAMPLES, _ROWS, _STRIP_BYTES, _PLANAR = 273, 277, 278, 279, 284
_TILE_WIDTH, _TILE_HEIGHT, _TILES, _TILE_BYTES, _EXTRA, _FORMAT = 322, 323, 324, 325, 338, 339
_WHITE_IS_ZERO, _BLACK_IS_ZERO, _INDICES = 0, 1, 3
_COLORS: dict[int, Color] = {0: "grey", 1: "grey", 2: "rgb", 3: "palette", 5: "cmyk", 6: "rgb", 8: "lab"}
_UNSIGNED, _SIGNED = 1, 2
_ASSOCIATED = 1
_YCBCR = 6
_CHECKED = (tiff_damage.LZW, *tiff_damage.DEFLATES, tiff_damage.PACKBITS)
_PLAIN, _SEPARATE = 1, 2


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
    page = checked(data, info)
    kind = page.first(data, _FORMAT, _UNSIGNED)
    if kind != _UNSIGNED or info.bits > 16:
        what = {2: "signed", 3: "float"}.get(kind, "unsigned" if kind == _UNSIGNED else "unusual")
        raise UnreadableError(
            f"a TIFF of {info.bits}-bit {what} samples, of unknown range; up to 16 bits unsigned are read"
        )
    if info.bits < 8 and info.color in ("grey", "palette") and tiff_small.can(page, data):
        stored = tiff_small.samples(page, data, info)
        if info.color == "palette":
            return tiff_small.colors(page, data, stored, info.bits)
        most = 2**info.bits - 1
        if page.first(data, _PHOTOMETRIC, _BLACK_IS_ZERO) == _WHITE_IS_ZERO:
            stored = np.uint8(most) - stored
        return stored * np.uint8(255 // most)
    if info.bits > 8 and (info.color not in ("grey", "rgb") or _separate(page, data)):
        raise UnreadableError(f"a TIFF of {info.bits}-bit {info.color} samples in a layout that OpenCV misreads")
    expand = info.bits <= 8 and info.color != "grey" and not (info.color == "rgb" and info.alpha)
    out = _libtiff(data, page, info, color=expand)
    # OpenCV inverts up to 8 bits only.
    white = page.first(data, _PHOTOMETRIC, _BLACK_IS_ZERO) == _WHITE_IS_ZERO
    return ~out if white and out.dtype == np.uint16 else out


def decode_mask(data: bytes, info: ImageHeader) -> NDArray[Any]:
    """Label ids: palette indices or grey samples as stored, uint8, uint16 or int32. Raises UnreadableError."""
    page = checked(data, info)
    if info.bits < 8 and tiff_small.can(page, data):
        return tiff_small.samples(page, data, info)
    if info.bits > 8 and (info.bits not in (16, 32) or _separate(page, data)):
        raise UnreadableError(f"a TIFF mask of {info.bits}-bit samples, which OpenCV would not give as stored")
    out = _libtiff(data, page, info, color=False, ids=info.color in ("grey", "palette"))
    if info.bits > 8 and out.dtype.itemsize * 8 != info.bits:
        raise UnreadableError(f"a TIFF mask of {info.bits}-bit samples, of which OpenCV gives {out.dtype}")
    if info.color in ("grey", "palette") and info.bits < 8:
        out = out // (255 // (2**info.bits - 1))
    return np.asarray(out)


def _libtiff(data: bytes, page: Directory, info: ImageHeader, *, color: bool, ids: bool = False) -> NDArray[Any]:
    packing, photometric = page.first(data, _PACKING, _PLAIN), page.first(data, _PHOTOMETRIC, -1)
    told = packing == tiff_damage.LZW and info.bits > 8  # by OpenCV itself
    if packing in _CHECKED and photometric != _YCBCR and not told:
        tiff_damage.check(data, _parts_of(page, data, info))
    copy = bytearray(data)
    page.patched(copy, _ORIENTATION, 1)
    # libtiff multiplies colours by unassociated alpha on the way; called associated, they come as stored.
    page.patched(copy, _EXTRA, _ASSOCIATED)
    if ids:
        page.patched(copy, _PHOTOMETRIC, _BLACK_IS_ZERO)
    return opencv.imdecode(bytes(copy), info, color=color)


def _separate(page: Directory, data: bytes) -> bool:
    return page.first(data, _PLANAR, 1) == _SEPARATE and page.first(data, _SAMPLES, 1) > 1


def _parts_of(page: Directory, data: bytes, info: ImageHeader) -> tiff_damage.Parts:
    tiled, samples = _TILES in page.entries, page.first(data, _SAMPLES, 1)
    planes = samples if _separate(page, data) else 1
    wide, rows = info.width, min(info.height, page.first(data, _ROWS, info.height))
    if tiled:
        wide, rows = page.first(data, _TILE_WIDTH, 0), page.first(data, _TILE_HEIGHT, 0)
    starts = page.values(data, _TILES if tiled else _STRIPS)
    sizes = page.values(data, _TILE_BYTES if tiled else _STRIP_BYTES)
    count = _parts(page, data, info, tiled=tiled)
    row = (wide * (samples // planes) * page.first(data, _BITS, 1) + 7) // 8
    short = rows if tiled else info.height - (count // planes - 1) * rows
    places = tuple(zip(starts[:count], sizes[:count], strict=True))
    return tiff_damage.Parts(page.first(data, _PACKING, _PLAIN), places, row, rows, short, planes)


def checked(data: bytes, info: ImageHeader) -> Directory:
    """The directory, once every tag, strip and tile is known to lie inside the file and to be large enough.

    Pixels are not decoded. Raises UnreadableError.
    """
    page = first_directory(data)
    if page.end > len(data):
        raise UnreadableError("truncated: the values of a TIFF tag lie past the end")
    tiled = _TILES in page.entries
    starts = page.values(data, _TILES if tiled else _STRIPS)
    sizes = page.values(data, _TILE_BYTES if tiled else _STRIP_BYTES)
    if not starts or len(starts) != len(sizes) or len(starts) < _parts(page, data, info, tiled=tiled):
        raise UnreadableError("truncated or damaged: a TIFF without a whole table of its strips or tiles")
    if any(start + size > len(data) for start, size in zip(starts, sizes, strict=True)):
        raise UnreadableError("truncated: its TIFF data ends before the picture does")
    if page.first(data, _PACKING, _PLAIN) == _PLAIN and not tiled:
        bits, samples = page.first(data, _BITS, 1), page.first(data, _SAMPLES, 1)
        planes = samples if _separate(page, data) else 1
        row = (info.width * (samples // planes) * bits + 7) // 8
        # Subsampled YCbCr takes less; a half of the plain size is the least that it takes.
        if 2 * sum(sizes) < row * info.height * planes:
            raise UnreadableError(f"truncated: {sum(sizes)} of {row * info.height * planes} bytes of TIFF pixels")
    return page


def _parts(page: Directory, data: bytes, info: ImageHeader, *, tiled: bool) -> int:
    """How many strips or tiles the picture needs."""
    width = page.first(data, _TILE_WIDTH, 0) if tiled else info.width
    height = page.first(data, _TILE_HEIGHT, 0) if tiled else min(info.height, page.first(data, _ROWS, info.height))
    if width < 1 or height < 1:
        raise UnreadableError("damaged: a TIFF of strips or tiles without a size")
    planes = page.first(data, _SAMPLES, 1) if _separate(page, data) else 1
    return -(-info.width // width) * -(-info.height // height) * planes
