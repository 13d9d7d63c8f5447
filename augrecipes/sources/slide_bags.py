"""Slides as bags: the windows of each are its tiles, known before one of them is read, as arrays that pickle small."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError, listed
from augrecipes.sources.bags import BagTable, label_files, labels_of_bags
from augrecipes.sources.columns import GivenTable, digest_of, number
from augrecipes.sources.paths import PathLike, PathTable
from augrecipes.sources.slides.listing import ListedSlide, Tissue, Windows, list_slides, slides_in
from augrecipes.sources.slides.opened import OPENED
from augrecipes.sources.slides.pyramid import Level, Pixels, SlideWindow, thumbnail, window_of

SLIDES = "slides"
"""Of a mapping that names slides and what is taken of them."""
_log = logging.getLogger("augrecipes")


def _tissue(text: str) -> Tissue:
    try:
        return None if text == "none" else float(text)
    except ValueError:
        return text


# What may stand beside slides=, and what makes a value of its text.
_WORDS: dict[str, Callable[[str], Any]] = {
    "tile": int, "mpp": float, "level": int, "stride": int, "tissue": _tissue, "min_tissue": float, "max_white": float,
    "regions": lambda text: tuple(name.strip() for name in text.split(",")), "slide_mpp": float, "labels": str,
}  # fmt: skip


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
        path, downsample = self.slides[bag], float(self.downsamples[bag])
        slide = OPENED.at(path, self.stamps[bag])
        return window_of(slide, path, x, y, self.tile, downsample, how["channels"] or 3, how["max_pixels"])

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


@dataclass(frozen=True)
class SlideFiles:
    """Slides that are yet to be listed.

    Attributes:
        slides: a pattern, a file, a folder, or several.
        windows: that are their tiles.
        labels: a CSV file with columns `bag` and `label`; None: `labels.csv` beside the slides, where there is one.
        check: whether a slide that cannot be opened is an error; otherwise it is a bag without tiles.
    """

    slides: PathLike | Sequence[PathLike]
    windows: Windows
    labels: PathLike | None = None
    check: bool = True

    def table(self) -> SlideTable:
        """The bags that they are.

        Raises:
            DataError: there are none, two of the same name, or with `check` broken ones; names all of them.
        """
        paths = slides_in(self.slides)
        names = [Path(path).stem for path in paths]
        if len(set(names)) < len(names):
            twice = [path for path, name in zip(paths, names, strict=True) if names.count(name) > 1]
            raise DataError(f"slides of the same name, which names their bags:{listed(twice)}")
        found = list_slides(paths, self.windows)
        lost = [one for one in found if isinstance(one, DataError)]
        if lost and (self.check or len(lost) == len(found)):
            what = f"{len(lost)} of {len(paths)} slides cannot be listed"
            more = ' (on_error="skip" passes over them)' if self.check and len(lost) < len(found) else ""
            raise lost[0] if len(lost) == len(paths) == 1 else DataError(f"{what}{more}:{listed(map(str, lost))}")
        for error in lost:
            _log.warning("slide left out: %s", error)
        none = np.zeros((0, 2), np.int64)
        fine = [one if isinstance(one, ListedSlide) else ListedSlide("", np.nan, none, one.reason) for one in found]
        coords = np.concatenate([none, *(one.places for one in fine)])
        offsets = np.cumsum([0, *(len(one.places) for one in fine)], dtype=np.int64)
        files = PathTable.from_paths(paths)
        folders = sorted({str(Path(path).parent) for path in paths})
        given = labels_of_bags(names, label_files(folders, self.labels), others=True)
        ids, classes, class_to_idx = (None, None, None) if given is None else number(given)
        return SlideTable(
            bags=PathTable.from_paths(names),
            files={"image": WindowPaths.made(files, offsets, coords)},
            offsets=offsets,
            coords=coords,
            folders=False,
            slides=files,
            stamps=tuple(one.stamp for one in fine),
            tile=self.windows.tile,
            downsamples=np.array([one.downsample for one in fine], np.float64),
            notes=tuple(one.note for one in fine),
            labels=ids,
            classes=None if classes is None else tuple(classes),
            class_to_idx=class_to_idx,
        )


def slides_of(named: Mapping[str, Any]) -> SlideFiles:
    """The slides that a mapping names, with arguments of `SlideBags`, each as it is or as text.

    Raises:
        DataError: a name that is none, or a value that makes no sense.

    >>> slides_of({"slides": "a.svs", "mpp": "1", "tissue": "none"}).windows.mpp
    1.0
    """
    strange = [name for name in named if name != SLIDES and name not in _WORDS]
    if strange:
        known = ", ".join(f"{name}=" for name in _WORDS)
        raise DataError(f"{', '.join(f'{name}=' for name in strange)}: beside slides= there may be {known}")
    try:
        said = {name: _value(name, value) for name, value in named.items() if name != SLIDES}
        labels = said.pop("labels", None)
        return SlideFiles(named[SLIDES], Windows(**said), labels)
    except (TypeError, ValueError) as error:
        raise DataError(f"what stands beside slides= makes no sense: {error}") from None


def _value(name: str, value: Any) -> Any:
    """What a word says, of text the value that is meant."""
    try:
        return _WORDS[name](value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError(f"{name}={value}, where a number is meant") from None
