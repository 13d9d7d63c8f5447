"""Windows of slides at any resolution: from the level itself, or reduced from the next finer one.

A window is told by its corner in pixels of level 0, its side in pixels of its own, and its downsample: so many pixels
of level 0 are one of it. A level whose own downsample is within one per cent is taken as it is: micrometres a pixel are
not known better. Otherwise the pixels of the coarsest level that is finer are averaged over areas; a corner between two
of them goes to the nearer one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import cv2
import numpy as np

from augrecipes.errors import DataError
from augrecipes.images.raster import converted
from augrecipes.sources.slides.level import Level, Part, Pixels, Pyramid

_SAME = 0.01
_BAND = 1 << 24  # pixels that are read at once for a thumbnail


@dataclass(frozen=True, slots=True)
class Resolution:
    """The resolution of windows: exactly one of both.

    Attributes:
        mpp: micrometres a pixel.
        level: of the slide's own.
    """

    mpp: float | None = None
    level: int | None = None

    def __post_init__(self) -> None:
        if (self.mpp is None) == (self.level is None):
            raise ValueError("give either mpp= (micrometres a pixel) or level= (one of the slide's own)")
        if self.mpp is not None and not 0 < self.mpp < math.inf:
            raise ValueError(f"mpp must be more than 0, got {self.mpp}")
        if self.level is not None and self.level < 0:
            raise ValueError(f"level must be 0 or more, got {self.level}")

    def downsample(self, slide: Pyramid, path: str, known: float | None = None) -> float:
        """How many pixels of level 0 a pixel of a window is, across and down.

        Args:
            slide: that has it.
            path: of its file.
            known: micrometres a pixel of level 0; None: what the slide says.

        Raises:
            DataError: there is no such level, or no level as fine, or nobody knows the slide's resolution.
        """
        if self.level is not None:
            if self.level >= len(slide.levels):
                raise DataError(f"has no level {self.level}; there are {_listed(slide.levels)}", path)
            return slide.levels[self.level].downsample
        mpp = known or (None if slide.mpp is None else sum(slide.mpp) / 2)
        if mpp is None:
            raise DataError("does not say its micrometres a pixel: give slide_mpp=, or level= instead of mpp=", path)
        assert self.mpp is not None
        found = self.mpp / mpp
        if found < 1 - _SAME:
            raise DataError(
                f"has {mpp:.4g} micrometres a pixel at its finest, so none at mpp={self.mpp:g}; level=0 takes it as it "
                "is",
                path,
            )
        return 1.0 if abs(found - 1) <= _SAME else found


def _listed(levels: tuple[Level, ...]) -> str:
    return ", ".join(f"{k} ({level.width}×{level.height} px)" for k, level in enumerate(levels))


def finer(levels: tuple[Level, ...], downsample: float) -> int:
    """The level that windows of a downsample are made of: the coarsest that is not coarser.

    >>> levels = tuple(Level(1024 // k, 1024 // k, float(k)) for k in (1, 4, 16))
    >>> [finer(levels, downsample) for downsample in (1, 3.9, 3.99, 4, 100)]
    [0, 0, 1, 1, 2]
    """
    return max(k for k, level in enumerate(levels) if k == 0 or level.downsample <= downsample * (1 + _SAME))


def source_of(level: Level, x: int, y: int, width: int, height: int, downsample: float) -> Part:
    """The part of a level that a window is made of.

    Args:
        level: as fine as the window, or finer.
        x: of its corner, px of level 0.
        y: of its corner.
        width: of the window, in its own px.
        height: of the window.
        downsample: of the window.

    >>> source_of(Level(512, 512, 2.0), 100, 50, 16, 16, 4.0)
    Part(x=50, y=25, width=32, height=32)
    """
    ratio = downsample / level.downsample
    if abs(ratio - 1) > _SAME:
        width, height = max(round(width * ratio), 1), max(round(height * ratio), 1)
    return Part(round(x / level.downsample), round(y / level.downsample), width, height)


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
        return converted(pixels, channels)

    def view(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> Pixels:
        """Rows `y0` to `y1` and columns `x0` to `x1`, ends exclusive; only these are read where that gives the same."""
        height, width, channels = self.shape
        if reduce != 1 or not (0 <= y0 < y1 <= height and 0 <= x0 < x1 <= width):
            raise ValueError(f"rows {y0} to {y1}, columns {x0} to {x1} at 1/{reduce} are not a part of {self.shape}")
        if (self.part.width, self.part.height) != (width, height):
            return self.array()[y0:y1, x0:x1]
        inner = Part(self.part.x + x0, self.part.y + y0, x1 - x0, y1 - y0)
        return converted(self.slide.read(self.level, inner), channels)


def window_of(
    slide: Pyramid, path: str, x: int, y: int, size: tuple[int, int], downsample: float, channels: int, max_pixels: int
) -> SlideWindow:
    """A window, to be read; `size` is its (width, height), other arguments as `source_of`.

    Raises:
        DataError: more than `max_pixels` of the slide would have to be read for it.
    """
    number, (width, height) = finer(slide.levels, downsample), size
    part = source_of(slide.levels[number], x, y, width, height, downsample)
    if part.width * part.height > max_pixels:
        raise DataError(
            f"a window of {width}×{height} px would be made of {part.width}×{part.height} px of level {number}, "
            f"more than the limit of {max_pixels:,}; its levels are {_listed(slide.levels)}",
            path,
        )
    return SlideWindow(slide, number, part, (height, width, channels))


def thumbnail(slide: Pyramid, downsample: float) -> Pixels:
    """The whole slide at a downsample, as far as that makes whole pixels, uint8 H×W×3 RGB; read in bands.

    A pixel lies where it should, but for half a pixel of the level, or an eighth of its own.
    """
    number = finer(slide.levels, downsample)
    level = slide.levels[number]
    ratio = max(downsample / level.downsample, 1.0)
    width, height = (max(int(side / ratio), 1) for side in (level.width, level.height))
    k = slide.reduces(number, int(ratio / 4))

    def within(pixels: int, side: int) -> int:
        """The end of so many pixels of the thumbnail, in reduced pixels of the level."""
        return min(round(pixels * ratio / k), max(side // k, 1))

    across = within(width, level.width)
    rows = max(int(_BAND / level.width / ratio), 1)
    out = np.empty((height, width, 3), np.uint8)
    for top in range(0, height, rows):
        bottom = min(top + rows, height)
        begin, end = within(top, level.height), within(bottom, level.height)
        band = slide.read(number, Part(0, begin * k, across * k, max(end - begin, 1) * k), k)
        out[top:bottom] = cv2.resize(band, (width, bottom - top), interpolation=cv2.INTER_AREA)
    return out
