"""Pyramids of whole slides: levels, parts of them, and windows at any resolution.

A window is given by its corner in pixels of level 0, its side in pixels of its own, and its downsample: so many pixels
of level 0 are one of it. A level whose own downsample is within one per cent is taken as it is: micrometres a pixel are
not known better. Otherwise the pixels of the coarsest level that is finer are averaged over areas; a corner between two
of them goes to the nearer one.
"""

from __future__ import annotations

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
_SAME = 0.01  # downsamples differ by no more
_BAND = 1 << 24  # pixels that are read at once for a thumbnail


@dataclass(frozen=True, slots=True)
class Level:
    """One image of a pyramid.

    Attributes:
        width: px.
        height: px.
        downsample: so many pixels of level 0 are one of this level, the mean of across and down.
    """

    width: int
    height: int
    downsample: float


@dataclass(frozen=True, slots=True)
class Part:
    """A rectangle of a level, in its pixels; it may lie outside in part, or wholly.

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

    def inside(self, width: int, height: int) -> Part:
        """What of it lies on a level of that size; without a pixel where nothing does."""
        x, y = min(max(self.x, 0), width), min(max(self.y, 0), height)
        right, bottom = min(max(self.x + self.width, x), width), min(max(self.y + self.height, y), height)
        return Part(x, y, right - x, bottom - y)


class Pyramid:
    """Reads parts of levels; from several threads at once.

    Attributes:
        levels: the images of the pyramid, the largest first.
        mpp: micrometres a pixel of level 0, across and down; None where the file does not say.
    """

    levels: tuple[Level, ...]
    mpp: tuple[float, float] | None

    def read(self, level: int, part: Part) -> Pixels:
        """A part of a level, uint8 H×W×3 RGB; white where the slide ends.

        Args:
            level: number of it.
            part: of it.

        Raises:
            DataError: the file is damaged there; names it.
        """
        raise NotImplementedError


def as_levels(sizes: Sequence[tuple[int, int]]) -> tuple[Level, ...]:
    """Levels by their (width, height), the largest first.

    >>> [level.downsample for level in as_levels([(1000, 800), (250, 200)])]
    [1.0, 4.0]
    """
    (width, height), *_ = sizes
    return tuple(Level(w, h, (width / w + height / h) / 2) for w, h in sizes)


def require(name: str) -> ModuleType:
    """A module of the extra `slides`; DataError where it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise DataError(f"reading slides needs {name}: pip install 'augrecipes[slides]' ({error})") from None


def find_downsample(
    slide: Pyramid, path: str, mpp: float | None, level: int | None, slide_mpp: float | None = None
) -> float:
    """How many pixels of level 0 a pixel of a window is, across and down.

    Args:
        slide: that has it.
        path: of its file.
        mpp: micrometres a pixel of windows, or
        level: of the slide's own that windows are of: one of both is None.
        slide_mpp: micrometres a pixel of level 0; None: what the slide says.

    Raises:
        DataError: there is no such level, or no level as fine, or nobody knows the slide's resolution.
    """
    if mpp is None:
        assert level is not None
        if level >= len(slide.levels):
            raise DataError(f"has no level {level}; there are {_listed(slide.levels)}", path)
        return slide.levels[level].downsample
    finest = slide_mpp or (None if slide.mpp is None else sum(slide.mpp) / 2)
    if finest is None:
        raise DataError("does not say its micrometres a pixel: give slide_mpp=, or level= instead of mpp=", path)
    downsample = mpp / finest
    if downsample < 1 - _SAME:
        problem = f"has {finest:.4g} micrometres a pixel at its finest, so none at mpp={mpp:g}"
        raise DataError(f"{problem}; level=0 takes it as it is", path)
    return 1.0 if abs(downsample - 1) <= _SAME else downsample


def _listed(levels: tuple[Level, ...]) -> str:
    return ", ".join(f"{k} ({level.width}×{level.height} px)" for k, level in enumerate(levels))


def level_for(levels: tuple[Level, ...], downsample: float) -> int:
    """The level that windows of a downsample are made of: the coarsest that is not coarser.

    >>> levels = tuple(Level(1024 // k, 1024 // k, float(k)) for k in (1, 4, 16))
    >>> [level_for(levels, downsample) for downsample in (1, 3.9, 3.99, 4, 100)]
    [0, 0, 1, 1, 2]
    """
    return max(k for k, level in enumerate(levels) if k == 0 or level.downsample <= downsample * (1 + _SAME))


def source_part(level: Level, x: int, y: int, side: int, downsample: float) -> Part:
    """The part of a level that a window is made of.

    Args:
        level: as fine as the window, or finer.
        x: of its corner, px of level 0.
        y: of its corner.
        side: of the window, in its own px.
        downsample: of the window.

    >>> source_part(Level(512, 512, 2.0), 100, 50, 16, 4.0)
    Part(x=50, y=25, width=32, height=32)
    """
    ratio = downsample / level.downsample
    side = side if abs(ratio - 1) <= _SAME else max(round(side * ratio), 1)
    return Part(round(x / level.downsample), round(y / level.downsample), side, side)


@dataclass(frozen=True, slots=True, eq=False)
class SlideWindow:
    """A window that is not read yet: whole by `array`, a part of it by `view`, with the same bits.

    Attributes:
        slide: that has it.
        level: that it is made of.
        part: of that level.
        shape: H×W×C, px; C is 1, 3 or 4.
    """

    slide: Pyramid
    level: int
    part: Part
    shape: tuple[int, int, int]

    dtype: ClassVar[np.dtype[np.uint8]] = np.dtype(np.uint8)

    @property
    def nbytes(self) -> int:
        """Of its pixels."""
        return math.prod(self.shape)

    def coded(self, y0: int, x0: int, y1: int, x1: int) -> None:
        """Nothing: no kernel reads slides."""

    def scales(self) -> tuple[int, ...]:
        """None: a window is read at its own resolution."""
        return ()

    def array(self) -> Pixels:
        """Its pixels, uint8 H×W×C; white where the slide ends. DataError where it is damaged."""
        pixels, (height, width, channels) = self.slide.read(self.level, self.part), self.shape
        if (self.part.width, self.part.height) != (width, height):
            pixels = np.asarray(cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
        return with_channels(pixels, channels)

    def view(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> Pixels:
        """Rows `y0` to `y1` and columns `x0` to `x1`, ends exclusive; only these are read where that gives the same."""
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
    """A square window, to be read; arguments as `source_part`.

    Raises:
        DataError: more than `max_pixels` of the slide would have to be read for it.
    """
    number = level_for(slide.levels, downsample)
    part = source_part(slide.levels[number], x, y, side, downsample)
    if part.width * part.height > max_pixels:
        raise DataError(
            f"a window of {side}×{side} px would be made of {part.width}×{part.height} px of level {number}, "
            f"more than the limit of {max_pixels:,}; its levels are {_listed(slide.levels)}",
            path,
        )
    return SlideWindow(slide, number, part, (side, side, channels))


def thumbnail(slide: Pyramid, downsample: float) -> Pixels:
    """The whole slide at a downsample, as far as that makes whole pixels, uint8 H×W×3 RGB; read in bands.

    A pixel lies where it should, but for half a pixel of the level.
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
