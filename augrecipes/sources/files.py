"""Pictures and masks from files: bytes first, then the header against limits, then pixels; or a DataError.

Names never reach a decoder, so any name that the system allows is fine, and extensions do not matter. EXIF orientation
is applied here for every format alike; one that is told in XMP alone is not. Colour
profiles are not, either: samples are taken as sRGB.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.sources.file_bytes import MAX_BYTES, read_bytes
from augrecipes.sources.formats.header import ImageHeader, UnreadableError, raise_if_memory
from augrecipes.sources.headers import FORMATS, read_header
from augrecipes.sources.losses import Depth, Frames, check_whole
from augrecipes.sources.raster import as_image, as_mask
from augrecipes.sources.watch import stage

PathLike = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Exif = Literal["apply", "ignore"]

MAX_PIXELS = 178_956_970  # Pillow's limit: a quarter of a gigabyte of 24-bit pixels, times four thirds


def read_image(
    path: PathLike,
    *,
    channels: int | None = 3,
    exif: Exif = "apply",
    max_pixels: int = MAX_PIXELS,
    max_bytes: int = MAX_BYTES,
    depth: Depth | None = None,
    frames: Frames | None = None,
) -> NDArray[np.uint8]:
    """Reads a picture as uint8 H×W×C in RGB order, 0 to 255.

    JPEG, PNG, TIFF, BMP, WebP, GIF, PNM, JPEG 2000 and AVIF, told apart by content. Palettes are expanded, grey is
    repeated, CMYK is converted. More than 8 bits a sample, or more than one picture, is an error, unless it is allowed.

    Args:
        path: the file; text, bytes or a path object.
        channels: 3; 1 for grey; 4 to keep alpha; None for what is stored (1, 3 or 4).
        exif: whether to turn the picture as its EXIF orientation says; what only its XMP says is not looked at.
        max_pixels: width times height that is still decoded; checked before anything is.
        max_bytes: file size that is still read.
        depth: `8bit` keeps the upper 8 of 9 to 16 bits a sample, `error` refuses them; None: as AUGRECIPES_DEPTH says.
        frames: `first` reads the first of several pages or frames, `error` refuses them; None: as AUGRECIPES_FRAMES
            says. Where neither says anything, it is an error.

    Returns:
        A C-contiguous, writable array that owns its memory.

    Raises:
        DataError: the file cannot be read, or is not a whole picture; names the file.
        MemoryError: there is not enough; never a DataError, so that no sample is skipped for it.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "two.ppm")
    ...     _ = file.write_bytes(b"P6 2 1 255\\n" + bytes([255, 0, 0, 0, 0, 255]))
    ...     read_image(file).tolist()
    [[[255, 0, 0], [0, 0, 255]]]
    """
    data = bytes_of(path, max_bytes)
    name = os.fsdecode(path)
    return decode_image(
        data, name=name, channels=channels, exif=exif, max_pixels=max_pixels, depth=depth, frames=frames
    )


def decode_image(
    data: bytes,
    *,
    name: str,
    channels: int | None = 3,
    exif: Exif = "apply",
    max_pixels: int = MAX_PIXELS,
    depth: Depth | None = None,
    frames: Frames | None = None,
) -> NDArray[np.uint8]:
    """Decodes the bytes of a picture; everything else as `read_image`.

    >>> decode_image(b"P2 3 1 255 0 128 255", name="ramp", channels=1)[:, :, 0].tolist()
    [[0, 128, 255]]
    >>> decode_image(b"", name="photo.jpg")
    Traceback (most recent call last):
    augrecipes.errors.DataError: photo.jpg: the file is empty
    """
    with data_errors(name), stage("decode"):
        header = checked_header(data, channels, max_pixels)
        check_whole(header, depth, frames)
        turn = turn_of(header, exif)
        return as_image(FORMATS[header.format].decode(data, header, channels), channels, turn)


def read_mask(
    path: PathLike,
    *,
    exif: Exif = "apply",
    max_pixels: int = MAX_PIXELS,
    max_bytes: int = MAX_BYTES,
    frames: Frames | None = None,
) -> NDArray[Any]:
    """Reads a mask of label ids as H×W: uint8, uint16 (16-bit files) or int32 (TIFF).

    Ids are what the file stores: indices of a palette, not its colours; samples of grey files unscaled, those of 1, 2
    and 4 bits too (0 to 2**bits - 1). Colour is refused unless the three channels are equal; alpha is dropped.

    Args:
        path: the file; text, bytes or a path object.
        exif: whether to turn the mask as its EXIF orientation says.
        max_pixels: width times height that is still decoded; checked before anything is.
        max_bytes: file size that is still read.
        frames: see `read_image`.

    Raises:
        DataError: the file cannot be read, or is not a mask; names the file.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "ids.pgm")
    ...     _ = file.write_text("P2 3 1 9  0 7 9")
    ...     read_mask(file).tolist()
    [[0, 7, 9]]
    """
    data = bytes_of(path, max_bytes)
    return decode_mask(data, name=os.fsdecode(path), exif=exif, max_pixels=max_pixels, frames=frames)


def decode_mask(
    data: bytes, *, name: str, exif: Exif = "apply", max_pixels: int = MAX_PIXELS, frames: Frames | None = None
) -> NDArray[Any]:
    """Decodes the bytes of a mask; everything else as `read_mask`.

    >>> decode_mask(b"P2 3 1 300 0 7 300", name="ids").dtype
    dtype('uint16')
    """
    with data_errors(name), stage("decode"):
        header = checked_header(data, None, max_pixels)
        check_whole(header, None, frames, mask=True)
        how, turn = FORMATS[header.format], turn_of(header, exif)
        return as_mask(how.mask(data, header) if how.mask else how.decode(data, header, None), turn)


def bytes_of(path: PathLike, max_bytes: int) -> bytes:
    """A whole file. Raises DataError."""
    with data_errors(os.fsdecode(path)), stage("read"):
        return read_bytes(path, max_bytes)


@contextmanager
def data_errors(name: str) -> Iterator[None]:
    """Why something is unreadable, or too large, as a DataError of the file `name`; a MemoryError stays one."""
    try:
        yield
    except UnreadableError as error:
        raise DataError(str(error), path=name) from None
    except cv2.error as error:  # of what is done to pixels once they are decoded
        raise_if_memory(error)
        raise
    except MemoryError as error:
        raise MemoryError(f"{name}: not enough memory to decode it ({error or 'none is left'})") from error


def checked_header(data: bytes, channels: int | None, max_pixels: int) -> ImageHeader:
    """The header of a picture of no more than so many pixels. Raises UnreadableError; ValueError for `channels`."""
    if channels not in (1, 3, 4, None):
        raise ValueError(f"channels must be 1, 3, 4 or None, not {channels!r}")
    header = read_header(data)
    if header.width * header.height > max_pixels:
        raise UnreadableError(f"{header.width}×{header.height} pixels are more than the limit of {max_pixels:,}")
    return header


def turn_of(header: ImageHeader, exif: str) -> int:
    """The EXIF orientation to undo: 1 where none is, or where it is to be ignored."""
    if exif not in ("apply", "ignore"):
        raise ValueError(f"exif must be 'apply' or 'ignore', not {exif!r}")
    return header.orientation if exif == "apply" else 1
