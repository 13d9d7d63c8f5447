"""What is known of an image before its pixels, what the rest asks of a file format, and timers of both."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal

from numpy.typing import NDArray

from augrecipes.native.libjpeg import Coded

MOST_PARTS = 2**18
"""Segments, chunks or blocks that are walked through in search of a header: real files have far fewer, and one
that is made of tiny ones, or that is not what it begins as, is not worth minutes."""

MOST_CHANNELS = 512  # as OpenCV has it
Color = Literal["grey", "rgb", "palette", "cmyk", "lab", "other"]
_ORIENTATION, _SHORT, _LONG = 0x0112, 3, 4
# What libraries say instead of raising a MemoryError: libjpeg, zlib, OpenCV.
_NO_MEMORY = re.compile(r"insufficient memory|memory allocation|cannot allocate|out of memory|Error -4 ", re.IGNORECASE)


class UnreadableError(ValueError):
    """An image cannot be read; the text is the reason. Callers who know the file's name make a DataError of it."""


def raise_if_memory(error: Exception) -> None:
    """MemoryError where a library's own error says that memory is short: no file is to be blamed for that."""
    if _NO_MEMORY.search(str(error)):
        raise MemoryError(str(error)) from error


def too_many(kind: str, parts: str, at: int) -> UnreadableError:
    """The error for a file of more than `MOST_PARTS`, which end at byte `at`."""
    return UnreadableError(f"not a real {kind}: more than {MOST_PARTS:,} {parts} in its first {at:,} bytes")


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """The first bytes of an image file, understood. The file's name and extension play no part.

    Attributes:
        format: ``jpeg``, ``png``, ``tiff``, ``bmp``, ``webp``, ``gif``, ``pnm``, ``jp2``, ``avif`` or ``npy``.
        width: stored width in pixels, before any EXIF rotation.
        height: stored height in pixels, before any EXIF rotation.
        bits: bits per sample as stored (palette: per index).
        color: how samples are to be understood; a JPEG's YCbCr counts as ``rgb``, its YCCK as ``cmyk``.
        alpha: the image has an alpha channel, or a transparent colour.
        orientation: EXIF orientation, 1 (upright) to 8; anything else in a file counts as 1.
        frames: images in the file; pages of a TIFF are counted up to 100, others up to two.
        layout: what the format's own reader found on the way and needs again; of use only with the same bytes.
        lossy: pixels are stored nearly as they were.
        bands: samples of a pixel where they are not grey or colours, with what is declared as alpha; else 0.
        sample_kind: of the samples, as numpy has it: `u` unsigned, `i` signed, `f` floating point.
        most: the largest sample that there may be, where they have 9 to 16 bits.
        white: the least sample is white, of more than 8 bits.
        profile: the colour profile (ICC), as it is stored; empty without.
    """

    format: str
    width: int
    height: int
    bits: int = 8
    color: Color = "rgb"
    alpha: bool = False
    orientation: int = 1
    frames: int = 1
    layout: Any = field(default=None, compare=False, repr=False)
    lossy: bool = False
    bands: int = 0
    sample_kind: Literal["u", "i", "f"] = "u"
    most: int = 65535
    white: bool = False
    profile: bytes = field(default=b"", compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise UnreadableError(f"its header says {self.width}×{self.height} pixels")

    @property
    def channels(self) -> int:
        """Of the image as it is stored, a palette's colours among them."""
        return self.bands or (4 if self.alpha else 1 if self.color == "grey" else 3)


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle of an image as it is stored: before any EXIF turn, in pixels of full size.

    Attributes:
        y0: first row; a multiple of `reduce`.
        x0: first column; a multiple of `reduce`.
        y1: behind the last row; a multiple of `reduce`, or the image's height.
        x1: behind the last column; a multiple of `reduce`, or the image's width.
        reduce: how many rows and columns become one: 1, 2, 4 or 8.

    >>> Area(0, 16, 50, 64, reduce=4).reduced
    (slice(0, 13, None), slice(4, 16, None))
    """

    y0: int
    x0: int
    y1: int
    x1: int
    reduce: int = 1

    @property
    def reduced(self) -> tuple[slice, slice]:
        """Its rows and columns in the image decoded at 1/`reduce`."""
        k = self.reduce
        return slice(self.y0 // k, -(-self.y1 // k)), slice(self.x0 // k, -(-self.x1 // k))


@dataclass(frozen=True, slots=True)
class Format:
    """How one format is read. What it is given is never trusted; what it cannot read is an UnreadableError.

    Attributes:
        name: as `ImageHeader.format` has it.
        title: as people write it.
        begins: whether a file that begins so is of this format.
        header: bytes to header.
        decode: data, header, channels and part to its pixels as stored: uint8, or of more bits the file's own values of
            any type, H×W or H×W×C in RGB order, not turned. The law: at `reduce` 1 the very pixels of the whole image.
            It may overlook damage outside the part.
        labels: data, header and part to its samples as label ids.
        complete: header, last bytes and size to whether a file is as long as it must be, as far as these tell.
        header_at: where the header of a whole file stands: in its first 4,096 bytes (`first`), before the pixels
            (`front`), or `anywhere`.
        by_parts: whether no more is decoded than a part needs.
        scales: data and header to the values of `reduce` beyond 1 that `decode` takes.
        coded: as `decode`, to what kernels are to be told who decode it themselves; None where they cannot.
    """

    name: str
    title: str
    begins: Callable[[bytes], bool]
    header: Callable[[bytes], ImageHeader]
    decode: Callable[[bytes, ImageHeader, int | None, Area], NDArray[Any]]
    labels: Callable[[bytes, ImageHeader, Area], NDArray[Any]]
    complete: Callable[[ImageHeader, bytes, int], bool]
    header_at: Literal["first", "front", "anywhere"] = "anywhere"
    by_parts: bool = False
    scales: Callable[[bytes, ImageHeader], tuple[int, ...]] = lambda data, header: ()
    coded: Callable[[bytes, ImageHeader, int | None, Area], Coded | None] | None = None


def orientation(block: bytes) -> int:
    """EXIF orientation, 1 to 8, said by the first directory of an EXIF block; 1 when it says none or is damaged.

    Args:
        block: bytes that start with a TIFF header, or with ``Exif`` and two zeros before it.

    >>> orientation(b"II*\\0" + bytes([8,0,0,0, 1,0, 0x12,1, 3,0, 1,0,0,0, 6,0,0,0, 0,0,0,0]))
    6
    >>> orientation(b"not EXIF")
    1
    """
    if block[:6] in (b"Exif\0\0", b"Exif\0\xff"):
        block = block[6:]
    endian = {b"II*\0": "<", b"MM\0*": ">"}.get(block[:4])
    if endian is None or len(block) < 8:
        return 1
    (start,) = struct.unpack_from(endian + "I", block, 4)
    if start + 2 > len(block):
        return 1
    (count,) = struct.unpack_from(endian + "H", block, start)
    for entry in range(start + 2, min(start + 2 + 12 * count, len(block) - 11), 12):
        tag, kind, values = struct.unpack_from(endian + "HHI", block, entry)
        if tag == _ORIENTATION:
            if values != 1 or kind not in (_SHORT, _LONG):
                return 1
            (value,) = struct.unpack_from(endian + ("H" if kind == _SHORT else "I"), block, entry + 8)
            return int(value) if 1 <= value <= 8 else 1
    return 1


Stage = Literal["read", "decode"]
Watch = Callable[[Stage], AbstractContextManager[object]]

_NOBODY: AbstractContextManager[object] = nullcontext()
_watch: Watch | None = None


def stage(name: Stage) -> AbstractContextManager[object]:
    """What the work of a stage is done inside; nothing at all while nobody watches."""
    return _NOBODY if _watch is None else _watch(name)


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Inside the block every stage, in whatever thread of this process, is done inside what `watch` returns for it.

    >>> seen = []
    >>> with watched(lambda name: nullcontext(seen.append(name))), stage("read"):
    ...     seen
    ['read']
    """
    global _watch  # noqa: PLW0603  one process, one watcher
    before, _watch = _watch, watch
    try:
        yield
    finally:
        _watch = before
