"""ImageHeader, the interface of file formats, and hooks that time reading and decoding."""

import re
import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal

from numpy.typing import NDArray

from augrecipes.native.kernels import Coded

MOST_PARTS = 2**18
"""The limit of segments, chunks or blocks visited in search of a header: real files have far fewer, and a forged file
must not take minutes."""

MOST_CHANNELS = 512  # OpenCV's limit
Color = Literal["grey", "rgb", "palette", "cmyk", "lab", "other"]
_ORIENTATION, _SHORT, _LONG = 0x0112, 3, 4
# Messages of libjpeg, zlib and OpenCV when memory is short.
_NO_MEMORY = re.compile(r"insufficient memory|memory allocation|cannot allocate|out of memory|Error -4 ", re.IGNORECASE)


class UnreadableError(ValueError):
    """An image cannot be read, with the reason. Callers that know the file's name turn it into a DataError."""


def raise_if_memory(error: Exception) -> None:
    """Raise a MemoryError if a library's error says that memory is short, since the file is not at fault."""
    if _NO_MEMORY.search(str(error)):
        raise MemoryError(str(error)) from error


def too_many(kind: str, parts: str, at: int) -> UnreadableError:
    """The error for a file of more than `MOST_PARTS` parts, which end at byte `at`."""
    return UnreadableError(f"not a real {kind}: more than {MOST_PARTS:,} {parts} in its first {at:,} bytes")


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """The parsed header of an image file; the file's name and extension do not matter.

    Attributes:
        format: ``jpeg``, ``png``, ``tiff``, ``bmp``, ``webp``, ``gif``, ``pnm``, ``jp2``, ``avif`` or ``npy``.
        width: stored width in pixels, before any EXIF rotation.
        height: stored height in pixels, before any EXIF rotation.
        bits: bits per sample as stored (palette: per index).
        color: the meaning of samples; a JPEG's YCbCr counts as ``rgb``, its YCCK as ``cmyk``.
        alpha: whether there is an alpha channel, or a transparent colour.
        orientation: EXIF orientation, 1 (upright) to 8; any other value counts as 1.
        frames: images in the file; pages of a TIFF are counted up to 100, others up to two.
        layout: the format reader's own data for decoding the same bytes.
        lossy: whether the compression is lossy.
        bands: samples per pixel of multispectral images, including declared alpha; 0 for grey and colour images.
        sample_kind: numpy's kind of the samples: `u` unsigned, `i` signed, `f` floating point.
        most: the largest possible sample, for 9 to 16 bits.
        white: whether 0 is white, for more than 8 bits.
        profile: the stored colour profile (ICC), or empty.
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
        """The channels of the stored image; a palette counts as its colours."""
        return self.bands or (4 if self.alpha else 1 if self.color == "grey" else 3)


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle of the stored image (before EXIF orientation), in pixels of full size.

    Attributes:
        y0: first row; a multiple of `reduce`.
        x0: first column; a multiple of `reduce`.
        y1: end of the rows, exclusive; a multiple of `reduce`, or the image's height.
        x1: end of the columns, exclusive; a multiple of `reduce`, or the image's width.
        reduce: the number of rows and columns that become one: 1, 2, 4 or 8.

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
    """The reader of a file format. It never trusts its input; a file that it cannot read is an UnreadableError.

    Attributes:
        name: as in `ImageHeader.format`.
        title: for messages.
        begins: (first bytes) → whether a file is of this format.
        header: (bytes) → header.
        decode: (data, header, channels, part) → stored pixels: uint8, or for more bits the file's own values of any
            dtype, H×W or H×W×C in RGB order, not turned. At `reduce` 1 they equal those of the whole image. Damage
            outside the part may go unnoticed.
        labels: (data, header, part) → samples as label ids.
        complete: (header, last bytes, size) → whether a file is long enough, as far as these tell.
        header_at: where the header is: in the first 4,096 bytes (`first`), before the pixels (`front`), or `anywhere`.
        by_parts: whether only the needed part is decoded.
        scales: (data, header) → the values of `reduce` beyond 1 that `decode` takes.
        coded: as `decode`, → the input of kernels that decode by themselves; None if they cannot.
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
    """EXIF orientation, 1 to 8, in the first directory of an EXIF block; 1 if it has none or is damaged.

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

_UNWATCHED: AbstractContextManager[object] = nullcontext()
_watch: Watch | None = None


def stage(name: Stage) -> AbstractContextManager[object]:
    """A context manager for the work of a stage; does nothing unless `watched` is active."""
    return _UNWATCHED if _watch is None else _watch(name)


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Inside the block, run every stage of any thread of this process in the context manager that `watch` returns.

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
