"""Lists slides: which files, at which resolution, and which of their windows show tissue."""

from __future__ import annotations

import glob
import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.data.tables.bag_table import label_files, labels_of_bags
from augrecipes.data.tables.labels import number
from augrecipes.data.tables.problems import listed
from augrecipes.data.tables.slide_cache import FoundWindows, SlideCache, state_of
from augrecipes.data.tables.slide_table import SlideTable, WindowPaths, joined
from augrecipes.errors import DataError
from augrecipes.machine import cores
from augrecipes.sources.files import read_mask
from augrecipes.sources.paths import PathLike, PathTable
from augrecipes.sources.slides.dicom import one_of_each_series
from augrecipes.sources.slides.level import Level, Pixels
from augrecipes.sources.slides.opened import OPENED, stamp_of_slide
from augrecipes.sources.slides.regions import mask_of_regions
from augrecipes.sources.slides.tissue import Grid, Mask, Places, mask_over, tissue_by_saturation, white_in
from augrecipes.sources.slides.windows import Resolution, thumbnail

_log = logging.getLogger("augrecipes")
EXTENSIONS = frozenset(
    [".svs", ".tif", ".tiff", ".btf", ".ndpi", ".vms", ".vmu", ".scn", ".mrxs", ".bif", ".svslide", ".czi", ".dcm"]
)
"""What slides in a folder are called."""
_REGIONS = (".geojson", ".json")
_MASKS = (*_REGIONS, ".png", ".tif", ".tiff", ".jpg", ".jpeg", ".bmp")
_CELLS = 8  # px of a thumbnail along a window, at least where
_LONGEST = 4096  # no side of it would be longer
Tissue = str | float | None


@dataclass(frozen=True)
class Windows:
    """Which windows of slides are taken.

    Attributes:
        tile: their side, in their own px.
        stride: from one to the next, in the same px.
        resolution: of their pixels.
        slide_mpp: micrometres a pixel of level 0, where slides do not say, or say what is wrong.
        tissue: `otsu`; a threshold of saturation, 0 to 1; a mask file or GeoJSON; a folder of such; None: all windows.
        min_tissue: the share of a window that is tissue, at least.
        max_white: the share of a window that is white, at most.
        regions: classes of regions in GeoJSON; None: all.
        max_pixels: of a mask file, and of what a window is made of.
    """

    tile: int
    stride: int
    resolution: Resolution
    slide_mpp: float | None
    tissue: Tissue
    min_tissue: float
    max_white: float
    regions: tuple[str, ...] | None
    max_pixels: int

    def __post_init__(self) -> None:
        if isinstance(self.tissue, bool) or (isinstance(self.tissue, int | float) and not 0 < self.tissue < 1):
            raise ValueError(f"a threshold of tissue= lies between 0 and 1, got {self.tissue}")
        for name, value in (("min_tissue", self.min_tissue), ("max_white", self.max_white)):
            if not 0 <= value <= 1:
                raise ValueError(f"{name} is a share, 0 to 1, got {value}")
        if self.slide_mpp is not None and not 0 < self.slide_mpp < np.inf:
            raise ValueError(f"slide_mpp must be more than 0, got {self.slide_mpp}")
        if self.regions is not None and not _is_path(self.tissue):
            raise ValueError("regions= names classes of annotations: tissue= is a GeoJSON file, or a folder of them")


@dataclass(frozen=True)
class SlideFiles:
    """Slides that are yet to be listed; arguments of `table_of_slides`."""

    slides: PathLike | Sequence[PathLike]
    windows: Windows
    labels: PathLike | None = None
    check: bool = True

    def table(self) -> SlideTable:
        """The bags that they are."""
        return table_of_slides(self.slides, self.windows, self.labels, check=self.check)


@dataclass(frozen=True)
class _ListedSlide:
    stamp: str
    downsample: float
    places: Places
    note: str


