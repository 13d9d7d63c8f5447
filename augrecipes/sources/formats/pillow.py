"""Every format but JPEG and PNG: Pillow reads headers and pixels, and what it says of samples becomes arrays here.

It is told which format a file begins as, so that nothing else of it is tried. Whatever it raises is an UnreadableError
or a MemoryError; its warnings are not shown, and pixels of a file that ends too early are never handed out.
"""

from __future__ import annotations

import io
import logging
import re
import struct
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.formats import exif
from augrecipes.sources.formats.format import Ends, Format
from augrecipes.sources.formats.header import Color, ImageHeader, UnreadableError, raise_if_memory

_COLORS: dict[str, Color] = {"1": "grey", "L": "grey", "LA": "grey", "La": "grey", "P": "palette", "PA": "palette",
                             "CMYK": "cmyk", "LAB": "lab", "F": "grey"}  # fmt: skip
_WIDTH, _HEIGHT, _BITS, _PHOTOMETRIC, _STRIPS, _ORIENTATION, _STRIP_BYTES = 256, 257, 258, 262, 273, 274, 279
_TILES, _TILE_BYTES, _FORMAT, _KIND, _OLD_KIND = 324, 325, 339, 254, 255  # tags of TIFF
_REDUCED_OR_MASK, _OLD_REDUCED = 5, 2
_MOST_PAGES = 100
_BACK = {6: 8, 8: 6}  # what undoes a turn, where that is not the turn itself
_CODE_STREAM = b"\xff\x4f\xff\x51"
_ROOM = {"avif": 56, "jp2": 40}  # bytes a pixel that decoders take on the way, others 12
_SLACK = 64 << 20  # and bytes for threads
Raster = NDArray[Any]


@dataclass(frozen=True, slots=True)
class SampleForm:
    """How the samples of a file are stored, as far as Pillow's mode does not say it.

    Attributes:
        least: bytes that a whole file has.
        most: the largest sample, which becomes 255 or 65535 (PNM).
        white: whether the least sample is white, in a mode that is not (TIFF) or is inverted by Pillow.
        form: 1 unsigned, 2 signed, 3 floating point.
    """

    least: int = 0
    most: int = 255
    white: bool = False
    form: int = 1


def format_of(
    name: str,
    title: str,
    begins: Callable[[bytes], bool],
    pillow: str,
    *,
    header_at: str = "anywhere",
    frames: str = "frames",
) -> Format:
    """The record of a format that Pillow reads, which calls it `pillow`."""

    def complete(header: ImageHeader, ends: Ends) -> bool:
        return ends.size >= header.layout.least and (name != "jp2" or b"\xff\xd9" in ends.last[-64:])

    def header(data: bytes) -> ImageHeader:
        with _opened(data, name, pillow) as image:
            return _header(image, name, data)

    def decode(data: bytes, header: ImageHeader, channels: int | None) -> Raster:
        with _decoded(data, header, complete, pillow) as image:
            return _picture(image, header, channels)

    def mask(data: bytes, header: ImageHeader) -> Raster:
        with _decoded(data, header, complete, pillow) as image:
            return _labels(image, header)

    return Format(name, title, begins, header, decode, mask, complete, header_at=header_at, frames=frames)


