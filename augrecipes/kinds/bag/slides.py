"""Lists slides as bags whose tiles are windows, as arrays that pickle small, before any window is read."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError, as_lines, logger
from augrecipes.kinds.bag.table import BagTable, label_files, labels_of_bags
from augrecipes.kinds.bag.tiles import rule_of
from augrecipes.recipe.model import Bag
from augrecipes.sources import columns, defects
from augrecipes.sources.paths import PathLike, PathTable
from augrecipes.sources.slides import pyramid, tissue
from augrecipes.sources.slides.listing import ListedSlide, Windows, list_slides, slides_in
from augrecipes.sources.slides.opened import OPENED

Int64 = npt.NDArray[np.int64]
_SLIDES = "slides"  # the key of the slides in a mapping of arguments


def _as_tissue(text: str) -> tissue.Tissue:
    with suppress(ValueError):
        return float(text)
    return None if text == "none" else text


# The arguments of `SlideBags` that may stand beside slides=, and functions that parse them from text.
_PARSERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("tile", "level", "stride"), int),
    **dict.fromkeys(("mpp", "min_tissue", "max_white", "slide_mpp"), float),
    "tissue": _as_tissue,
    "regions": lambda text: tuple(name.strip() for name in text.split(",")),
    "labels": str,
}


@dataclass(frozen=True, eq=False, repr=False)
class WindowPaths(PathTable):
    """The names of windows, `a.svs[x=512,y=0]`, composed on demand.

    Attributes:
        slides: the slides' files.
        window_offsets: int64 (n + 1,): windows `window_offsets[i]:window_offsets[i + 1]` belong to slide i.
        coords: int64 (m, 2), the top left corner (x, y) of each window.
    """

    slides: PathTable
    window_offsets: Int64
    coords: Int64

    @classmethod
    def of_slides(
        cls, slides: PathTable, window_offsets: npt.NDArray[np.int64], coords: npt.NDArray[np.int64]
    ) -> "WindowPaths":
        """Make the table of the windows of slides."""
        empty = np.zeros(0, np.int64)
        return cls((b"",), b"", empty, empty.astype(np.int32), slides, window_offsets, coords)

    def __len__(self) -> int:
        return len(self.coords)

    def slide_of(self, window: int) -> int:
        """The number of the slide that a window belongs to."""
        return int(np.searchsorted(self.window_offsets, window, side="right")) - 1

    def encoded(self, index: int) -> bytes:
        """The name of a window with its slide's path, as bytes."""
        window = self._normalised(index)
        return self.slides.encoded(self.slide_of(window)) + self._place(window)

    def name(self, index: int) -> str:
        """The name of a window with its slide's name."""
        window = self._normalised(index)
        return self.slides.name(self.slide_of(window)) + os.fsdecode(self._place(window))

    def take(self, indices: Any) -> PathTable:
        """A plain table of the names of some windows."""
        chosen = np.arange(len(self))[indices if isinstance(indices, np.ndarray) else list(indices)]
        return PathTable.from_names([self.encoded(int(k)) for k in chosen])

    def _place(self, window: int) -> bytes:
        x, y = self.coords[window].tolist()
        return f"[x={x},y={y}]".encode()


