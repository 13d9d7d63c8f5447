"""Pyramids of whole slides: levels, parts of them, and windows at any resolution.

A window has a corner in pixels of level 0, a side in its own pixels, and a downsample: pixels of level 0 per pixel of
the window. A level whose downsample is within one per cent is used as it is, since micrometres per pixel are no more
accurate. Otherwise the next finer level is averaged by area (cv2.INTER_AREA); corners are rounded to its pixels.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.images.pixels import with_channels

Pixels = NDArray[np.uint8]
WHITE = 255
_SAME = 0.01  # relative difference of downsamples that count as equal
_BAND = 1 << 24  # px read at once for a thumbnail


@dataclass(frozen=True, slots=True)
class Level:
    """One image of a pyramid.

    Attributes:
        width: px.
        height: px.
        downsample: px of level 0 per px of this level, the mean of across and down.
    """

    width: int
    height: int
    downsample: float


@dataclass(frozen=True, slots=True)
class Part:
    """A rectangle of a level, in its pixels; it may lie partly or wholly outside.

    Attributes:
        x: left column.
        y: upper row.
        width: px.
        height: px.
    """

    x: int
    y: int
    width: int
    height: int

    def inside(self, width: int, height: int) -> "Part":
        """The rectangle clipped to a level of that size; empty if it lies outside."""
        x, y = min(max(self.x, 0), width), min(max(self.y, 0), height)
        right, bottom = min(max(self.x + self.width, x), width), min(max(self.y + self.height, y), height)
        return Part(x, y, right - x, bottom - y)


class Pyramid:
    """The interface of slide readers; thread-safe.

    Attributes:
        levels: the images of the pyramid, the largest first.
        mpp: micrometres per pixel of level 0, across and down; None if the file lacks them.
    """

    levels: tuple[Level, ...]
    mpp: tuple[float, float] | None

    def read(self, level: int, part: Part) -> Pixels:
        """Read a part of a level: uint8 H×W×3 RGB, white outside the slide.

        Args:
            level: the number of the level.
            part: the rectangle.

        Raises:
            DataError: the file is damaged there; the message names it.
        """
        raise NotImplementedError


def as_levels(sizes: Sequence[tuple[int, int]]) -> tuple[Level, ...]:
    """Levels from their (width, height), the largest first.

    >>> [level.downsample for level in as_levels([(1000, 800), (250, 200)])]
    [1.0, 4.0]
    """
    (width, height), *_ = sizes
    return tuple(Level(w, h, (width / w + height / h) / 2) for w, h in sizes)


def require(name: str) -> ModuleType:
    """Import a module of the extra `slides`; DataError where it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise DataError(f"reading slides needs {name}: pip install 'augrecipes[slides]' ({error})") from None


def find_downsample(
    slide: Pyramid, path: str, mpp: float | None, level: int | None, slide_mpp: float | None = None
) -> float:
    """The downsample of windows: px of level 0 per px of a window.

    Args:
        slide: the slide.
        path: its file.
        mpp: micrometres per pixel of windows; None if `level` is given.
        level: the slide's own level to take windows of; None if `mpp` is given.
        slide_mpp: micrometres per pixel of level 0; None: as the slide says.

    Raises:
        DataError: there is no such level, no level is fine enough, or the slide's resolution is not known.
    """
    if mpp is None:
        assert level is not None
        if level >= len(slide.levels):
            raise DataError(f"has no level {level}; there are {_level_list(slide.levels)}", path)
        return slide.levels[level].downsample
    finest = slide_mpp or (None if slide.mpp is None else sum(slide.mpp) / 2)
    if finest is None:
        raise DataError("does not say its micrometres a pixel: give slide_mpp=, or level= instead of mpp=", path)
    downsample = mpp / finest
    if downsample < 1 - _SAME:
        problem = f"has {finest:.4g} micrometres a pixel at its finest, so none at mpp={mpp:g}"
        raise DataError(f"{problem}; level=0 takes it as it is", path)
    return 1.0 if abs(downsample - 1) <= _SAME else downsample


def _level_list(levels: tuple[Level, ...]) -> str:
    return ", ".join(f"{k} ({level.width}×{level.height} px)" for k, level in enumerate(levels))


def level_for(levels: tuple[Level, ...], downsample: float) -> int:
    """The level to read windows of a downsample from: the coarsest that is fine enough.

    >>> levels = tuple(Level(1024 // k, 1024 // k, float(k)) for k in (1, 4, 16))
    >>> [level_for(levels, downsample) for downsample in (1, 3.9, 3.99, 4, 100)]
    [0, 0, 1, 1, 2]
    """
    return max(k for k, level in enumerate(levels) if k == 0 or level.downsample <= downsample * (1 + _SAME))