def table_of_slides(
    slides: PathLike | Sequence[PathLike], windows: Windows, labels: PathLike | None = None, *, check: bool = True
) -> SlideTable:
    """The bags that slides are.

    Args:
        slides: a pattern, a file, a folder, or several.
        windows: that are its tiles.
        labels: a CSV file with columns `bag` and `label`; None: `labels.csv` beside the slides, where there is one.
        check: whether a slide that cannot be opened is an error now; otherwise it is a bag without tiles.

    Raises:
        DataError: there are none, two of the same name, or with `check` broken ones; names all of them.
    """
    paths = slides_in(slides)
    cache = SlideCache(windows, paths)
    folders: dict[Path, str | None] = {}
    names = [Path(path).stem for path in paths]
    if len(set(names)) < len(names):
        twice = [path for path, name in zip(paths, names, strict=True) if names.count(name) > 1]
        raise DataError(f"slides of the same name, which names their bags:{listed(twice)}")
    with ThreadPoolExecutor(cores()) as pool:
        found = list(pool.map(lambda path: _found_in(path, windows, cache, folders), paths))
    cache.save()
    lost = [one for one in found if isinstance(one, DataError)]
    if lost and (check or len(lost) == len(found)):
        what = f"{len(lost)} of {len(paths)} slides cannot be listed"
        more = ' (on_error="skip" passes over them)' if check and len(lost) < len(found) else ""
        raise lost[0] if len(lost) == len(paths) == 1 else DataError(f"{what}{more}:{listed(map(str, lost))}")
    for error in lost:
        _log.warning("slide left out: %s", error)
    fine = [
        one if isinstance(one, _ListedSlide) else _ListedSlide("", np.nan, np.zeros((0, 2), np.int64), one.reason)
        for one in found
    ]
    coords, offsets = joined([one.places for one in fine])
    files = PathTable.from_paths(paths)
    given = labels_of_bags(names, label_files(sorted({str(Path(path).parent) for path in paths}), labels), others=True)
    ids, classes, class_to_idx = (None, None, None) if given is None else number(given)
    return SlideTable(
        bags=PathTable.from_paths(names),
        files={"image": WindowPaths.made(files, offsets, coords)},
        offsets=offsets,
        coords=coords,
        folders=False,
        slides=files,
        stamps=tuple(one.stamp for one in fine),
        tile=windows.tile,
        downsamples=np.array([one.downsample for one in fine], np.float64),
        notes=tuple(one.note for one in fine),
        labels=ids,
        classes=None if classes is None else tuple(classes),
        class_to_idx=class_to_idx,
    )


def slides_in(given: PathLike | Sequence[PathLike]) -> list[str]:
    """The files that patterns, folders and paths name, each once, in the order given, and by name in each.

    Of the DICOM files in a folder that are one series, and so one slide, it is the first.

    Raises:
        DataError: one of them names none.
    """
    several = [given] if isinstance(given, str | bytes | os.PathLike) else list(given)
    found: dict[str, None] = {}
    for text in map(os.fsdecode, several):
        try:
            files = _files(text)
        except OSError as error:
            raise DataError(f"cannot be listed: {error.strerror or error}", text) from None
        found.update(dict.fromkeys(files))
    if not found:
        raise ValueError("an empty list of slides")
    return one_of_each_series(found)


def _files(text: str) -> list[str]:
    """The slides that a pattern, a folder or a path names; in folders and by patterns none that are hidden."""
    path = Path(text)
    if path.is_dir():
        there = (file for file in path.iterdir() if not file.name.startswith("."))
        files = sorted(str(file) for file in there if file.suffix.lower() in EXTENSIONS)
        if not files:
            raise DataError(f"there are no slides here ({', '.join(sorted(EXTENSIONS))})", text)
        return files
    if path.exists():
        return [text]
    files = sorted(file for file in glob.glob(text, recursive=True) if Path(file).is_file())  # noqa: PTH207
    if not files:
        raise DataError("no such slide", text)
    return files


