"""What is known of an image before its pixels, what the rest asks of a file format, and timers of both."""

from __future__ import annotations

import logging
import os
import re
import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from augrecipes.native.libjpeg import Coded

MOST_PARTS = 2**18
"""Segments, chunks or blocks that are walked through in search of a header: real files have far fewer, and one
that is made of tiny ones, or that is not what it begins as, is not worth minutes."""

MOST_CHANNELS = 512  # as OpenCV has it
Color = Literal["grey", "rgb", "palette", "cmyk", "lab", "other"]
Depth = Literal["error", "8bit"]
Frames = Literal["error", "first"]
DEPTH, FRAMES = "AUGRECIPES_DEPTH", "AUGRECIPES_FRAMES"
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
        frames: images in the file, counted up to two.
        layout: what the format's own reader found on the way and needs again; of use only with the same bytes.
        lossy: pixels are stored nearly as they were.
        bands: samples of a pixel where they are not grey or colours, with what is declared as alpha; else 0.
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
        decode: data, header, channels and part to its pixels as stored: uint8 or uint16, H×W or H×W×C in RGB order, not
            turned. The law: at `reduce` 1 the very pixels of the whole image. It may overlook damage outside the part.
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


def chosen_policies(depth: Depth | None, frames: Frames | None) -> dict[str, str]:
    """What the arguments `depth` and `frames` and the environment come to. ValueError for values that are not known.

    Samples of 9 to 16 bits lose their lower ones in an image of 8 bits, and of several pages or frames the first is
    read; either changes what a model sees. So both are errors unless they are asked for.

    >>> chosen_policies("8bit", "error")
    {'depth': '8bit', 'frames': 'error'}
    """
    options, chosen = {"depth": (depth, Depth, DEPTH), "frames": (frames, Frames, FRAMES)}, {}
    for name, (argument, kind, variable) in options.items():
        value = argument if argument is not None else os.environ.get(variable) or "error"
        if value not in get_args(kind):
            where = variable if argument is None else name
            raise ValueError(f"{where} must be {' or '.join(get_args(kind))}, not {value!r}")
        chosen[name] = value
    return chosen


def wrong_channels(stored: int, wanted: int | None, *, declared: bool) -> str:
    """Why an image cannot be read with so many channels; empty where it can.

    Args:
        stored: its channels.
        wanted: those that are asked for; None: what is stored.
        declared: whether it says what they are: grey, colours, alpha. Only then one becomes another.

    >>> wrong_channels(5, 3, declared=False)
    'an image of 5 channels, and 3 are wanted: to take all, say `inputs: {image: {channels: 5}}` in the recipe'
    """
    if wanted in (None, stored) or (declared and {stored, wanted} <= {1, 3, 4}):
        return ""
    cure = f"to take all, say `inputs: {{image: {{channels: {stored}}}}}` in the recipe"
    return f"an image of {stored} channels, and {wanted} are wanted: {cure}"


def find_loss(
    header: ImageHeader, depth: Depth | None = None, frames: Frames | None = None, channels: int | None = None, *,
    mask: bool = False,
) -> str:  # fmt: skip
    """What reading a file would lose and may not; empty where there is nothing.

    Args:
        header: of the file.
        depth: whether samples of more than 8 bits may lose the lower ones: `8bit`, or `error`.
        frames: whether pages and frames behind the first may be passed over: `first`, or `error`.
        channels: that are read; None: those that are stored.
        mask: it is read as a mask, whose samples are kept as they are.

    >>> find_loss(ImageHeader("png", 4, 4, bits=16), "8bit"), find_loss(ImageHeader("png", 4, 4, bits=16), mask=True)
    ('', '')
    >>> find_loss(ImageHeader("png", 4, 4, bits=16))
    '16 bits a sample, and images are read with 8: convert it, or keep the upper 8 with depth="8bit" ...
    """
    if mask and header.lossy:
        return f"a mask in a lossy {header.format.upper()}, which makes 97, 99 and 101 of 98. Save masks as PNG"
    if not mask and (why := wrong_channels(header.channels, channels, declared=not header.bands)):
        return why
    if header.bits <= 8 and header.frames <= 1:
        return ""
    chosen = chosen_policies(depth, frames)
    if header.bits > 8 and not mask and chosen["depth"] == "error":
        cure = f'convert it, or keep the upper 8 with depth="8bit" (for commands: {DEPTH}=8bit)'
        return f"{header.bits} bits a sample, and images are read with 8: {cure}"
    if header.frames > 1 and chosen["frames"] == "error":
        cure = f'split it, or read the first with frames="first" (for commands: {FRAMES}=first)'
        return f"several pages or frames, and one image is read: {cure}"
    return ""


def check_whole(header: ImageHeader, **how: Any) -> None:
    """Raise UnreadableError where something would be lost; arguments as `find_loss`."""
    if reason := find_loss(header, **how):
        raise UnreadableError(reason)


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


# What is no error of an image and should be known all the same: said in the log, once, or counted by checks.

ALPHA = "has alpha, which is left out: to keep it, say `inputs: {image: {channels: 4}}` in the recipe"
_HALF = 2**15  # of 16 bits
_notices = set[str]()
_log = logging.getLogger("augrecipes")


def narrow(samples: NDArray[Any]) -> str:
    """What is to be said of 16 bits of which the upper 8 are kept, where half their range is empty; else empty.

    >>> narrow(np.array([0, 4095], np.uint16))
    'values from 0 to 4,095 in 16 bits, of which the upper 8 leave 16 levels: scale them to 0 to 65,535 first'
    """
    if samples.dtype != np.uint16 or (most := int(samples.max())) >= _HALF:
        return ""
    left = f"of which the upper 8 leave {(most >> 8) + 1} levels: scale them to 0 to 65,535 first"
    return f"values from {samples.min():,} to {most:,} in 16 bits, {left}"


def warn_once(what: str, text: str) -> None:
    """One line in the log, of the first file in this process that there is `what` to tell of."""
    if what not in _notices:
        _notices.add(what)
        _log.warning("%s (said once, of the first such image)", text)