def source_part(level: Level, x: int, y: int, side: int, downsample: float) -> Part:
    """The part of a level to read for a window.

    Args:
        level: a level at least as fine as the window.
        x: left edge of the window, px of level 0.
        y: top edge of the window, px of level 0.
        side: side of the window, in its own px.
        downsample: of the window.

    >>> source_part(Level(512, 512, 2.0), 100, 50, 16, 4.0)
    Part(x=50, y=25, width=32, height=32)
    """
    ratio = downsample / level.downsample
    side = side if abs(ratio - 1) <= _SAME else max(round(side * ratio), 1)
    return Part(round(x / level.downsample), round(y / level.downsample), side, side)


@dataclass(frozen=True, slots=True, eq=False)
class SlideWindow:
    """A window that is read on demand: whole by `array`, a part of it by `view`, with the same bits.

    Attributes:
        slide: the slide.
        level: the level to read.
        part: the part of that level.
        shape: H×W×C, px; C is 1, 3 or 4.
    """

    slide: Pyramid
    level: int
    part: Part
    shape: tuple[int, int, int]

    dtype: ClassVar[np.dtype[np.uint8]] = np.dtype(np.uint8)

    @property
    def nbytes(self) -> int:
        """The number of bytes of its pixels."""
        return math.prod(self.shape)

    def coded(self, y0: int, x0: int, y1: int, x1: int) -> None:
        """None: no kernel decodes slides."""

    def scales(self) -> tuple[int, ...]:
        """Empty: a window is read at its own resolution only."""
        return ()

    def array(self) -> Pixels:
        """Its pixels, uint8 H×W×C, white outside the slide. DataError where the file is damaged."""
        pixels, (height, width, channels) = self.slide.read(self.level, self.part), self.shape
        if (self.part.width, self.part.height) != (width, height):
            pixels = np.asarray(cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
        return with_channels(pixels, channels)

    def view(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> Pixels:
        """Rows `y0` to `y1` and columns `x0` to `x1`, ends exclusive; unless it is resampled, only these are read."""
        height, width, channels = self.shape
        if reduce != 1 or not (0 <= y0 < y1 <= height and 0 <= x0 < x1 <= width):
            raise ValueError(f"rows {y0} to {y1}, columns {x0} to {x1} at 1/{reduce} are not a part of {self.shape}")
        if (self.part.width, self.part.height) != (width, height):
            return self.array()[y0:y1, x0:x1]
        inner = Part(self.part.x + x0, self.part.y + y0, x1 - x0, y1 - y0)
        return with_channels(self.slide.read(self.level, inner), channels)


def window_of(
    slide: Pyramid, path: str, x: int, y: int, side: int, downsample: float, channels: int, max_pixels: int
) -> SlideWindow:
    """A square window; arguments as for `source_part`.

    Raises:
        DataError: it needs more than `max_pixels` of the slide.
    """
    number = level_for(slide.levels, downsample)
    part = source_part(slide.levels[number], x, y, side, downsample)
    if part.width * part.height > max_pixels:
        raise DataError(
            f"a window of {side}×{side} px would be made of {part.width}×{part.height} px of level {number}, "
            f"more than the limit of {max_pixels:,}; its levels are {_level_list(slide.levels)}",
            path,
        )
    return SlideWindow(slide, number, part, (side, side, channels))


def thumbnail(slide: Pyramid, downsample: float) -> Pixels:
    """The whole slide at a downsample, uint8 H×W×3 RGB, without an incomplete last row or column; read in bands.

    Positions are exact to half a pixel of the level.
    """
    number = level_for(slide.levels, downsample)
    level = slide.levels[number]
    ratio = max(downsample / level.downsample, 1.0)
    width, height = (max(int(side / ratio), 1) for side in (level.width, level.height))
    rows = max(int(_BAND / level.width / ratio), 1)
    out = np.empty((height, width, 3), np.uint8)
    for top in range(0, height, rows):
        bottom = min(top + rows, height)
        begin, end = (min(round(at * ratio), level.height) for at in (top, bottom))
        band = slide.read(number, Part(0, begin, min(round(width * ratio), level.width), max(end - begin, 1)))
        out[top:bottom] = cv2.resize(band, (width, bottom - top), interpolation=cv2.INTER_AREA)
    return out