def _header(image: Any, name: str, data: bytes) -> ImageHeader:
    mode, (width, height), bits, turn, stored = image.mode, image.size, 8, 1, SampleForm()
    alpha = mode in ("LA", "La", "PA", "RGBA", "RGBa") or (mode == "P" and "transparency" in image.info)
    frames = 1 + bool(getattr(image, "is_animated", False)) if name != "tiff" else 1
    if name == "tiff":
        tags = image.tag_v2
        width, height, turn = tags[_WIDTH], tags[_HEIGHT], tags.get(_ORIENTATION, 1)
        bits, stored = max(tags.get(_BITS, (1,))), _stored_in_tiff(tags, mode)
        frames = _pages(image)
    elif name == "bmp":
        stored = SampleForm(least=_least(image, 0))
    elif name == "pnm":
        most = 1 if mode == "1" else _maxval(image)
        bits = 1 if mode == "1" else 8 if most < 256 else 16
        plain = data[1:2] in b"123"
        stored = SampleForm(0 if plain else _least(image, -(-width * len(image.getbands()) * bits // 8)), most)
        behind = data[stored.least :][:64].lstrip() if not plain else b""
        frames = 2 if behind[:1] == b"P" and behind[1:2] in b"123456" and behind[1:2] else 1
    elif name == "jp2":
        at = data.find(_CODE_STREAM)
        bits = (data[at + 42] & 0x7F) + 1 if at >= 0 and len(data) > at + 42 else 8
    elif name == "avif":
        at = data.find(b"av1C")
        bits = 8 if at < 0 or not data[at + 6] & 0x40 else 12 if data[at + 6] & 0x20 else 10
    if name in ("webp", "avif"):
        turn = exif.orientation(image.info.get("exif", b""))
    color = _COLORS.get(mode, "grey" if mode.startswith("I") else "rgb")
    if name in ("bmp", "gif"):  # whose grey is a palette
        alpha, color = mode == "RGBA", "palette" if color == "grey" else color
    return ImageHeader(name, width, height, bits, color, alpha, turn if turn in range(1, 9) else 1, frames, stored)


def _stored_in_tiff(tags: Any, mode: str) -> SampleForm:
    starts, sizes = tags.get(_STRIPS, tags.get(_TILES, ())), tags.get(_STRIP_BYTES, tags.get(_TILE_BYTES, ()))
    if not starts or len(starts) != len(sizes):
        raise UnreadableError("truncated or damaged: a TIFF without a whole table of its strips or tiles")
    kinds = tags.get(_FORMAT, (1,))
    white = tags.get(_PHOTOMETRIC, 1) == 0 and mode != "P"
    return SampleForm(max(map(sum, zip(starts, sizes, strict=True))), white=white, form=kinds[0] if kinds else 1)


def _pages(image: Any) -> int:
    """Pictures in a TIFF, counted up to two: previews and masks of another one are none of their own."""
    seen = {image.tag_v2.offset}
    with suppress(Exception):  # damage behind the first picture is not ours to tell
        for page in range(1, _MOST_PAGES):
            image.seek(page)
            tags = image.tag_v2
            if tags.offset in seen:
                break
            seen.add(tags.offset)
            if not tags.get(_KIND, 0) & _REDUCED_OR_MASK and tags.get(_OLD_KIND, 0) != _OLD_REDUCED:
                return 2
    return 1


def _maxval(image: Any) -> int:
    """The largest sample of a PNM file, as Pillow tells its decoders; 255 and 65535 are not told."""
    args = image.tile[0].args
    return int(args[-1]) if isinstance(args, tuple) else 65535 if args == "I;16B" else 255


def _least(image: Any, row: int) -> int:
    """Bytes of a file whose rows are not packed; the padding of the last one is often missing."""
    codec, _, at, args = image.tile[0]
    if codec == "raw" and not row and isinstance(args, tuple):
        return int(at + args[1] * image.height - 3)
    return int(at + row * image.height)


@contextmanager
def _opened(data: bytes, name: str, pillow: str) -> Iterator[Any]:
    from PIL import Image, UnidentifiedImageError

    try:
        with _quiet(), Image.open(io.BytesIO(data), formats=(pillow,)) as image:
            yield image
    except (MemoryError, SystemError, UnreadableError):
        raise
    except Image.DecompressionBombError as error:
        raise UnreadableError(f"{error} (Pillow's own limit, PIL.Image.MAX_IMAGE_PIXELS)") from None
    except Exception as error:  # whatever its plugins and their libraries raise
        raise_if_memory(error)
        check_memory(None)
        said = "cut or damaged in its header" if isinstance(error, UnidentifiedImageError) else str(error)
        cut = "truncated" in said or "not enough" in said or isinstance(error, EOFError | struct.error | IndexError)
        what = "truncated or damaged" if cut else "damaged, or of a kind that Pillow cannot decode"
        raise UnreadableError(f"{what}: {name.upper()} ({said or type(error).__name__})") from None


@contextmanager
def _decoded(data: bytes, header: ImageHeader, complete: Callable[..., bool], pillow: str) -> Iterator[Any]:
    """The first picture of a file, with its pixels as they are stored."""
    if not complete(header, Ends(data, data, len(data))):
        raise UnreadableError(f"truncated: its {header.format.upper()} data ends before the picture does")
    with _opened(data, header.format, pillow) as image:
        turned = image.getexif().get(_ORIENTATION, 1) if header.format == "tiff" else 1
        try:
            image.load()
        except (OSError, ValueError, EOFError, SyntaxError):
            check_memory(header)  # some libraries do not say that this was their trouble
            raise
        # Of all formats Pillow turns TIFF alone, and not only as its tag says: stored pixels are what is handed on.
        stored = image.transpose(_turns()[_BACK.get(turned, turned)]) if turned in range(2, 9) else image
        if stored.size != (header.width, header.height):
            raise UnreadableError(f"its header says {header.width}×{header.height} pixels, its data {stored.size}")
        yield stored


def check_memory(header: ImageHeader | None) -> None:
    """MemoryError where decoding has too little: so much is asked for and given back, and never touched."""
    np.empty(_SLACK, np.uint8)
    if header is not None:
        np.empty(header.height * header.width * _ROOM.get(header.format, 12) * (1 + (header.bits > 8)), np.uint8)


def _turns() -> dict[int, Any]:
    """Pillow's names of the turns that EXIF numbers from 2 on."""
    from PIL.Image import Transpose

    names = "FLIP_LEFT_RIGHT ROTATE_180 FLIP_TOP_BOTTOM TRANSPOSE ROTATE_270 TRANSVERSE ROTATE_90"
    return {number: Transpose[name] for number, name in enumerate(names.split(), 2)}


def _picture(image: Any, header: ImageHeader, channels: int | None) -> Raster:
    """Pixels, uint8 or uint16, H×W, H×W×3 or H×W×4 (only where alpha is asked for)."""
    stored: SampleForm = header.layout
    if stored.form != 1 or header.bits > 16 or image.mode == "F":
        what = {2: "signed", 3: "float"}.get(stored.form, "unsigned" if stored.form == 1 else "unusual")
        raise UnreadableError(
            f"a {header.format.upper()} of {header.bits}-bit {what} samples, of unknown range; up to 16 bits unsigned "
            "are read"
        )
    if header.format == "pnm" and stored.most not in (1, 255, 65535):
        most = stored.most
        return ((_unscaled(image, most).astype(np.uint32) * 255 + most // 2) // most).astype(np.uint8)
    if image.mode == "1":
        image = image.convert("L")
    if image.mode.startswith("I"):
        deep: Raster = np.asarray(image).astype(np.uint16)
        deep = deep << (16 - header.bits) if header.format == "tiff" and header.bits < 16 else deep
        return ~deep if stored.white else deep
    if image.mode == "L" and header.color == "grey":
        return np.asarray(image)
    alpha = header.alpha and channels in (None, 4)
    if image.mode in ("LA", "La") and not alpha:
        return np.asarray(image.convert("LA"))[:, :, 0]
    mode = "RGBA" if alpha else "RGB"
    return np.asarray(image if image.mode == mode else image.convert(mode))


def _labels(image: Any, header: ImageHeader) -> Raster:
    """Samples as stored: indices of a palette, grey of any depth; colours only where they have 8 bits."""
    stored: SampleForm = header.layout
    deep = image.mode.startswith("I")
    if header.bits > 8 and not deep and image.mode != "F":
        raise UnreadableError(f"a mask of {header.bits}-bit {header.color} samples, of which Pillow gives 8")
    if image.mode in ("P", "PA"):
        return np.asarray(image if image.mode == "P" else image.getchannel(0))
    if image.mode in ("LA", "La"):
        return np.asarray(image.convert("LA").getchannel(0))
    if image.mode not in ("1", "L", "F") and not deep:
        return np.asarray(image if image.mode in ("RGB", "RGBA") else image.convert("RGB"))
    found = np.asarray(image)
    if image.mode == "1":
        found = found.astype(np.uint8)
        return 1 - found if stored.white or header.format == "pnm" else found
    if header.format == "pnm":
        return _unscaled(image, stored.most)
    if header.format == "jp2":
        return found >> ((16 if deep else 8) - header.bits) if header.bits not in (8, 16) else found
    if deep and stored.form == 1:
        return found.view(np.uint32) if header.bits > 16 else found.astype(np.uint16)
    if image.mode == "L":
        found = ~found if stored.white else found
        return found // np.uint8(255 // (2**header.bits - 1)) if header.bits < 8 and header.format == "tiff" else found
    return found


def _unscaled(image: Any, most: int) -> Raster:
    """Samples of a PNM file, of which Pillow has made 255, or 65535, of the largest that there may be."""
    deep = image.mode == "I"
    full = 65535 if deep else 255
    return np.rint(np.asarray(image) * (most / full)).astype(np.uint16 if deep else np.uint8)


# Filters of warnings are one list for the whole process, so users at the same time are counted: the first one in
# puts a filter in front, the last one out takes it away.
_lock = threading.Lock()
_inside: list[Any] = []
logging.getLogger("PIL").addHandler(logging.NullHandler())  # or Python itself would write its errors to stderr


@contextmanager
def _quiet() -> Iterator[None]:
    """Pillow's warnings of odd metadata are not shown, nor errors where warnings are. Safe with threads."""
    ours = ("ignore", None, Warning, re.compile(r"PIL\."), 0)
    with _lock:
        if not _inside:
            warnings.filters.insert(0, ours)  # type: ignore[attr-defined]
        _inside.append(ours)
    try:
        yield
    finally:
        with _lock:
            _inside.pop()
            if not _inside:
                with suppress(ValueError):  # somebody has put another list in its place
                    warnings.filters.remove(ours)  # type: ignore[attr-defined]


def _pnm(data: bytes) -> bool:
    return data[:1] == b"P" and data[1:2] in b"123456" and data[2:3] in (b" ", b"\n", b"\r", b"\t", b"#")


def _tiff(data: bytes) -> bool:
    return data[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


ALL = (
    format_of("tiff", "TIFF", _tiff, "TIFF", frames="pages"),
    format_of("bmp", "BMP", lambda data: data[:2] == b"BM", "BMP", header_at="first"),
    format_of("webp", "WebP", lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP", "WEBP"),
    format_of("gif", "GIF", lambda data: data[:6] in (b"GIF87a", b"GIF89a"), "GIF"),
    format_of("pnm", "PNM", _pnm, "PPM", header_at="front", frames="pictures"),
    format_of("jp2", "JPEG 2000", lambda data: data[:4] == _CODE_STREAM or data[4:12] == b"jP  \r\n\x87\n", "JPEG2000"),
    format_of("avif", "AVIF", lambda data: data[4:8] == b"ftyp" and data[8:12] in (b"avif", b"avis", b"mif1"), "AVIF"),
)
