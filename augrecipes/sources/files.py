"""Pictures and masks from files: bytes first, then the header against limits, then pixels; or a DataError.

Names never reach a decoder, so any name that the system allows is fine, and extensions do not matter. EXIF orientation
is applied for every format alike; one that is told in XMP alone is not. Colour profiles are not, either: samples are
taken as sRGB.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.images.encoded import (
    MAX_PIXELS,
    EncodedMask,
    Exif,
    bytes_of,
    checked_header,
    data_errors,
    open_encoded,
    turn_of,
    turned_size,
)  # fmt: skip
from augrecipes.images.format import Depth, Frames, Part, check_whole
from augrecipes.images.raster import as_mask
from augrecipes.images.reading import FORMATS, MAX_BYTES, PathLike
from augrecipes.images.watch import stage

__all__ = ["MAX_PIXELS", "Exif", "decode_mask", "read_image", "read_mask"]


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

    JPEG, PNG, TIFF, BMP, WebP, GIF, PNM, JPEG 2000, AVIF and arrays of uint8 that numpy has saved (`.npy`), told apart
    by content. Palettes are expanded, grey is repeated, CMYK is converted. More than 8 bits a sample, or more than one
    picture, is an error, unless it is allowed.

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
    return open_encoded(
        path,
        channels=channels,
        exif=exif,
        max_pixels=max_pixels,
        max_bytes=max_bytes,
        depth=depth,
        frames=frames,
    ).array()


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


def open_mask(
    path: PathLike, *, exif: Exif = "apply", max_pixels: int = MAX_PIXELS, frames: Frames | None = None
) -> NDArray[Any] | EncodedMask:
    """A mask of which windows can be read without the rest, as far as its format has such; else as `read_mask`."""
    data, name = bytes_of(path, MAX_BYTES), os.fsdecode(path)
    with data_errors(name):
        header = checked_header(data, None, max_pixels)
    if not FORMATS[header.format].by_parts or header.bits != 8 or header.alpha or header.color == "rgb":
        return decode_mask(data, name=name, exif=exif, max_pixels=max_pixels, frames=frames)
    with data_errors(name):
        check_whole(header, None, frames, mask=True)
    turn = turn_of(header, exif)
    return EncodedMask(name, data, header, 1, turn, (*turned_size(header, turn), 1))


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
        whole = Part(0, 0, header.height, header.width)
        return as_mask(FORMATS[header.format].labels(data, header, whole), turn_of(header, exif))
