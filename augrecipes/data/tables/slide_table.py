"""Slides as bags: the windows of each are its tiles, known before one of them is read, as arrays that pickle small."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.data.tables.bag_table import BagTable
from augrecipes.data.tables.table import GivenTable, digest_of
from augrecipes.errors import DataError
from augrecipes.sources.paths import PathTable
from augrecipes.sources.slides.level import Level, Pixels
from augrecipes.sources.slides.opened import OPENED
from augrecipes.sources.slides.windows import SlideWindow, thumbnail, window_of

_log = logging.getLogger("augrecipes")


@dataclass(frozen=True, eq=False, repr=False)
class WindowPaths(PathTable):
    """What windows are called: `a.svs[x=512,y=0]`, made when it is asked for.

    Attributes:
        slides: the files.
        of: int64 (n + 1,): windows `of[i]` to `of[i + 1]` are those of slide i.
        coords: int64 (m, 2), their corners.
    """

    slides: PathTable
    of: npt.NDArray[np.int64]
    coords: npt.NDArray[np.int64]

    @classmethod
    def made(cls, slides: PathTable, of: npt.NDArray[np.int64], coords: npt.NDArray[np.int64]) -> WindowPaths:
        """The names of windows."""
        nothing = np.zeros(0, np.int64)
        return cls((b"",), b"", nothing, nothing.astype(np.int32), slides, of, coords)

    def __len__(self) -> int:
        return len(self.coords)

    def slide_of(self, window: int) -> int:
        """The slide of a window."""
        return int(np.searchsorted(self.of, window, side="right")) - 1

    def encoded(self, index: int) -> bytes:
        """As every table."""
        window = self._checked(index)
        return self.slides.encoded(self.slide_of(window)) + self._place(window)

    def name(self, index: int) -> str:
        """As every table."""
        window = self._checked(index)
        return self.slides.name(self.slide_of(window)) + os.fsdecode(self._place(window))

    def take(self, indices: Any) -> PathTable:
        """As every table; the names are made."""
        chosen = np.arange(len(self))[indices if isinstance(indices, np.ndarray) else list(indices)]
        return PathTable.from_names([self.encoded(int(k)) for k in chosen])

    def _place(self, window: int) -> bytes:
        x, y = self.coords[window].tolist()
        return f"[x={x},y={y}]".encode()


@dataclass(frozen=True, eq=False, kw_only=True)
class SlideTable(GivenTable, BagTable):
    """Slides, and the windows of each that are its tiles.

    Attributes:
        slides: their files.
        stamps: what tells each from a file that takes its place.
        tile: side of a window, in its own px.
        downsamples: float64 (n,): so many pixels of level 0 are one of a window; not a number where a slide is broken.
        notes: how each came by its tiles, or what is wrong with it.
    """

    slides: PathTable
    stamps: tuple[str, ...]
    tile: int
    downsamples: npt.NDArray[np.float64]
    notes: tuple[str, ...]

    on_slides = True

    def path(self, bag: int) -> str:
        """The file of a slide."""
        return self.slides[bag]

    def about(self, bag: int) -> str:
        """As every table of bags."""
        return f": {self.notes[bag]}"

    def digest(self) -> str:
        """16 hex digits that name the slides and their windows."""
        names = [self.bags.blob, self.bags.offsets, " ".join(self.stamps).encode(), str(self.tile).encode()]
        return digest_of(*names, self.offsets, self.coords, self.downsamples, self.labels)

    def _window(self, bag: int, x: int, y: int, how: Mapping[str, Any]) -> SlideWindow:
        path, side = self.slides[bag], (self.tile, self.tile)
        slide, downsample = OPENED.at(path, self.stamps[bag]), float(self.downsamples[bag])
        return window_of(slide, path, x, y, side, downsample, how["channels"] or 3, how["max_pixels"])

    def parts(
        self, unit: int, inputs: Any, *, undecoded: bool = False, **how: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a pipeline takes of a window. Of the arguments of reading, `channels` and `max_pixels` count."""
        del inputs
        bag, _ = self.place(unit)
        assert self.coords is not None
        x, y = self.coords[unit].tolist()
        window = self._window(bag, x, y, how)
        return {"image": window if undecoded else window.array()}, {}

    def stamp(self, unit: int) -> str:
        """What tells the pixels of a window from others that may be read for it another day."""
        bag, _ = self.place(unit)
        assert self.coords is not None
        x, y = self.coords[unit].tolist()
        return f"{self.stamps[bag]} {x} {y} {self.tile} {float(self.downsamples[bag])!r}"

    def overview(self, bag: int, longest: int) -> tuple[Pixels, Level, float] | None:
        """As every table of bags; None where the slide cannot be read."""
        try:
            slide = OPENED.at(self.slides[bag], self.stamps[bag])
            level = slide.levels[0]
            picture = thumbnail(slide, max(max(level.width, level.height) / longest, 1.0))
        except DataError as error:
            _log.warning("%s", error)
            return None
        return picture, level, self.tile * float(self.downsamples[bag])


def joined(found: Sequence[npt.NDArray[np.int64]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The windows of all slides one after another, and where those of each begin.

    >>> [part.tolist() for part in joined([np.zeros((1, 2), np.int64), np.ones((2, 2), np.int64)])]
    [[[0, 0], [1, 1], [1, 1]], [0, 1, 3]]
    """
    offsets = np.concatenate([[0], np.cumsum([len(places) for places in found])]).astype(np.int64)
    return np.concatenate([np.zeros((0, 2), np.int64), *found]), offsets
