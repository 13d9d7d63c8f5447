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
from augrecipes.images.format import (
    ALPHA,
    MOST_CHANNELS,
    Area,
    Depth,
    Frames,
    ImageHeader,
    UnreadableError,
    check_whole,
    narrow,
    raise_if_memory,
    stage,
    warn_once,
)
from augrecipes.images.reading import FORMATS, MAX_BYTES, PathLike, read_bytes, read_header
from augrecipes.native.libjpeg import Coded

Exif = Literal["apply", "ignore"]
MAX_PIXELS = 178_956_970  # Pillow's limit: a quarter of a gigabyte of 24-bit pixels, times four thirds

# EXIF orientations, by what takes the upright image back to the stored one: first flips, then a transposition.
_FLIPS_ROWS, _FLIPS_COLUMNS, _TRANSPOSES = (3, 4, 7, 8), (2, 3, 6, 7), (5, 6, 7, 8)


_CONVERSIONS = {
    (1, 3): cv2.COLOR_GRAY2RGB,
    (1, 4): cv2.COLOR_GRAY2RGBA,
    (3, 1): cv2.COLOR_RGB2GRAY,
    (3, 4): cv2.COLOR_RGB2RGBA,
    (4, 1): cv2.COLOR_RGBA2GRAY,
    (4, 3): cv2.COLOR_RGBA2RGB,
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Encoded:
    """An image in its file format: whole by `array`, a part of it by `region`. Made by `encoded` or `open_encoded`.

    Immutable, and safe to share between threads; nothing that was decoded is kept.

    Attributes:
        name: of the file, for errors.
        data: its bytes.
        header: what they begin with.
        channels: that it is read with, or None for what is stored.
        turn: the EXIF orientation that is undone; 1 for none.
        shape: H×W×C after that.
        mask: its samples are labels: H×W×1 of 8 bits in parts, of any dtype by `labels`.
    """

    name: str
    data: bytes
    header: ImageHeader
    channels: int | None
    turn: int
    shape: tuple[int, int, int]
    mask: bool = False

    dtype: ClassVar[np.dtype[np.uint8]] = np.dtype(np.uint8)

    def __repr__(self) -> str:
        return f"Encoded({self.name!r}, {self.header.format}, {self.shape})"

    @property
    def nbytes(self) -> int:
        """Of the file."""
        return len(self.data)

    def array(self) -> NDArray[np.uint8]:
        """The whole image, as `augrecipes.sources.files.read_image` gives it. Raises DataError."""
        return owned(self.view(0, 0, *self.shape[:2]))

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

        >>> image = encoded(b"P2 3 2 255 1 2 3 4 5 6", name="six", channels=1)
        >>> image.region(0, 1, 2, 3)[:, :, 0].tolist()
        [[2, 3], [5, 6]]
        """
        return np.array(self.view(y0, x0, y1, x1, reduce), order="C")

    def view(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> NDArray[np.uint8]:
        """The same as `region`, possibly as a view of more that was decoded for this call: a copy less."""
        height, width, _ = self.shape
        if not (0 <= y0 < y1 <= height and 0 <= x0 < x1 <= width):
            raise ValueError(f"rows {y0} to {y1}, columns {x0} to {x1} are not a part of {height}×{width} pixels")
        if reduce != 1 and (reduce not in self.scales() or y0 % reduce or x0 % reduce):
            raise ValueError(f"cannot reduce by {reduce} from row {y0}, column {x0}: scales are {self.scales()}")
        with data_errors(self.name), stage("decode"):
            how, part = FORMATS[self.header.format], self._stored(y0, x0, y1, x1, reduce)
            if self.mask:
                return as_pixels(how.labels(self.data, self.header, part), 1, self.turn)
            raster = how.decode(self.data, self.header, self.channels, part)
            if note := narrow(raster):
                warn_once("narrow", f"{self.name}: has {note}")
            return as_pixels(raster, self.channels, self.turn)

    def labels(self) -> NDArray[Any]:
        """The whole mask, as `augrecipes.sources.files.read_mask` gives it. Raises DataError."""
        with data_errors(self.name), stage("decode"):
            whole = Area(0, 0, self.header.height, self.header.width)
            return as_mask(FORMATS[self.header.format].labels(self.data, self.header, whole), self.turn)

    def stored(self) -> NDArray[Any]:
        """All samples as they are stored, before any turn, uint8 or uint16. Raises DataError."""
        whole = Area(0, 0, self.header.height, self.header.width)
        with data_errors(self.name):
            return FORMATS[self.header.format].decode(self.data, self.header, self.channels, whole)

    def coded(self, y0: int, x0: int, y1: int, x1: int) -> Coded | None:
        """The same for kernels that decode it themselves; None where `view` is to do it."""
        how = FORMATS[self.header.format].coded
        if how is None or self.mask or self.turn != 1:
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
    """Reads a file's bytes and checks its header; arguments and errors as `augrecipes.sources.files.read_image`."""
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
    mask: bool = False,
) -> Encoded:
    """The same of bytes, or of a mask; arguments and errors as `augrecipes.sources.files.read_image`.

    >>> encoded(b"P2 3 1 255 0 128 255", name="ramp")
    Encoded('ramp', pnm, (1, 3, 3))
    >>> encoded(b"GIF8", name="cut.gif")
    Traceback (most recent call last):
    augrecipes.errors.DataError: cut.gif: not an image in a known format (JPEG, PNG, TIFF, BMP, WebP, GIF, PNM, ...
    """
    if channels is not None and not 1 <= channels <= MOST_CHANNELS:
        raise ValueError(f"channels must be 1 to {MOST_CHANNELS} or None, not {channels!r}")
    if exif not in ("apply", "ignore"):
        raise ValueError(f"exif must be 'apply' or 'ignore', not {exif!r}")
    with data_errors(name), stage("decode"):
        header = read_header(data)
        if header.width * header.height > max_pixels:
            raise UnreadableError(f"{header.width}×{header.height} pixels are more than the limit of {max_pixels:,}")
        if not mask and header.alpha and channels in (1, 3):
            warn_once("alpha", f"{name}: {ALPHA}")
        check_whole(header, depth=depth, frames=frames, channels=channels, mask=mask)
    turn = header.orientation if exif == "apply" else 1
    height, width = (header.width, header.height) if turn in _TRANSPOSES else (header.height, header.width)
    shape = height, width, 1 if mask else channels or header.channels
    return Encoded(name, data, header, channels, turn, shape, mask)


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