@dataclass(frozen=True, eq=False, kw_only=True)
class SlideTable(columns.ArrayTable, BagTable):
    """Slides, and the windows of each that are its tiles.

    Attributes:
        slides: the slides' files.
        stamps: the stamp of each file, which changes when the file is replaced.
        tile: side of a window, px of the window.
        downsamples: float64 (n,): pixels of level 0 along a pixel of a window; NaN where a slide is broken.
    """

    slides: PathTable
    stamps: tuple[str, ...]
    tile: int
    downsamples: npt.NDArray[np.float64]

    on_slides = True

    def path(self, bag: int) -> str:
        """The file of a slide."""
        return self.slides[bag]

    def digest(self) -> str:
        """16 hex digits that name the slides and their windows."""
        names = [self.bags.blob, self.bags.offsets, " ".join(self.stamps).encode(), str(self.tile).encode()]
        return columns.digest_of(*names, self.offsets, self.coords, self.downsamples, self.labels)

    def parts(
        self, unit: int, inputs: Any, *, undecoded: bool = False, **how: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read a window as the targets of a pipeline; of the read arguments, `channels` and `max_pixels` count."""
        bag, x, y, downsample = self._corner(unit)
        path, slide = self.slides[bag], OPENED.at(self.slides[bag], self.stamps[bag])
        window = pyramid.window_of(slide, path, x, y, self.tile, downsample, how["channels"] or 3, how["max_pixels"])
        return {"image": window if undecoded else window.array()}, {}

    def stamp(self, unit: int) -> str:
        """The stamp of a window's pixels, which changes when they may."""
        bag, x, y, downsample = self._corner(unit)
        return f"{self.stamps[bag]} {x} {y} {self.tile} {downsample!r}"

    def _corner(self, unit: int) -> tuple[int, int, int, float]:
        """The number of a window's slide, the window's corner (x, y), and its downsample."""
        assert self.coords is not None
        (bag, _), (x, y) = self.place(unit), self.coords[unit].tolist()
        return bag, x, y, float(self.downsamples[bag])

    def overview(self, bag: int, longest: int) -> tuple[pyramid.Pixels, pyramid.Level, float] | None:
        """A thumbnail of the slide, its level 0, and the side of a tile; None where the slide cannot be read."""
        try:
            slide = OPENED.at(self.slides[bag], self.stamps[bag])
            level = slide.levels[0]
            image = pyramid.thumbnail(slide, max(max(level.width, level.height) / longest, 1.0))
        except DataError as error:
            logger.warning("%s", error)
            return None
        return image, level, self.tile * float(self.downsamples[bag])


@dataclass(frozen=True)
class SlideFiles:
    """Slides that are not listed yet.

    Attributes:
        slides: a glob pattern, a file, a folder, or a list of these.
        windows: which windows are tiles.
        labels: a CSV file with columns `bag` and `label`; None: `labels.csv` beside the slides, where there is one.
    """

    slides: PathLike | Sequence[PathLike]
    windows: Windows
    labels: PathLike | None = None

    def table(self, *, check: bool = True, rule: Bag | None = None) -> SlideTable:
        """List the slides and their windows, by the `bag:` of a recipe as `rule`.

        With `check` a slide that cannot be opened is an error, else a bag without tiles.

        Raises:
            DataError: no slides, slides of the same name, or with `check` slides that cannot be opened: all are named.
        """
        paths = slides_in(self.slides)
        names = [Path(path).stem for path in paths]
        if twice := [path for path, name in zip(paths, names, strict=True) if names.count(name) > 1]:
            raise DataError(f"slides of the same name, which names their bags:{as_lines(twice)}")
        windows = self.windows.resolved(rule, slides=True)
        results = list_slides(paths, windows)
        errors = [result for result in results if isinstance(result, DataError)]
        if errors and (check or len(errors) == len(paths)):
            text = f"{len(errors)} of {len(paths)} slides cannot be listed"
            text += ' (on_error="skip" passes over them)' if check and len(errors) < len(paths) else ""
            raise errors[0] if len(errors) == len(paths) == 1 else DataError(f"{text}:{as_lines(map(str, errors))}")
        for error in errors:
            logger.warning("slide left out: %s", error)
        empty = np.zeros((0, 2), np.int64)
        slides = [slide if isinstance(slide, ListedSlide) else ListedSlide("", np.nan, empty, slide.reason)
                  for slide in results]  # fmt: skip
        coords = np.concatenate([empty, *(slide.places for slide in slides)])
        offsets = np.cumsum([0, *(len(slide.places) for slide in slides)], dtype=np.int64)
        files = PathTable.from_paths(paths)
        folders = sorted({str(Path(path).parent) for path in paths})
        findings = defects.Findings()
        labels = labels_of_bags(names, label_files(folders, self.labels), findings, others=True)
        findings.refuse()
        return SlideTable(
            bags=PathTable.from_paths(names),
            files={"image": WindowPaths.of_slides(files, offsets, coords)},
            offsets=offsets,
            coords=coords,
            folders=False,
            slides=files,
            stamps=tuple(slide.stamp for slide in slides),
            tile=self.windows.tile,
            downsamples=np.array([slide.downsample for slide in slides], np.float64),
            foreground=rule_of(windows),
            notes=tuple(slide.note for slide in slides),
            **labels,
        )


def slides_of(named: Mapping[str, Any]) -> SlideFiles:
    """Read slides from a mapping: `slides`, and arguments of `SlideBags` as values or as text.

    Raises:
        DataError: an unknown argument, or a value that it cannot have.

    >>> slides_of({"slides": "a.svs", "mpp": "1", "tissue": "none"}).windows.mpp
    1.0
    """
    options = {name: value for name, value in named.items() if name != _SLIDES}
    if unknown := [name for name in options if name not in _PARSERS]:
        known = ", ".join(f"{name}=" for name in _PARSERS)
        raise DataError(f"{', '.join(f'{name}=' for name in unknown)}: unknown beside slides=, which takes {known}")
    try:
        values = {name: _PARSERS[name](value) if isinstance(value, str) else value for name, value in options.items()}
        labels = values.pop("labels", None)
        return SlideFiles(named[_SLIDES], Windows(**values), labels)
    except (TypeError, ValueError) as error:
        text = ", ".join(f"{name}={value}" for name, value in options.items())
        raise DataError(f"wrong arguments beside slides= ({text}): {error}") from None
