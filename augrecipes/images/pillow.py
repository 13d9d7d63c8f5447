"""All formats but JPEG, PNG, `.npy` and TIFFs of many bits, read by Pillow.

Pillow gets the format by which a file begins, so that it tries no other. Its exceptions become UnreadableError or
MemoryError; its warnings are not shown, and pixels of truncated files are never returned.
"""

import io
import logging
import math
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

COLORS: dict[str, Color] = {
    **dict.fromkeys(("1", "L", "LA", "F", "I", "I;16", "I;16B", "I;16L"), "grey"),
    **dict.fromkeys(("P", "PA"), "palette"),
    "CMYK": "cmyk",
    "LAB": "lab",
}  # others are `rgb`
_INVERSE = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # Pillow's transposition that undoes each EXIF orientation
_CODE_STREAM = b"\xff\x4f\xff\x51"
_BYTES_PER_PIXEL = {"avif": 56, "jp2": 40}  # memory of decoders; others take 12
_SLACK = 64 << 20  # further bytes for threads
_PILLOW_NAMES = {"pnm": "PPM", "jp2": "JPEG2000"}  # Pillow's own names of formats
Raster = NDArray[Any]
_QUIET = ("ignore", None, Warning, re.compile(r"PIL\."), 0)
logging.getLogger("PIL").addHandler(logging.NullHandler())  # otherwise Python writes Pillow's errors to stderr


@dataclass(frozen=True, slots=True)
class SampleForm:
    """The storage of a file's samples, as far as Pillow's mode does not tell it.

    Attributes:
        least: the size of a complete file, bytes.
        at: the start of the samples (PNM); the directory of the image if it is not the first (TIFF).
        most: the largest sample, which Pillow scales to 255 or 65535 (PNM).
        white: whether 0 is white, unlike in Pillow's mode (TIFF), or inverted by Pillow.
        blocks: the strips or tiles of a TIFF that Pillow only decompresses.
        pages: the pages of a TIFF that are channels of one image.
    """

    least: int = 0
    at: int | None = None
    most: int = 255
    white: bool = False
    blocks: tiff.Blocks | None = None
    pages: tuple[ImageHeader, ...] = ()


def header_of(name: str, data: bytes) -> ImageHeader:
    """The header of a file of a format. Raises UnreadableError."""
    with opened(data, name) as image:
        mode, (width, height), stored, bits, turn, frames, most = image.mode, image.size, SampleForm(), 8, 1, 1, 65535
        alpha, color = has_alpha(image), COLORS.get(mode, "rgb")
        match name:
            case "pnm":
                bits, frames, stored = _stored_in_pnm(image, data)
                most = stored.most if bits > 8 else most
            case "jp2":
                at = data.find(_CODE_STREAM)
                bits = (data[at + 42] & 0x7F) + 1 if at >= 0 and len(data) > at + 42 else 8
            case "avif":
                at = data.find(b"av1C")
                bits = 8 if at < 0 or not data[at + 6] & 0x40 else 12 if data[at + 6] & 0x20 else 10
            case "bmp":
                codec, _, at, args = image.tile[0]
                # Many files lack the padding of the last row.
                stored = SampleForm(at + args[1] * height - 3 if codec == "raw" else at)
        if name in ("webp", "avif"):
            turn = orientation(image.info.get("exif", b""))
        if name in ("bmp", "gif"):  # grey images are palettes
            alpha, color = mode == "RGBA", "palette" if color == "grey" else color
        if name != "pnm":
            frames = 1 + bool(getattr(image, "is_animated", False))
        lossy, profile = is_lossy(image, data), image.info.get("icc_profile") or b""
        about = width, height, bits, color, alpha, turn, frames, stored, lossy
        return ImageHeader(name, *about, most=most, profile=profile)


def has_alpha(image: Any) -> bool:
    """Whether a Pillow image has alpha, or a transparent colour."""
    return image.mode in ("LA", "PA", "RGBA") or (image.mode == "P" and "transparency" in image.info)


