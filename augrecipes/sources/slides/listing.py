"""Lists slides: the files, their resolution, and the windows that show tissue.

The windows of a slide are cached between runs, one bit per window, as long as its files are unchanged: listing opens a
slide once, not at each start.
"""

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np

from augrecipes import cache, machine
from augrecipes.errors import DataError
from augrecipes.ops.registry import foregrounds
from augrecipes.recipe.model import Bag
from augrecipes.sources.files import MAX_PIXELS, read_mask
from augrecipes.sources.paths import PathLike
from augrecipes.sources.slides import tissue as tissues
from augrecipes.sources.slides.opened import OPENED
from augrecipes.sources.slides.pyramid import Level, Pixels, find_downsample, thumbnail

EXTENSIONS = frozenset([".svs", ".tif", ".tiff", ".btf", ".ndpi", ".scn", ".mrxs", ".bif", ".svslide", ".czi"])
"""Extensions of slides in a folder."""
MPP = 0.5
"""Default resolution in micrometres per pixel: what scanners call 20×."""
_REGIONS = (".geojson", ".json")
_MASKS = (*_REGIONS, ".png", ".tif", ".tiff", ".jpg", ".jpeg", ".bmp")
_SEVERAL_FILES = (".mrxs", ".dcm")  # their pixels lie in other files, so the listing is not cached
_CELLS = 8  # px of the thumbnail along a window,
_LONGEST = 4096  # unless a side of the thumbnail would be longer than this
_RULES = 4  # version of the selection of windows, part of the cache key
RECIPE = "recipe"  # the value of `tissue=` for: as the recipe says
_MIN_TISSUE, _MAX_WHITE = 0.5, 0.8


@dataclass(frozen=True)
class Windows:
    """Which windows of slides to take; for tiles in files only the selection by tissue applies.

    Attributes:
        tile: the side of a window, in its own px.
        mpp: the resolution of windows, micrometres per pixel; `MPP` by default, unless `level` is given.
        level: the slide's own level to take windows of, instead of `mpp`.
        stride: the distance between windows, in their px; None: side by side.
        tissue: `otsu`; a threshold of saturation, 0 to 1; a function of a thumbnail, or the name of a registered one; a
            mask file or GeoJSON; a folder of these; None or `none`: all windows; `recipe`: as the recipe says.
        min_tissue: the least fraction of a window that is tissue; None: as the recipe says.
        max_white: the largest fraction of a window that is white; None: as the recipe says.
        regions: classes of regions in GeoJSON; None: all.
        slide_mpp: micrometres per pixel of level 0, for slides that lack it or have it wrong.
        max_pixels: the limit for a mask file, and for the pixels that one window is made of.

    Raises:
        ValueError: an argument is out of range, or excludes another.
    """

    tile: int = 256
    mpp: float | None = None
    level: int | None = None
    stride: int | None = None
    tissue: tissues.Tissue = RECIPE
    min_tissue: float | None = None
    max_white: float | None = None
    regions: Sequence[str] | None = None
    slide_mpp: float | None = None
    max_pixels: int = MAX_PIXELS

    def __post_init__(self) -> None:
        if self.mpp is None and self.level is None:
            object.__setattr__(self, "mpp", MPP)
        for name, least in (("tile", 1), ("stride", 1), ("level", 0)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not hasattr(value, "__index__") or value < least):
                raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
        if self.mpp is not None and self.level is not None:
            raise ValueError("give either mpp= (micrometres a pixel) or level= (one of the slide's own)")
        for name, value in (("mpp", self.mpp), ("slide_mpp", self.slide_mpp)):
            if value is not None and not 0 < value < np.inf:
                raise ValueError(f"{name} must be more than 0, got {value}")
        if isinstance(self.tissue, bool) or (isinstance(self.tissue, int | float) and not 0 < self.tissue < 1):
            raise ValueError(f"a threshold of tissue= lies between 0 and 1, got {self.tissue}")
        for name, value in (("min_tissue", self.min_tissue), ("max_white", self.max_white)):
            if value is not None and not 0 <= value <= 1:
                raise ValueError(f"{name} is a share, 0 to 1, got {value}")
        if isinstance(self.regions, str):
            raise ValueError(f"regions= is a list of names, got {self.regions!r}")
        if self.regions is not None and not self.tissue_is_path:
            raise ValueError("regions= names classes of annotations: tissue= is a GeoJSON file, or a folder of them")

    @property
    def tissue_is_path(self) -> bool:
        """Whether `tissue` names files."""
        return isinstance(self.tissue, str | os.PathLike) and self.tissue not in ("otsu", "none", RECIPE)

    def resolved(self, rule: Bag | None, *, slides: bool) -> "Windows":
        """The same with open settings filled in from a recipe's `bag:`, and for `slides` from the defaults.

        >>> Windows(min_tissue=0.3).resolved(Bag(tissue="none"), slides=True).max_white
        0.8
        """
        rule, tissue = rule or Bag(), self.tissue
        if tissue == RECIPE:
            tissue = rule.tissue or ("otsu" if slides else None)
        if isinstance(tissue, str):
            tissue = None if tissue == "none" else foregrounds().get(tissue, tissue)
        least = (self.min_tissue, rule.min_tissue, _MIN_TISSUE)
        most = (self.max_white, rule.max_white, _MAX_WHITE if slides or tissue is not None else 1.0)
        shares = [next(share for share in options if share is not None) for options in (least, most)]
        return replace(self, tissue=tissue, min_tissue=shares[0], max_white=shares[1])