def owned(array: NDArray[Any]) -> NDArray[Any]:
    """The array, or a copy of it that is C-contiguous, writable and owns its memory."""
    flags = array.flags
    return array if flags.c_contiguous and flags.owndata and flags.writeable else np.array(array, order="C")


def as_pixels(raster: NDArray[Any], channels: int | None, orientation: int) -> NDArray[np.uint8]:
    """uint8 H×W×C, possibly a view of `raster`.

    Args:
        raster: uint8 or uint16, H×W or H×W×C in RGB order. 16 bits keep their high byte (``v >> 8``), as OpenCV, libpng
            and Pillow do: 65535 becomes 255, and 8-bit values stored as ``257 * v`` come back exactly.
        channels: 1 (grey, by the weights of BT.601), 3 (alpha is dropped, not blended), 4 (255 where there is no
            alpha), or None for what is stored.
        orientation: EXIF orientation to undo; 1 leaves the raster as it is.
    """
    if raster.dtype == np.uint16:
        raster = (raster >> 8).astype(np.uint8)
    if raster.dtype != np.uint8:
        raise UnreadableError(f"samples of type {raster.dtype} have no known range")
    raster = upright(raster[:, :, None] if raster.ndim == 2 else raster, orientation)
    return with_channels(raster, channels or raster.shape[2])


def with_channels(image: NDArray[Any], channels: int) -> NDArray[Any]:
    """An image H×W×C, uint8 or float32, of 1, 3 or 4 channels as one of so many; see `as_pixels`.

    >>> with_channels(np.full((1, 1, 3), 0.5, np.float32), 4).ravel().tolist()
    [0.5, 0.5, 0.5, 1.0]
    """
    code = _CONVERSIONS.get((image.shape[2], channels))
    if code is None:
        return image
    image = cv2.cvtColor(np.ascontiguousarray(image), code)
    return image[:, :, None] if image.ndim == 2 else image


def as_mask(raster: NDArray[Any], orientation: int) -> NDArray[Any]:
    """uint8, uint16 or int32 H×W, C-contiguous, writable, owning its memory.

    Three channels are accepted where they are equal everywhere; alpha is dropped.
    """
    if raster.ndim == 3:
        first = raster[:, :, 0]
        if raster.shape[2] >= 3 and not ((first == raster[:, :, 1]).all() and (first == raster[:, :, 2]).all()):
            raise UnreadableError("a mask must be grey or have a palette; this image has colours")
        raster = first
    name = raster.dtype.name
    if name in ("int8", "int16") or (name == "uint32" and int(raster.max(initial=0)) < 2**31):
        raster = raster.astype(np.int32)
    elif name not in ("uint8", "uint16", "int32"):
        raise UnreadableError(f"mask values of type {name}; uint8, uint16 and int32 are read")
    return owned(upright(raster, orientation))


def upright(array: NDArray[Any], how: int) -> NDArray[Any]:
    """`array`, H×W or H×W×C, turned upright for an EXIF orientation; shares no memory unless `how` is 1.

    >>> upright(np.array([[1, 2], [3, 4]], np.uint8), 6).tolist()
    [[3, 1], [4, 2]]
    """
    if how not in range(2, 9):
        return array
    array = np.ascontiguousarray(array)
    out = cv2.transpose(array) if how > 4 else array
    flip = {2: 1, 3: -1, 4: 0, 6: 1, 7: -1, 8: 0}.get(how)
    out = np.asarray(out if flip is None else cv2.flip(out, flip))
    return out[:, :, None] if array.ndim == 3 and out.ndim == 2 else out  # OpenCV drops a last axis of length one
