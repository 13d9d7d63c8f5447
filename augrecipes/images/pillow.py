"""Every format but JPEG, PNG and `.npy`: Pillow reads headers and pixels; what it says of samples becomes arrays here.

It is told which format a file begins as, so that nothing else of it is tried. Whatever it raises is an UnreadableError
or a MemoryError; its warnings are not shown, and pixels of a file that ends too early are never handed out.
"""

from __future__ import annotations

import io
import logging
import re
import struct
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.images import tiff
from augrecipes.images.format import (
    Area,
    Color,
    Format,
    ImageHeader,
    UnreadableError,
    orientation,
    raise_if_memory,
)

_COLORS: dict[str, Color] = {
    **dict.fromkeys(("1", "L", "LA", "F", "I", "I;16", "I;16B", "I;16L"), "grey"),
    **dict.fromkeys(("P", "PA"), "palette"),
    "CMYK": "cmyk",
    "LAB": "lab",
}  # others are `rgb`
_BACK = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # of EXIF orientations, Pillow's number of what takes them back
_CODE_STREAM = b"\xff\x4f\xff\x51"
_NEEDS = {"avif": 56, "jp2": 40}  # bytes a pixel that decoders take on the way, others 12
_SLACK = 64 << 20  # and bytes for threads
_PILLOWS = {"pnm": "PPM", "jp2": "JPEG2000"}  # where Pillow has another name for a format
Raster = NDArray[Any]
_QUIET = ("ignore", None, Warning, re.compile(r"PIL\."), 0)
logging.getLogger("PIL").addHandler(logging.NullHandler())  # or Python itself would write its errors to stderr


@dataclass(frozen=True, slots=True)
class SampleForm:
    """How the samples of a file are stored, as far as Pillow's mode does not say it.

    Attributes:
        least: bytes that a whole file has.
        most: the largest sample, which becomes 255 or 65535 (PNM).
        white: whether the least sample is white, in a mode that is not (TIFF) or is inverted by Pillow.
        form: 1 unsigned, 2 signed, 3 floating point.
        planes: in which the bands of a TIFF lie one behind another: as many, or 1.
        differences: columns of a strip or tile in which each pixel is told by its difference to the one before; else 0.
    """

    least: int = 0
    most: int = 255
    white: bool = False
    form: int = 1
    planes: int = 1
    differences: int = 0


def header_of(name: str, data: bytes) -> ImageHeader:
    """The header of a file of a format. Raises UnreadableError."""
    with _opened(data, name) as image:
        mode, (width, height), stored, bits, turn, frames, bands = image.mode, image.size, SampleForm(), 8, 1, 1, 0
        alpha = mode in ("LA", "PA", "RGBA") or (mode == "P" and "transparency" in image.info)
        color = _COLORS.get(mode, "rgb")
        lossy = is_lossy(image, data)
        match name:
            case "tiff":
                tags = tiff.directory(data)
                width, height, turn = tags[tiff.WIDTH], tags[tiff.HEIGHT], tags.get(tiff.ORIENTATION, 1)
                bits, frames, bands = max(tags.get(tiff.BITS, (1,))), tiff.pages(data, tags), tiff.bands(tags)
                stored, color = SampleForm(**tiff.sample_form(tags, mode)), "other" if bands else color
            case "pnm":
                bits, frames, stored = _stored_in_pnm(image, data)
            case "jp2":
                at = data.find(_CODE_STREAM)
                bits = (data[at + 42] & 0x7F) + 1 if at >= 0 and len(data) > at + 42 else 8
            case "avif":
                at = data.find(b"av1C")
                bits = 8 if at < 0 or not data[at + 6] & 0x40 else 12 if data[at + 6] & 0x20 else 10
            case "bmp":
                codec, _, at, args = image.tile[0]
                # The padding of the last row is often missing.
                stored = SampleForm(at + args[1] * height - 3 if codec == "raw" else at)
        if name in ("webp", "avif"):
            turn = orientation(image.info.get("exif", b""))
        if name in ("bmp", "gif"):  # whose grey is a palette
            alpha, color = mode == "RGBA", "palette" if color == "grey" else color
        if name not in ("tiff", "pnm"):
            frames = 1 + bool(getattr(image, "is_animated", False))
        turn = turn if turn in range(1, 9) else 1
        return ImageHeader(name, width, height, bits, color, alpha, turn, frames, stored, lossy, bands)