@dataclass(frozen=True)
class ListedSlide:
    """A slide, and the windows taken of it.

    Attributes:
        stamp: the fingerprint of its file, which differs when the file is replaced.
        downsample: px of level 0 per px of a window.
        places: corners (x, y) of windows, px of level 0, int64 (n, 2).
        note: how many windows fit and were chosen, and why.
    """

    stamp: str
    downsample: float
    places: tissues.Places
    note: str


def list_slides(paths: Sequence[str], windows: Windows) -> list[ListedSlide | DataError]:
    """List the slides at paths, in threads; an error stands for a slide that cannot be listed."""

    def listed(path: str) -> ListedSlide | DataError:
        try:
            return _list_slide(path, windows)
        except DataError as error:
            return error
        except OSError as error:  # deleted meanwhile
            return DataError(f"cannot be read: {error.strerror or error}", path)

    return [*machine.in_threads(listed, paths, machine.cores())]


def slides_in(slides: PathLike | Sequence[PathLike]) -> list[str]:
    """The files that patterns, folders and paths name, without repeats: in the given order, sorted by name in each.

    Raises:
        DataError: a pattern, folder or path has no slide.
    """
    patterns = [slides] if isinstance(slides, str | bytes | os.PathLike) else list(slides)
    files: dict[str, None] = {}
    for text in map(os.fsdecode, patterns):
        try:
            files.update(dict.fromkeys(_files(text)))
        except OSError as error:
            raise DataError(f"cannot be listed: {error.strerror or error}", text) from None
    if not files:
        raise ValueError("an empty list of slides")
    return list(files)


def _files(text: str) -> list[str]:
    """The slides that a pattern, a folder or a path names; hidden files only by their path."""
    path = Path(text)
    if path.is_dir():
        visible = (file for file in path.iterdir() if not file.name.startswith("."))
        files = sorted(str(file) for file in visible if file.suffix.lower() in EXTENSIONS)
        if not files:
            raise DataError(f"there are no slides here ({', '.join(sorted(EXTENSIONS))})", text)
        return files
    if path.exists():
        return [text]
    files = sorted(file for file in glob.glob(text, recursive=True) if Path(file).is_file())  # noqa: PTH207
    if not files:
        raise DataError("no such slide", text)
    return files


def _list_slide(path: str, windows: Windows) -> ListedSlide:
    stamp, mask = cache.stamp_of_file(path, "slide"), None
    if windows.tissue_is_path:
        mask = mask_file(path, os.fsdecode(str(windows.tissue)))
    state = slide_state(path, mask)
    OPENED.forget((path, stamp))
    text = f"{_RULES} {windows!r}"
    arguments = blake2b(text.encode(errors="surrogateescape"), digest_size=16).hexdigest()
    state = None if callable(windows.tissue) else state  # a function may depend on more than its text
    key = arguments if state is None else f"{cache.identity(path)}-{arguments}"
    known = cache.memo(cache.SLIDES, key, state, lambda: _choose_windows(path, stamp, windows, mask))
    width, height = known["size"].tolist()
    downsample = float(known["downsample"])
    grid = _grid(windows, downsample)
    places = grid.places(Level(width, height, 1.0))
    chosen = np.unpackbits(known["taken"], count=len(places)).astype(bool)
    note = f"{len(chosen)} windows of {grid.side:.6g}² px of level 0 fit on its {width}×{height}"
    if not chosen.all():
        note += f", and {chosen.sum()} show tissue enough, and not too much white (tissue=, min_tissue=, max_white=)"
    return ListedSlide(stamp, downsample, places[chosen], note)


