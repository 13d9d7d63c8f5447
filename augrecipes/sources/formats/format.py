"""All that the rest asks of a picture format, in one record: a new format is a file here, and its line in `headers`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from augrecipes.native.libjpeg import Coded
from augrecipes.sources.formats.header import ImageHeader


@dataclass(frozen=True, slots=True)
class StoredRegion:
    """A rectangle of a picture as it is stored: before any EXIF turn, in pixels of full size.

    Attributes:
        y0: first row; a multiple of `reduce`.
        x0: first column; a multiple of `reduce`.
        y1: behind the last row; a multiple of `reduce`, or the picture's height.
        x1: behind the last column; a multiple of `reduce`, or the picture's width.
        reduce: how many rows and columns become one: 1, 2, 4 or 8.

    >>> StoredRegion(0, 16, 50, 64, reduce=4).reduced
    (slice(0, 13, None), slice(4, 16, None))
    """

    y0: int
    x0: int
    y1: int
    x1: int
    reduce: int = 1

    @property
    def reduced(self) -> tuple[slice, slice]:
        """Its rows and columns in the picture decoded at 1/`reduce`."""
        k = self.reduce
        return slice(self.y0 // k, -(-self.y1 // k)), slice(self.x0 // k, -(-self.x1 // k))


@dataclass(frozen=True, slots=True)
class Ends:
    """The first bytes of a file and the last ones, some kilobytes each or all of it, and its size."""

    first: bytes
    last: bytes
    size: int


@dataclass(frozen=True, slots=True)
class Format:
    """How one format is read. What it is given is never trusted; what it cannot read is an UnreadableError.

    Attributes:
        name: as `ImageHeader.format` has it.
        title: as people write it.
        begins: whether a file that begins so is of this format.
        header: bytes to header.
        decode: data, header and channels to pixels as stored: uint8 or uint16, H×W or H×W×C in RGB order, not turned.
        mask: data and header to samples as label ids, where that differs from `decode`.
        labels: data, header and part to those of 8 bits of a part; None where a mask has to be decoded whole.
        complete: whether a file is as long as it must be, as far as its ends tell; may raise where more is known.
        header_at: where the header of a whole file stands: in its first 4,096 bytes (`first`), before the pixels
            (`front`), or `anywhere`.
        frames: what several pictures in a file are called.
        scales: data and header to the values of `reduce` beyond 1 that `region` takes.
        region: data, header, channels and part to its pixels, as `decode` gives them; the law: at `reduce` 1 the very
            pixels of the whole decode. It may overlook damage that lies outside of the part.
        mapped: a file is mapped, not read: what is given as data is a view of it.
        coded: the same to what kernels are to be told of it, who decode it themselves; None where they cannot.
    """

    name: str
    title: str
    begins: Callable[[bytes], bool]
    header: Callable[[bytes], ImageHeader]
    decode: Callable[[bytes, ImageHeader, int | None], NDArray[Any]]
    mask: Callable[[bytes, ImageHeader], NDArray[Any]] | None = None
    complete: Callable[[ImageHeader, Ends], bool] = lambda header, ends: True
    header_at: str = "front"
    frames: str = "frames"
    scales: Callable[[bytes, ImageHeader], tuple[int, ...]] = lambda data, header: ()
    region: Callable[[bytes, ImageHeader, int | None, StoredRegion], NDArray[Any]] | None = None
    mapped: bool = False
    labels: Callable[[bytes, ImageHeader, StoredRegion], NDArray[Any]] | None = None
    coded: Callable[[bytes, ImageHeader, int | None, StoredRegion], Coded | None] | None = None