def _found_in(
    path: str, windows: Windows, cache: SlideCache, folders: dict[Path, str | None]
) -> _ListedSlide | DataError:
    try:
        stamp = stamp_of_slide(path)
        state = state_of(path, _mask_of(path, windows), folders)
        kept = cache.get(path, state)
        OPENED.forget(path, stamp)
        if kept is None:
            slide = OPENED.at(path, stamp)
            first = slide.levels[0]
            downsample = windows.resolution.downsample(slide, path, windows.slide_mpp)
        else:
            first, downsample = Level(kept.width, kept.height, 1.0), kept.downsample
        grid = Grid(windows.tile * downsample, windows.stride * downsample)
        places = grid.places(first)
        if kept is not None and len(kept.taken) == len(places):
            return _ListedSlide(stamp, downsample, places[kept.taken], _note(grid, first, kept.taken))
        slide = OPENED.at(path, stamp)
        taken = _taken(path, windows, grid, first, lambda at: thumbnail(slide, at), places)
    except DataError as error:
        return error
    cache.put(path, state, FoundWindows(first.width, first.height, downsample, taken))
    return _ListedSlide(stamp, downsample, places[taken], _note(grid, first, taken))


def _note(grid: Grid, slide: Level, taken: npt.NDArray[np.bool_]) -> str:
    """How a slide came by its tiles."""
    fit = f"{len(taken)} windows of {grid.side:.6g}² px of level 0 fit on its {slide.width}×{slide.height}"
    if taken.all():
        return fit
    return f"{fit}, and {taken.sum()} show tissue enough, and not too much white (tissue=, min_tissue=, max_white=)"


def _taken(
    path: str, windows: Windows, grid: Grid, slide: Level, small: Callable[[float], Pixels], places: Places
) -> npt.NDArray[np.bool_]:
    """Which windows are kept."""
    if not len(places) or (windows.tissue is None and windows.max_white == 1):
        return np.ones(len(places), bool)
    picture = small(max(grid.side / _CELLS, max(slide.width, slide.height) / _LONGEST, 1.0))
    taken = grid.shares(white_in(picture), places, slide) <= windows.max_white
    if windows.tissue is not None:
        mask = _tissue(path, windows, slide, picture)
        taken &= grid.shares(mask, places, slide) >= max(windows.min_tissue, np.finfo(float).tiny)
    return taken


def _tissue(path: str, windows: Windows, slide: Level, picture: Pixels) -> Mask:
    if isinstance(windows.tissue, int | float):
        return tissue_by_saturation(picture, windows.tissue)
    if not _is_path(windows.tissue):
        return tissue_by_saturation(picture)
    file = _mask_of(path, windows) or ""
    if Path(file).suffix.lower() in _REGIONS:
        found: Mask = mask_of_regions(file, slide, picture.shape[:2], windows.regions)
        return found
    return mask_over(read_mask(file, exif="ignore", max_pixels=windows.max_pixels), slide, file)


def _mask_of(path: str, windows: Windows) -> str | None:
    """The file that says where the tissue of a slide is; None where its pixels do."""
    return mask_file(path, os.fsdecode(str(windows.tissue))) if _is_path(windows.tissue) else None


def _is_path(tissue: Any) -> bool:
    return tissue is not None and not isinstance(tissue, int | float) and tissue != "otsu"


def mask_file(slide: str, given: str) -> str:
    """The mask or the regions of a slide: a file, a template with `{stem}`, or a folder with a file of its name.

    A template without a folder lies beside the slide.

    Raises:
        DataError: there is none.

    >>> mask_file("slides/a.svs", "masks/{stem}.png").replace(os.sep, "/")
    'masks/a.png'
    >>> mask_file("slides/a.svs", "{stem}.geojson").replace(os.sep, "/")
    'slides/a.geojson'
    """
    stem, path = Path(slide).stem, Path(given)
    if "{stem}" in given:
        named = Path(given.replace("{stem}", stem))
        return str(named if named.parent != Path() else Path(slide).parent / named)
    if not path.is_dir():
        if not path.exists():
            raise DataError('no such file; tissue= may also be "otsu", a number between 0 and 1, or None', given)
        return given
    for suffix in _MASKS:
        if (file := path / f"{stem}{suffix}").is_file():
            return str(file)
    raise DataError(f"has no mask and no regions in {given}: {stem} with {', '.join(_MASKS)} is looked for", slide)