def is_lossy(image: Any, data: bytes = b"") -> bool:
    """Whether an image of Pillow comes from a file that is lossy, as far as is told by it and the file's bytes."""
    if image.format == "JPEG2000":
        at = data.find(b"\xff\x52", data.find(_CODE_STREAM))  # COD, which names the wavelets
        return data[at + 13 : at + 14] == b"\0"
    webp = image.format == "WEBP" and bool(data) and b"VP8L" not in data
    return webp or image.format in ("JPEG", "MPO", "AVIF") or "jpeg" in str(image.info.get("compression"))


def _stored_in_pnm(image: Any, data: bytes) -> tuple[int, int, SampleForm]:
    """Bits of a sample, images in the file, and the form of samples. Pillow tells its decoders no 255 and no 65535."""
    codec, _, at, args = image.tile[0]
    most = 1 if image.mode == "1" else args[-1] if isinstance(args, tuple) else 65535 if args == "I;16B" else 255
    bits = 1 if most == 1 and image.mode == "1" else 8 if most < 256 else 16
    if codec == "ppm_plain":
        return bits, 1, SampleForm(0, most)
    least = at + -(-image.width * len(image.getbands()) * bits // 8) * image.height
    return bits, 1 + bool(re.match(rb"\s*P[1-6]", data[least : least + 64])), SampleForm(least, most)


@contextmanager
def _opened(data: bytes, name: str, plane: int = 0) -> Iterator[Any]:
    from PIL import Image, UnidentifiedImageError

    if _QUIET not in warnings.filters:  # its warnings of odd metadata are not shown, nor errors where warnings are
        warnings.filters.insert(0, _QUIET)  # type: ignore[attr-defined]
    try:
        if name == "tiff" and tiff.bands(tags := tiff.directory(data)):
            data = tiff.as_grey(data, tags, plane)
        with Image.open(io.BytesIO(data), formats=(_PILLOWS.get(name, name.upper()),)) as image:
            yield image
    except (MemoryError, SystemError, UnreadableError):
        raise
    except Image.DecompressionBombError as error:
        raise UnreadableError(f"{error} (Pillow's own limit, PIL.Image.MAX_IMAGE_PIXELS)") from None
    except Exception as error:  # whatever its plugins and their libraries raise
        raise_if_memory(error)
        check_memory(None)
        reason = "cut or damaged in its header" if isinstance(error, UnidentifiedImageError) else str(error)
        cut = "truncated" in reason or "not enough" in reason or isinstance(error, EOFError | struct.error | IndexError)
        problem = "truncated or damaged" if cut else "damaged, or of a kind that Pillow cannot decode"
        raise UnreadableError(f"{problem}: {name.upper()} ({reason or type(error).__name__})") from None


@contextmanager
def _decoded(data: bytes, header: ImageHeader, plane: int = 0) -> Iterator[Any]:
    """The first image of a file, with its pixels as they are stored."""
    if not _complete(header, data[-64:], len(data)):
        raise UnreadableError(f"truncated: its {header.format.upper()} data ends before the image does")
    with _opened(data, header.format, plane) as image:
        turned = image.getexif().get(tiff.ORIENTATION, 1) if header.format == "tiff" else 1
        if header.format == "gif":
            check_memory(None)  # its decoder crashes where it gets none
        try:
            image.load()
        except (OSError, ValueError, EOFError, SyntaxError):
            check_memory(header)  # some libraries do not say that this was their trouble
            raise
        # Of all formats Pillow turns TIFF alone, and not only as its tag says: stored pixels are what is handed on.
        stored = image.transpose(_BACK[turned]) if turned in _BACK else image
        if stored.size != (header.width * max(header.bands // header.layout.planes, 1), header.height):
            raise UnreadableError(f"its header says {header.width}×{header.height} pixels, its data {stored.size}")
        yield stored


def check_memory(header: ImageHeader | None) -> None:
    """MemoryError where decoding has too little: so much is asked for and given back, and never touched."""
    np.empty(_SLACK, np.uint8)
    if header is not None:
        np.empty(header.height * header.width * _NEEDS.get(header.format, 12) * (1 + (header.bits > 8)), np.uint8)


def decode(data: bytes, header: ImageHeader, channels: int | None, part: Area) -> Raster:
    """Pixels of a part, uint8 or uint16, H×W, H×W×3, H×W×4 where alpha is asked for, or all bands. UnreadableError."""
    planes, step = [], header.layout.differences
    for plane in range(header.layout.planes):
        with _decoded(data, header, plane) as image:
            planes.append(_pixels(image, header, channels))
    if not header.bands:
        return planes[0][part.reduced]
    samples = np.concatenate([plane.reshape(header.height, header.width, -1) for plane in planes], axis=2)
    for x in range(0, header.width if step else 0, step or 1):
        samples[:, x : x + step] = np.add.accumulate(samples[:, x : x + step], axis=1, dtype=samples.dtype)
    return samples[part.reduced]


def _pixels(image: Any, header: ImageHeader, channels: int | None) -> Raster:
    stored: SampleForm = header.layout
    if stored.form != 1 or header.bits > 16 or image.mode == "F":
        kind = f"{header.bits}-bit {({1: 'unsigned', 2: 'signed', 3: 'float'}).get(stored.form, 'unusual')} samples"
        raise UnreadableError(f"a {header.format.upper()} of {kind}, of unknown range; up to 16 bits unsigned are read")
    if image.mode.startswith("I"):
        deep: Raster = np.asarray(image).astype(np.uint16)
        deep = deep << (16 - header.bits) if header.format == "tiff" and header.bits < 16 else deep
        return ~deep if stored.white else deep
    plain = "L" if header.color == "grey" or header.bands else "RGB"
    mode = "RGBA" if header.alpha and channels in (None, 4) else plain
    return np.asarray(image if image.mode == mode else image.convert(mode))


def labels(data: bytes, header: ImageHeader, part: Area) -> Raster:
    """Samples of a part as stored: indices of a palette, grey of any depth; colours only where they have 8 bits."""
    with _decoded(data, header) as image:
        return _stored_samples(image, header)[part.reduced]


def _stored_samples(image: Any, header: ImageHeader) -> Raster:
    stored, mode, deep, bits = header.layout, image.mode, image.mode.startswith("I"), header.bits
    if header.bands:
        raise UnreadableError(f"a mask must be grey or have a palette; this image has {header.bands} bands")
    if bits > 8 and not deep and mode != "F":
        raise UnreadableError(f"a mask of {bits}-bit {header.color} samples, of which Pillow gives 8")
    known = deep or mode in ("1", "L", "F", "P", "PA", "LA", "RGB", "RGBA")
    samples = np.asarray(image if known else image.convert("RGB"))
    if mode == "1":
        samples = samples.astype(np.uint8)
        return 1 - samples if stored.white or header.format == "pnm" else samples
    if header.format == "pnm":  # Pillow has made 255, or 65535, of the largest sample that there may be
        return np.rint(samples * (stored.most / (65535 if deep else 255))).astype(np.uint16 if deep else np.uint8)
    if header.format == "jp2" and samples.ndim == 2:
        return samples >> ((16 if deep else 8) - bits) if bits not in (8, 16) else samples
    if deep and stored.form == 1:
        return samples.view(np.uint32) if bits > 16 else samples.astype(np.uint16)
    if mode == "L":
        samples = ~samples if stored.white else samples
        return samples // np.uint8(255 // (2**bits - 1)) if bits < 8 and header.format == "tiff" else samples
    return samples


def _complete(header: ImageHeader, last: bytes, size: int) -> bool:
    return bool(size >= header.layout.least) and (header.format != "jp2" or b"\xff\xd9" in last[-64:])


def _format(name: str, title: str, begins: Callable[[bytes], bool], header_at: Any = "anywhere") -> Format:
    return Format(name, title, begins, partial(header_of, name), decode, labels, _complete, header_at)


def _tiff(data: bytes) -> bool:
    return data[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


ALL = (
    _format("tiff", "TIFF", _tiff),
    _format("bmp", "BMP", lambda data: data[:2] == b"BM", "first"),
    _format("webp", "WebP", lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP"),
    _format("gif", "GIF", lambda data: data[:6] in (b"GIF87a", b"GIF89a")),
    _format("pnm", "PNM", lambda data: re.match(rb"P[1-6][ \n\r\t#]", data) is not None, "front"),
    _format("jp2", "JPEG 2000", lambda data: data[:4] == _CODE_STREAM or data[4:12] == b"jP  \r\n\x87\n"),
    _format("avif", "AVIF", lambda data: data[4:8] == b"ftyp" and data[8:12] in (b"avif", b"avis", b"mif1")),
)
