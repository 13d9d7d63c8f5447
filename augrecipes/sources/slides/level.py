"""What is asked of a slide, whatever reads it: levels, their sizes, and parts of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError

Size = tuple[int, int]
Pixels = NDArray[np.uint8]
WHITE = 255


@dataclass(frozen=True, slots=True)
class Level:
    """One picture of a pyramid.

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
        """What of it lies on a level of that size; empty where nothing does."""
        x, y = min(max(self.x, 0), width), min(max(self.y, 0), height)
        right, bottom = min(max(self.x + self.width, x), width), min(max(self.y + self.height, y), height)
        return Part(x, y, right - x, bottom - y)

    @property
    def empty(self) -> bool:
        """Whether it holds no pixel."""
        return self.width < 1 or self.height < 1


class Pyramid(Protocol):
    """Reads parts of levels; from several threads at once."""

    @property
    def levels(self) -> tuple[Level, ...]:
        """The pictures of the pyramid, the largest first."""

    @property
    def mpp(self) -> tuple[float, float] | None:
        """Micrometres a pixel of level 0, across and down; None where the file does not say."""

    def read(self, level: int, part: Part, reduce: int = 1) -> Pixels:
        """A part of a level, uint8 H×W×3 RGB; white where the slide ends.

        Args:
            level: number of it.
            part: of it.
            reduce: 1; or 2, 4 or 8, as far as `reduces` allows it: each pixel is about the mean of so many rows and
                columns, and the part begins and ends at multiples of it.

        Raises:
            DataError: the file is damaged there; names it.
        """

    def reduces(self, level: int, most: int) -> int:
        """The largest `reduce` up to `most` that a level is read with."""


def levels_of(sizes: Sequence[Size]) -> tuple[Level, ...]:
    """Levels by their (width, height), the largest first.

    >>> [level.downsample for level in levels_of([(1000, 800), (250, 200)])]
    [1.0, 4.0]
    """
    (width, height), *_ = sizes
    return tuple(Level(w, h, (width / w + height / h) / 2) for w, h in sizes)


def needed(name: str) -> ModuleType:
    """A module of the extra `slides`; DataError where it is not installed."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise DataError(f"reading slides needs {name}: pip install 'augrecipes[slides]' ({error})") from None