def _grid(windows: Windows, downsample: float) -> tissues.Grid:
    return tissues.Grid(windows.tile * downsample, (windows.stride or windows.tile) * downsample)


def _choose_windows(path: str, stamp: str, windows: Windows, mask: str | None) -> cache.Arrays:
    """Choose the windows of a slide: its size, the downsample, and a bit per window."""
    slide = OPENED.at(path, stamp)
    downsample = find_downsample(slide, path, windows.mpp, windows.level, windows.slide_mpp)
    first, grid = slide.levels[0], _grid(windows, downsample)
    places = grid.places(first)
    chosen = np.ones(len(places), bool)
    if len(places) and (windows.tissue is not None or windows.max_white != 1):
        small = thumbnail(slide, max(grid.side / _CELLS, max(first.width, first.height) / _LONGEST, 1.0))
        chosen = grid.shares(tissues.white_mask(small), places, first) <= (windows.max_white or 0)
        if windows.tissue is not None:
            shares = grid.shares(_tissue(windows, path, first, small, mask), places, first)
            chosen &= shares >= max(windows.min_tissue or 0, np.finfo(float).tiny)
    size = np.array([first.width, first.height])
    return {"size": size, "downsample": np.array(downsample), "taken": np.packbits(chosen)}


def _tissue(windows: Windows, path: str, slide: Level, small: Pixels, file: str | None) -> tissues.Mask:
    if callable(windows.tissue):
        return tissues.tissue_by(windows.tissue, small, path)
    if file is None:
        return tissues.tissue_by_saturation(small, windows.tissue if isinstance(windows.tissue, int | float) else None)
    if Path(file).suffix.lower() in _REGIONS:
        return tissues.mask_of_regions(file, slide, small.shape[:2], windows.regions)
    return tissues.slide_mask(read_mask(file, exif="ignore", max_pixels=windows.max_pixels), slide, file)


def mask_file(slide: str, template: str) -> str:
    """The mask or GeoJSON of a slide: a file, a template with `{stem}`, or a folder with a file of its name.

    A template without a folder refers to the slide's folder.

    Raises:
        DataError: there is no such file.

    >>> mask_file("slides/a.svs", "masks/{stem}.png").replace(os.sep, "/")
    'masks/a.png'
    >>> mask_file("slides/a.svs", "{stem}.geojson").replace(os.sep, "/")
    'slides/a.geojson'
    """
    stem, path = Path(slide).stem, Path(template)
    if "{stem}" in template:
        named = Path(template.replace("{stem}", stem))
        return str(named if named.parent != Path() else Path(slide).parent / named)
    if not path.is_dir():
        if not path.exists():
            raise DataError('no such file; tissue= may also be "otsu", a number between 0 and 1, or None', template)
        return template
    for suffix in _MASKS:
        if (file := path / f"{stem}{suffix}").is_file():
            return str(file)
    raise DataError(f"has no mask and no regions in {template}: {stem} with {', '.join(_MASKS)} is looked for", slide)


def slide_state(path: str, mask: str | None) -> str | None:
    """The fingerprint of the files that decide a slide's windows; None if changes could go unnoticed.

    Args:
        path: the slide.
        mask: the file of its tissue, if any.
    """
    several = Path(path).suffix.lower() in _SEVERAL_FILES
    return None if several else stamp_of_files([path] if mask is None else [path, mask])


def stamp_of_files(files: Sequence[str]) -> str | None:
    """The fingerprint of files, which differs when they change; None while a change could go unnoticed."""
    try:
        return cache.stamp_of(*map(os.stat, files))
    except (OSError, ValueError):
        return None
