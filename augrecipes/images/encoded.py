"""An image that is not decoded yet: its header is read and checked, its pixels come when they are asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.images.format import Area, Depth, Frames, ImageHeader, UnreadableError, check_whole, raise_if_memory
from augrecipes.images.raster import own, seen
from augrecipes.images.reading import FORMATS, MAX_BYTES, PathLike, read_bytes, read_header
from augrecipes.images.watch import is_watched, stage
from augrecipes.native.libjpeg import Coded

Exif = Literal["apply", "ignore"]
MAX_PIXELS = 178_956_970  # Pillow's limit: a quarter of a gigabyte of 24-bit pixels, times four thirds

# EXIF orientations, by what takes the upright image back to the stored one: first flips, then a transposition.
_FLIPS_ROWS, _FLIPS_COLUMNS, _TRANSPOSES = (3, 4, 7, 8), (2, 3, 6, 7), (5, 6, 7, 8)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Encoded:
    """An image in its file format: whole by `array`, a part of it by `region`. Made by `encoded` or `open_encoded`.

    Immutable, and safe to share between threads; nothing that was decoded is kept.

    Attributes:
        name: of the file, for errors.
        data: its bytes.
        header: what they begin with.
        channels: 1, 3, 4, or None for what is stored.
        turn: the EXIF orientation that is undone; 1 for none.
        shape: H×W×C after that.
    """

    name: str
    data: bytes
    header: ImageHeader
    channels: int | None
    turn: int
    shape: tuple[int, int, int]

    dtype: ClassVar[np.dtype[np.uint8]] = np.dtype(np.uint8)

    def __repr__(self) -> str:
        return f"Encoded({self.name!r}, {self.header.format}, {self.shape})"

    @property
    def nbytes(self) -> int:
        """Of the file."""
        return len(self.data)

    def array(self) -> NDArray[np.uint8]:
        """The whole image, as `augrecipes.sources.files.read_image` gives it. Raises DataError."""
        return own(self.view(0, 0, *self.shape[:2]))

    def scales(self) -> tuple[int, ...]:
        """The values of `reduce` that `region` takes besides 1, of 2, 4 and 8.

        None of what is no JPEG. A turn counts blocks from the other side: it leaves those that divide the image.
        """
        height, width, _ = self.shape
        return tuple(
            k
            for k in FORMATS[self.header.format].scales(self.data, self.header)
            if not (self.turn in _FLIPS_ROWS and height % k) and not (self.turn in _FLIPS_COLUMNS and width % k)
        )

    def region(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> NDArray[np.uint8]:
        """Rows `y0` to `y1` and columns `x0` to `x1`, ends exclusive, of the image as it is turned.

        Of a JPEG, a PNG or an array no more is decoded than is needed, as far as its kind allows; anything else is
        decoded whole. Damage in what is not decoded may go unnoticed, but never changes pixels; a missing end does not.

        Args:
            y0: first row; a multiple of `reduce`.
            x0: first column; a multiple of `reduce`.
            y1: behind the last row.
            x1: behind the last column.
            reduce: 1, or one of `scales`: each pixel is what the decoder makes of so many rows and columns.

        Returns:
            uint8, ceil((y1 - y0) / reduce) rows, ceil((x1 - x0) / reduce) columns, C channels: bit for bit that part of
            `array()`, or of the whole decode at that scale. C-contiguous, writable, owning its memory.

        Raises:
            DataError: the file is no whole image; names the file.
            ValueError: not inside the image, empty, or a scale that it does not have.

        >>> picture = encoded(b"P2 3 2 255 1 2 3 4 5 6", name="six", channels=1)
        >>> picture.region(0, 1, 2, 3)[:, :, 0].tolist()
        [[2, 3], [5, 6]]
        """
        return np.array(self.view(y0, x0, y1, x1, reduce), order="C")

    def view(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> NDArray[np.uint8]:
        """The same as `region`, possibly as a view of more that was decoded for this call: a copy less.

        >>> encoded(b"P2 3 2 255 1 2 3 4 5 6", name="six", channels=1).view(0, 1, 2, 3).shape
        (2, 2, 1)
        """
        height, width, _ = self.shape
        if not (0 <= y0 < y1 <= height and 0 <= x0 < x1 <= width):
            raise ValueError(f"rows {y0} to {y1}, columns {x0} to {x1} are not a part of {height}×{width} pixels")
        if reduce != 1 and (reduce not in self.scales() or y0 % reduce or x0 % reduce):
            raise ValueError(f"cannot reduce by {reduce} from row {y0}, column {x0}: scales are {self.scales()}")
        with data_errors(self.name), stage("decode"):
            return seen(self._raster(self._stored(y0, x0, y1, x1, reduce)), self.channels, self.turn)

    def _raster(self, part: Area) -> NDArray[Any]:
        return FORMATS[self.header.format].decode(self.data, self.header, self.channels, part)

    def coded(self, y0: int, x0: int, y1: int, x1: int) -> Coded | None:
        """The same for kernels that decode it themselves; None where `view` is to do it.

        While somebody watches how long it takes to decode, `view` does it.
        """
        how = FORMATS[self.header.format].coded
        if how is None or self.turn != 1 or is_watched():
            return None
        try:
            return how(self.data, self.header, self.channels, Area(y0, x0, y1, x1))
        except UnreadableError:
            return None

    def _stored(self, y0: int, x0: int, y1: int, x1: int, reduce: int) -> Area:
        """A part of the upright image as a part of the stored one."""
        height, width, _ = self.shape
        # To whole blocks, which only matters where they are counted from the other side.
        y1, x1 = min(-(-y1 // reduce) * reduce, height), min(-(-x1 // reduce) * reduce, width)
        if self.turn in _FLIPS_ROWS:
            y0, y1 = height - y1, height - y0
        if self.turn in _FLIPS_COLUMNS:
            x0, x1 = width - x1, width - x0
        return Area(x0, y0, x1, y1, reduce) if self.turn in _TRANSPOSES else Area(y0, x0, y1, x1, reduce)


class EncodedMask(Encoded):
    """A mask of 8-bit labels in its file, H×W×1, of which a part can be decoded without the rest."""

    def _raster(self, part: Area) -> NDArray[Any]:
        return FORMATS[self.header.format].labels(self.data, self.header, part)

    def coded(self, y0: int, x0: int, y1: int, x1: int) -> None:
        """Nothing: no kernel decodes labels."""


def open_encoded(
    path: PathLike,
    *,
    channels: int | None = 3,
    exif: Exif = "apply",
    max_pixels: int = MAX_PIXELS,
    max_bytes: int = MAX_BYTES,
    depth: Depth | None = None,
    frames: Frames | None = None,
) -> Encoded:
    """Reads a file's bytes and checks its header; arguments and errors as `augrecipes.sources.files.read_image`.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "two.ppm")
    ...     _ = file.write_bytes(b"P6 2 1 255\\n" + bytes([255, 0, 0, 0, 0, 255]))
    ...     open_encoded(file).shape
    (1, 2, 3)
    """
    data, name = bytes_of(path, max_bytes), os.fsdecode(path)
    return encoded(data, name=name, channels=channels, exif=exif, max_pixels=max_pixels, depth=depth, frames=frames)


def encoded(
    data: bytes,
    *,
    name: str,
    channels: int | None = 3,
    exif: Exif = "apply",
    max_pixels: int = MAX_PIXELS,
    depth: Depth | None = None,
    frames: Frames | None = None,
) -> Encoded:
    """The same of bytes; arguments and errors as `augrecipes.sources.files.read_image`.

    >>> encoded(b"P2 3 1 255 0 128 255", name="ramp")
    Encoded('ramp', pnm, (1, 3, 3))
    >>> encoded(b"GIF8", name="cut.gif")
    Traceback (most recent call last):
    augrecipes.errors.DataError: cut.gif: not a picture in a known format (JPEG, PNG, TIFF, BMP, WebP, GIF, PNM, ...
    """
    with data_errors(name), stage("decode"):
        header = checked_header(data, channels, max_pixels)
        check_whole(header, depth, frames)
    turn = turn_of(header, exif)
    stored = 4 if header.alpha else 1 if header.color == "grey" else 3
    return Encoded(name, data, header, channels, turn, (*turned_size(header, turn), channels or stored))


def turned_size(header: ImageHeader, turn: int) -> tuple[int, int]:
    """Height and width of an image once a turn is undone."""
    return (header.width, header.height) if turn in _TRANSPOSES else (header.height, header.width)


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
    except (MemoryError, SystemError) as error:  # the latter of libraries that say nothing when memory is short
        raise MemoryError(f"{name}: not enough memory to decode it ({error or 'none is left'})") from error


def checked_header(data: bytes, channels: int | None, max_pixels: int) -> ImageHeader:
    """The header of an image of no more than so many pixels. Raises UnreadableError; ValueError for `channels`."""
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