def is_lossy(image: Any, data: bytes = b"") -> bool:
    """Whether a Pillow image comes from a lossy file, as far as the image and the file's bytes tell."""
    if image.format == "JPEG2000":
        at = data.find(b"\xff\x52", data.find(_CODE_STREAM))  # the COD marker names the wavelet
        return data[at + 13 : at + 14] == b"\0"
    webp = image.format == "WEBP" and bool(data) and b"VP8L" not in data
    return webp or image.format in ("JPEG", "MPO", "AVIF") or "jpeg" in str(image.info.get("compression"))


def _stored_in_pnm(image: Any, data: bytes) -> tuple[int, int, SampleForm]:
    """Bits per sample, images in the file, and the SampleForm. Pillow omits a maximum of 255 or 65535."""
    codec, _, at, args = image.tile[0]
    most = 1 if image.mode == "1" else args[-1] if isinstance(args, tuple) else 65535 if args == "I;16B" else 255
    bits = 1 if most == 1 and image.mode == "1" else 8 if most < 256 else 16
    if codec == "ppm_plain":
        return bits, 1, SampleForm(0, None, most)
    least = at + -(-image.width * len(image.getbands()) * bits // 8) * image.height
    return bits, 1 + bool(re.match(rb"\s*P[1-6]", data[least : least + 64])), SampleForm(least, at, most)


@contextmanager
def opened(data: bytes, name: str) -> Iterator[Any]:
    """Open a file of a format with Pillow. Raises UnreadableError."""
    from PIL import Image

    with errors(name), Image.open(io.BytesIO(data), formats=(_PILLOW_NAMES.get(name, name.upper()),)) as image:
        yield image


@contextmanager
def errors(name: str) -> Iterator[None]:
    """Turn exceptions of Pillow and its libraries into UnreadableError."""
    from PIL import Image, UnidentifiedImageError

    if _QUIET not in warnings.filters:  # hides warnings on odd metadata, also where warnings are errors
        warnings.filters.insert(0, _QUIET)  # type: ignore[attr-defined]
    try:
        yield
    except (MemoryError, SystemError, UnreadableError):
        raise
    except Image.DecompressionBombError as error:
        raise UnreadableError(f"{error} (Pillow's own limit, PIL.Image.MAX_IMAGE_PIXELS)") from None
    except Exception as error:  # Pillow's plugins and their libraries raise all kinds
        raise_if_memory(error)
        check_memory(None)
        reason = "cut or damaged in its header" if isinstance(error, UnidentifiedImageError) else str(error)
        cut = "truncated" in reason or "not enough" in reason or isinstance(error, EOFError | struct.error | IndexError)
        problem = "truncated or damaged" if cut else "damaged, or of a kind that Pillow cannot decode"
        raise UnreadableError(f"{problem}: {name.upper()} ({reason or type(error).__name__})") from None


def check_complete(data: bytes, header: ImageHeader) -> None:
    """UnreadableError if a file is shorter than its header says."""
    if not complete(header, data[-64:], len(data)):
        raise UnreadableError(f"truncated: its {header.format.upper()} data ends before the image does")


@contextmanager
def _open_decoded(data: bytes, header: ImageHeader) -> Iterator[Any]:
    """Open and decode a file; the image has the stored pixels."""
    check_complete(data, header)
    is_tiff, at = header.format == "tiff", header.layout.at
    with opened(tiff.with_first(data, at) if is_tiff and at is not None else data, header.format) as image:
        turned = image.getexif().get(tiff.ORIENTATION, 1) if is_tiff else 1
        if header.format == "gif":
            check_memory(None)  # its decoder crashes without memory
        try:
            image.load()
        except (OSError, ValueError, EOFError, SyntaxError):
            check_memory(header)  # some libraries do not report a lack of memory
            raise
        # Pillow applies the orientation only of TIFFs, and not always by the tag: undo it to get the stored pixels.
        stored = image.transpose(_INVERSE[turned]) if turned in _INVERSE else image
        if stored.size != (header.width, header.height):
            raise UnreadableError(f"its header says {header.width}×{header.height} pixels, its data {stored.size}")
        yield stored


def check_memory(header: ImageHeader | None) -> None:
    """MemoryError if there is too little memory for decoding: allocates as much, untouched, and frees it."""
    np.empty(_SLACK, np.uint8)
    if header is not None:
        np.empty(
            header.height * header.width * _BYTES_PER_PIXEL.get(header.format, 12) * (1 + (header.bits > 8)), np.uint8
        )


def decode(data: bytes, header: ImageHeader, channels: int | None, part: Area) -> Raster:
    """Pixels of a part, H×W, H×W×3, or H×W×4 if alpha is requested. Raises UnreadableError."""
    if (
        header.format == "pnm" and header.bits > 8 and header.layout.at is not None
    ):  # Pillow would keep 8 bits, or scale them
        check_complete(data, header)
        shape = header.height, header.width, header.channels
        samples = np.frombuffer(data, ">u2", math.prod(shape), header.layout.at).reshape(shape)
        return samples[part.reduced].astype(np.uint16)
    with _open_decoded(data, header) as image:
        return _pixels(image, header, channels)[part.reduced]


def _pixels(image: Any, header: ImageHeader, channels: int | None) -> Raster:
    if image.mode.startswith("I") and header.bits <= 16:
        deep: Raster = np.asarray(image).astype(np.uint16)
        return _undo_scaling(deep, header.most, 65535) if header.format == "pnm" else deep
    if image.mode.startswith(("I", "F")):
        raise UnreadableError(f"a {header.format.upper()} of {header.bits}-bit samples that Pillow cannot unpack")
    mode = "RGBA" if header.alpha and channels in (None, 4) else "L" if header.color == "grey" else "RGB"
    return np.asarray(image if image.mode == mode else image.convert(mode))


def _undo_scaling(samples: Raster, most: int, full: int) -> Raster:
    """Undo Pillow's scaling of the largest possible sample to `full`."""
    return np.rint(samples * (most / full)).astype(np.uint16 if full > 255 else np.uint8)


def labels(data: bytes, header: ImageHeader, part: Area) -> Raster:
    """Stored samples of a part: palette indices, grey of any depth, colours of 8 bits."""
    with _open_decoded(data, header) as image:
        return _stored_samples(image, header)[part.reduced]


def _stored_samples(image: Any, header: ImageHeader) -> Raster:
    stored, mode, deep, bits = header.layout, image.mode, image.mode.startswith("I"), header.bits
    if bits > 8 and not deep and mode != "F":
        raise UnreadableError(f"a mask of {bits}-bit {header.color} samples, of which Pillow gives 8")
    known = deep or mode in ("1", "L", "F", "P", "PA", "LA", "RGB", "RGBA")
    samples = np.asarray(image if known else image.convert("RGB"))
    if mode == "1":
        samples = samples.astype(np.uint8)
        return 1 - samples if stored.white or header.format == "pnm" else samples
    if header.format == "pnm":
        return _undo_scaling(samples, stored.most, 65535 if deep else 255)
    if header.format == "jp2" and samples.ndim == 2:
        return samples >> ((16 if deep else 8) - bits) if bits not in (8, 16) else samples
    if deep:
        return samples.view(np.uint32) if bits > 16 else samples.astype(np.uint16)
    if mode == "L":
        samples = ~samples if stored.white else samples
        return samples // np.uint8(255 // (2**bits - 1)) if bits < 8 and header.format == "tiff" else samples
    return samples


def complete(header: ImageHeader, last: bytes, size: int) -> bool:
    """Whether a file is long enough, as far as its last bytes and size tell."""
    return bool(size >= header.layout.least) and (header.format != "jp2" or b"\xff\xd9" in last[-64:])


def _format(name: str, title: str, begins: Callable[[bytes], bool], header_at: Any = "anywhere") -> Format:
    return Format(name, title, begins, partial(header_of, name), decode, labels, complete, header_at)


ALL = (
    _format("bmp", "BMP", lambda data: data[:2] == b"BM", "first"),
    _format("webp", "WebP", lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP"),
    _format("gif", "GIF", lambda data: data[:6] in (b"GIF87a", b"GIF89a")),
    _format("pnm", "PNM", lambda data: re.match(rb"P[1-6][ \n\r\t#]", data) is not None, "front"),
    _format("jp2", "JPEG 2000", lambda data: data[:4] == _CODE_STREAM or data[4:12] == b"jP  \r\n\x87\n"),
    _format("avif", "AVIF", lambda data: data[4:8] == b"ftyp" and data[8:12] in (b"avif", b"avis", b"mif1")),
)
