"""Encoded: an image file whose header is checked, and whose pixels are decoded on demand."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.images import arrays
from augrecipes.images.format import (
    MOST_CHANNELS,
    MOST_PARTS,
    Area,
    ImageHeader,
    UnreadableError,
    raise_if_memory,
    stage,
)
from augrecipes.images.losses import ALPHA, SampleType, find_loss, is_stack, narrow, warn_once
from augrecipes.images.pixels import (
    FLIPS_COLUMNS,
    FLIPS_ROWS,
    PROFILE,
    TRANSPOSES,
    as_mask,
    as_pixels,
    foreign_profile,
    owned,
    to_srgb,
    with_channels,
)
from augrecipes.images.reading import FORMATS, MAX_BYTES, PathLike, read_bytes, read_header
from augrecipes.images.tiff_images import as_stack, page_headers
from augrecipes.native.kernels import Coded

Exif = Literal["apply", "ignore"]
MAX_PIXELS = 178_956_970  # Pillow's limit: a quarter of a gigabyte of 24-bit pixels, times four thirds

_UINT8 = np.dtype(np.uint8)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Encoded:
    """An image in its file format, decoded whole by `array`, or in part by `region`.

    Created by `encoded` or `open_encoded`. Immutable and thread-safe; decoded pixels are not cached.

    Attributes:
        name: the file's name, for errors.
        data: the file's bytes.
        header: the parsed header.
        channels: the channels to decode to, or None for the stored ones.
        turn: the EXIF orientation to undo; 1 for none.
        shape: H×W×C after that.
        mask: whether samples are labels: H×W×1 of 8 bits in parts, of any dtype by `labels`.
        dtype: the dtype of pixels: uint8; or uint16 or float32 with the file's own values.
        to_srgb: whether values are converted from the file's colour profile.
    """

    name: str
    data: bytes
    header: ImageHeader
    channels: int | None
    turn: int
    shape: tuple[int, int, int]
    mask: bool = False
    dtype: np.dtype[Any] = _UINT8
    to_srgb: bool = False

    def __repr__(self) -> str:
        return f"Encoded({self.name!r}, {self.header.format}, {self.shape})"

    @property
    def nbytes(self) -> int:
        """The size of the file."""
        return len(self.data)

    def array(self) -> NDArray[Any]:
        """The whole image, as by `augrecipes.sources.files.read_image`. Raises DataError."""
        return owned(self.view(0, 0, *self.shape[:2]))

    def scales(self) -> tuple[int, ...]:
        """The values of `reduce` besides 1 that `region` takes: some of 2, 4 and 8.

        Only JPEGs have any. If rows or columns are flipped, blocks are counted from the other side: then only values
        that divide the image's size remain.
        """
        height, width, _ = self.shape
        return tuple(
            k
            for k in FORMATS[self.header.format].scales(self.data, self.header)
            if not (self.turn in FLIPS_ROWS and height % k) and not (self.turn in FLIPS_COLUMNS and width % k)
        )

    def region(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> NDArray[Any]:
        """Rows `y0` to `y1` and columns `x0` to `x1`, ends exclusive, of the upright image.

        JPEG, PNG, `.npy`, and TIFF of bands or more than 8 bits are decoded only as far as needed, if their encoding
        allows; other files are decoded whole. Damage outside the decoded part may go unnoticed, but never changes
        pixels; a truncated file is always noticed.

        Args:
            y0: first row; a multiple of `reduce`.
            x0: first column; a multiple of `reduce`.
            y1: end of the rows, exclusive.
            x1: end of the columns, exclusive.
            reduce: 1, or one of `scales`: the decoder reduces this many rows and columns to one pixel.

        Returns:
            `dtype`, ceil((y1 - y0) / reduce) rows, ceil((x1 - x0) / reduce) columns, C channels: bit for bit that part
            of `array()`, or of the whole image decoded at that scale. C-contiguous, writable, owning its memory.

        Raises:
            DataError: the file is not a complete image; the message names it.
            ValueError: the region is empty or not inside the image, or the scale is not available.

        >>> image = encoded(b"P2 3 2 255 1 2 3 4 5 6", name="six", channels=1)
        >>> image.region(0, 1, 2, 3)[:, :, 0].tolist()
        [[2, 3], [5, 6]]
        """
        return np.array(self.view(y0, x0, y1, x1, reduce), order="C")

    def view(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> NDArray[Any]:
        """As `region`, but possibly a view of a larger decoded array, which saves a copy."""
        height, width, _ = self.shape
        if not (0 <= y0 < y1 <= height and 0 <= x0 < x1 <= width):
            raise ValueError(f"rows {y0} to {y1}, columns {x0} to {x1} are not a part of {height}×{width} pixels")
        if reduce != 1 and (reduce not in self.scales() or y0 % reduce or x0 % reduce):
            raise ValueError(f"cannot reduce by {reduce} from row {y0}, column {x0}: scales are {self.scales()}")
        with data_errors(self.name), stage("decode"):
            how, part = FORMATS[self.header.format], self._stored(y0, x0, y1, x1, reduce)
            if self.mask:
                return as_pixels(how.labels(self.data, self.header, part), self.header, 1, self.turn)
            if self.to_srgb:  # before channels are joined
                own = as_pixels(how.decode(self.data, self.header, None, part), self.header, None, self.turn)
                return with_channels(to_srgb(own, self.header), self.shape[2])
            raster = how.decode(self.data, self.header, self.channels, part)
            if note := self.note(raster):
                warn_once("narrow", f"{self.name}: has {note}")
            return as_pixels(raster, self.header, self.channels, self.turn, self.dtype)

    def note(self, raster: NDArray[Any]) -> str:
        """A note on the range of a raster's values, or empty; see `narrow`."""
        return narrow(raster) if self.dtype == _UINT8 and self.header.most == 65535 else ""

    def labels(self, *, floats: bool = False) -> NDArray[Any]:
        """The whole mask, as by `augrecipes.sources.files.read_mask`; with `floats` also floats. Raises DataError."""
        with data_errors(self.name), stage("decode"):
            whole = Area(0, 0, self.header.height, self.header.width)
            return as_mask(FORMATS[self.header.format].labels(self.data, self.header, whole), self.turn, floats=floats)

    def stored(self) -> NDArray[Any]:
        """All samples as stored, before EXIF orientation. Raises DataError."""
        whole = Area(0, 0, self.header.height, self.header.width)
        with data_errors(self.name):
            return FORMATS[self.header.format].decode(self.data, self.header, self.channels, whole)

    def coded(self, y0: int, x0: int, y1: int, x1: int) -> Coded | None:
        """A region for kernels that decode it themselves; None if they cannot."""
        how = FORMATS[self.header.format].coded
        if how is None or self.mask or self.turn != 1 or self.dtype != _UINT8 or self.to_srgb:
            return None
        try:
            return how(self.data, self.header, self.channels, Area(y0, x0, y1, x1))
        except UnreadableError:
            return None

    def _stored(self, y0: int, x0: int, y1: int, x1: int, reduce: int) -> Area:
        """A part of the upright image as a part of the stored one."""
        height, width, _ = self.shape
        # Rounded to whole blocks, which matters where they are counted from the other side.
        y1, x1 = min(-(-y1 // reduce) * reduce, height), min(-(-x1 // reduce) * reduce, width)
        if self.turn in FLIPS_ROWS:
            y0, y1 = height - y1, height - y0
        if self.turn in FLIPS_COLUMNS:
            x0, x1 = width - x1, width - x0
        return Area(x0, y0, x1, y1, reduce) if self.turn in TRANSPOSES else Area(y0, x0, y1, x1, reduce)


def open_encoded(path: PathLike, *, max_bytes: int = MAX_BYTES, **how: Any) -> Encoded:
    """Open a file as Encoded; arguments and errors as of `augrecipes.sources.files.read_image`."""
    return encoded(bytes_of(path, max_bytes), name=os.fsdecode(path), **how)


def encoded(data: bytes, *, name: str, **how: Any) -> Encoded:
    """Bytes as Encoded; arguments and errors as of `augrecipes.sources.files.read_image`, and `mask`.

    >>> encoded(b"P2 3 1 255 0 128 255", name="ramp")
    Encoded('ramp', pnm, (1, 3, 3))
    >>> encoded(b"GIF8", name="cut.gif")
    Traceback (most recent call last):
    augrecipes.errors.DataError: cut.gif: not an image in a known format (JPEG, PNG, TIFF, BMP, WebP, GIF, PNM, ...
    """
    with data_errors(name), stage("decode"):
        header = read_header(data)
    return _check(data, header, name, **how)


def encoded_pages(data: bytes, *, name: str, **how: Any) -> list[Encoded]:
    """All images of a TIFF or `.npy` file, in order; any other file has one. Arguments as of `encoded`."""
    with data_errors(name), stage("decode"):
        if arrays.FORMAT.begins(data[:16]):
            return [_check(data, frame, name, **how) for frame in arrays.frame_headers(data)]
        header = read_header(data)
        if header.format == "tiff":
            return [_check(data, page, name, **how) for page in page_headers(data, MOST_PARTS)]
    return [_check(data, header, name, **how)]


def _check(
    data: bytes,
    header: ImageHeader,
    name: str,
    *,
    channels: int | None = 3,
    exif: Exif = "apply",
    max_pixels: int = MAX_PIXELS,
    dtype: SampleType = "uint8",
    mask: bool = False,
    icc: Literal["srgb"] | None = None,
    **how: Any,
) -> Encoded:
    if channels is not None and not 1 <= channels <= MOST_CHANNELS:
        raise ValueError(f"channels must be 1 to {MOST_CHANNELS} or None, not {channels!r}")
    for word, value, kind in (("exif", exif, Exif), ("dtype", dtype, SampleType)):
        if value not in get_args(kind):
            raise ValueError(f"{word} must be {' or '.join(map(repr, get_args(kind)))}, not {value!r}")
    with data_errors(name), stage("decode"):
        if header.width * header.height > max_pixels:
            raise UnreadableError(f"{header.width}×{header.height} pixels are more than the limit of {max_pixels:,}")
        if not mask and header.alpha and channels in (1, 3):
            warn_once("alpha", f"{name}: {ALPHA}")
        profile = "" if mask else foreign_profile(header)
        if profile and not icc:
            warn_once("icc", f"{name}: has {PROFILE.format(profile)} in the recipe")
        if loss := find_loss(header, channels=channels, mask=mask, dtype=dtype, icc=icc, **how):
            raise UnreadableError(loss)
        if is_stack(header, how.get("frames"), channels) and not mask:
            header = as_stack(data, header)
    turn = header.orientation if exif == "apply" else 1
    height, width = (header.width, header.height) if turn in TRANSPOSES else (header.height, header.width)
    shape = height, width, 1 if mask else channels or header.channels
    pixels = np.dtype("uint8" if mask else dtype)
    return Encoded(name, data, header, channels, turn, shape, mask, pixels, to_srgb=bool(icc and profile))


def bytes_of(path: PathLike, max_bytes: int) -> bytes:
    """The bytes of a whole file. Raises DataError."""
    with data_errors(os.fsdecode(path)), stage("read"):
        return read_bytes(path, max_bytes)


@contextmanager
def data_errors(name: str) -> Iterator[None]:
    """Turn an UnreadableError into a DataError that names the file; a MemoryError stays one."""
    try:
        yield
    except UnreadableError as error:
        raise DataError(str(error), path=name) from None
    except cv2.error as error:  # from conversions of decoded pixels
        raise_if_memory(error)
        raise
    except (MemoryError, SystemError) as error:  # some libraries fail without an error when memory is short
        raise MemoryError(f"{name}: not enough memory to decode it ({error or 'none is left'})") from error
