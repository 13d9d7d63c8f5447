"""Windows of slides at any resolution: from the level itself, or reduced from the next finer one.

A window is told by its corner in pixels of level 0, its side in pixels of its own, and its downsample: so many pixels
of level 0 are one of it. A level whose own downsample is within one per cent is taken as it is: micrometres a pixel are
not known better. Otherwise the pixels of the coarsest level that is finer are averaged over areas; a corner between two
of them goes to the nearer one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np

from augrecipes.errors import DataError
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


def read_window(
    slide: Pyramid, path: str, x: int, y: int, width: int, height: int, downsample: float, max_pixels: int
) -> Pixels:
    """A window, uint8 H×W×3 RGB; white where the slide ends. Arguments as `source_of`.

    Raises:
        DataError: the slide is damaged there, or more than `max_pixels` of it would have to be read.
    """
    number = finer(slide.levels, downsample)
    part = source_of(slide.levels[number], x, y, width, height, downsample)
    if part.width * part.height > max_pixels:
        raise DataError(
            f"a window of {width}×{height} px would be made of {part.width}×{part.height} px of level {number}, "
            f"more than the limit of {max_pixels:,}; its levels are {_listed(slide.levels)}",
            path,
        )
    pixels = slide.read(number, part)
    if (part.width, part.height) == (width, height):
        return pixels
    return np.asarray(cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA), np.uint8)


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
