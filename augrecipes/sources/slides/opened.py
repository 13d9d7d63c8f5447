"""Opening slides: TIFFs of JPEG tiles directly, all others with OpenSlide. A slide that changed is an error.

OpenSlide aborts the process on some damaged files, with no error to catch. It trusts the sizes in a TIFF: a tile of
gigapixels that memory cannot hold, or a level larger than the one before, ends the program. In MIRAX files it trusts
the numbers of images and allocates by them. So the few numbers that it relies on are checked first.
"""

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.cache import stamp_of_file
from augrecipes.errors import DataError, logger
from augrecipes.images.format import stage
from augrecipes.lru import OpenFiles
from augrecipes.sources.slides.jpeg_tiles import JpegTiles, index_of
from augrecipes.sources.slides.pyramid import WHITE, Part, Pixels, Pyramid, as_levels, require

LONGEST = 1 << 21
"""The longest side of a slide, px: several times what scanners write, and still listable."""
_MOST_OF_TILE = 1 << 26  # px; OpenSlide needs four bytes per pixel
_WIDTH, _HEIGHT, _TILE_WIDTH, _TILE_HEIGHT, _OFFSETS, _COUNTS = 256, 257, 322, 323, 324, 325
_SIZES = (_WIDTH, _HEIGHT, _TILE_WIDTH, _TILE_HEIGHT)
_MOST_IMAGES = 4096
_MOST = 1 << 24  # bytes of a MIRAX slide's text, which has a few thousand; and images in it
_SIDE = 1 << 14  # px of an image
_CACHED = 32 << 20  # bytes of decoded tiles, shared by all slides of a process


class ByOpenSlide(Pyramid):
    """A reader for slides that OpenSlide opens.

    Args:
        path: the file.
        handle: OpenSlide's object.
    """

    def __init__(self, path: str, handle: Any) -> None:
        self.path, self._handle = path, handle
        self.levels, self.mpp = as_levels(handle.level_dimensions), resolution(handle)
        background = handle.properties.get("openslide.background-color", "ffffff")
        self._background = np.array(list(bytes.fromhex(background)), np.float32)

    def read(self, level: int, part: Part) -> Pixels:
        """See `Pyramid.read`."""
        size = self.levels[level]
        clipped = part.inside(size.width, size.height)
        out = np.full((part.height, part.width, 3), WHITE, np.uint8)
        if not clipped.width * clipped.height:
            return out
        # OpenSlide counts positions in pixels of level 0.
        corner = round(clipped.x * size.downsample), round(clipped.y * size.downsample)
        try:
            with stage("decode"):
                pixels = np.asarray(self._handle.read_region(corner, level, (clipped.width, clipped.height)))
        except require("openslide").OpenSlideError as error:
            self._handle = open_handle(self.path)  # a handle repeats its first error forever
            where = f"{clipped.width}×{clipped.height} px at x={clipped.x}, y={clipped.y} of level {level}"
            raise DataError(f"OpenSlide cannot read {where}: {error}", self.path) from None
        y, x = clipped.y - part.y, clipped.x - part.x
        out[y : y + clipped.height, x : x + clipped.width] = self._without_alpha(pixels)
        return out

    def _without_alpha(self, pixels: Any) -> Any:
        """RGBA composited over the slide's background colour: parts that were not scanned are transparent."""
        alpha = pixels[:, :, 3:]
        if alpha.min() == WHITE:
            return pixels[:, :, :3]
        share = alpha.astype(np.float32) / WHITE
        return np.rint(pixels[:, :, :3] * share + self._background * (1 - share)).astype(np.uint8)


def resolution(handle: Any) -> tuple[float, float] | None:
    """Micrometres per pixel, across and down, in OpenSlide's properties; None without."""
    try:
        across, down = (float(handle.properties[f"openslide.mpp-{axis}"]) for axis in "xy")
    except (KeyError, ValueError):
        return None
    return (across, down) if 0 < across < np.inf and 0 < down < np.inf else None


def open_handle(path: str) -> Any:
    """Open a slide with OpenSlide; DataError where it cannot."""
    openslide = require("openslide")
    try:
        handle = openslide.OpenSlide(path)
    except openslide.OpenSlideError as error:
        raise DataError(f"is not a slide that OpenSlide can open: {error}", path) from None
    handle.set_cache(_tile_cache(os.getpid()))
    return handle


@cache
def _tile_cache(process: int) -> Any:
    """The tile cache of this process: after a fork, the parent's may be locked forever."""
    return require("openslide").OpenSlideCache(_CACHED)


OPEN = 32
"""Slides that a process keeps open; each takes a file handle and some megabytes of tile offsets."""

# OpenSlide's vendors of TIFFs whose tiles form a plain grid, without gaps, overlaps or tags of their own.
_PLAIN = ("aperio", "generic-tiff", None)


def open_slide(path: str) -> Pyramid:
    """Open a slide: as JPEG tiles if it is such a TIFF, else with OpenSlide.

    Raises:
        DataError: the file is not a slide, or is damaged; or the extra `slides` is not installed.

    >>> open_slide("nowhere.svs")
    Traceback (most recent call last):
    augrecipes.errors.DataError: nowhere.svs: no such file
    """
    stamp_of_file(path, "slide")
    openslide = require("openslide")
    vendor = openslide.OpenSlide.detect_format(path)
    with Path(path).open("rb") as start:
        is_tiff = start.read(2) in (b"II", b"MM")
    if vendor == "mirax":
        check_mirax(path)
    if vendor == "hamamatsu" and not is_tiff:  # the text files of these may make OpenSlide abort, or take all memory
        how = "vips tiffsave SLIDE out.tif --tile --pyramid --compression jpeg"
        raise DataError(f"is a VMS or VMU slide, which is not read: make it a TIFF, `{how}`", path)
    index, safe = None, vendor in (None, "hamamatsu")  # NDPI has 64-bit offsets where TIFFs have 32, and no tiles
    try:
        if is_tiff:
            with require("tifffile").TiffFile(path) as file:
                file.pages.cache = True
                if not safe:
                    check_tiff(file, falling=vendor == "aperio")
                safe = True
                index = index_of(file)
    except (DataError, MemoryError):
        raise
    except Exception as error:  # tifffile raises all kinds of errors on a damaged file; OpenSlide may say more
        if not safe:
            raise DataError(f"is damaged: {error}", path) from None
        logger.debug("%s: tifffile: %s: %s", path, type(error).__name__, error)
    handle = None if vendor is None else open_handle(path)
    slide: Pyramid | None = None
    if index is not None and vendor in _PLAIN:
        levels, mpp = index
        if any(int((level.offsets + level.counts).max()) > Path(path).stat().st_size for level in levels):
            raise DataError("truncated: tiles would lie behind the end of the file", path)
        if handle is None or {(level.width, level.height) for level in levels}.issuperset(handle.level_dimensions):
            slide = JpegTiles(path, levels, mpp if handle is None else resolution(handle) or mpp)
    if slide is None and handle is not None:
        slide = ByOpenSlide(path, handle)
    if slide is None:
        raise DataError("is not a slide: it is neither a TIFF of JPEG tiles nor of a format that OpenSlide knows", path)
    first = slide.levels[0]
    if max(first.width, first.height) > LONGEST:
        raise DataError(f"is {first.width}×{first.height} px by what it says: no slide has a side of that", path)
    return slide


def listed_slide(path: str, stamp: str) -> Pyramid:
    """Open a slide that was listed before.

    Args:
        path: the file.
        stamp: its `stamp_of_file` when it was listed.

    Raises:
        DataError: the slide cannot be opened, or has changed.
    """
    if stamp_of_file(path, "slide") != stamp:
        raise DataError("was changed since it was listed: list it again", path)
    return open_slide(path)


OPENED = OpenFiles(listed_slide, OPEN)
"""The open slides of this process."""


def check_tiff(file: Any, *, falling: bool) -> None:
    """Check the sizes of the tiled images of an open TiffFile.

    Args:
        file: the slide.
        falling: whether no image may be larger than the one before it.

    Raises:
        ValueError: a size is impossible.
    """
    before = (LONGEST, LONGEST)
    for number, page in enumerate(islice(file.pages, _MOST_IMAGES)):
        tags = {tag: page.tags.getall(tag) or [] for tag in (*_SIZES, _OFFSETS, _COUNTS)}
        if not tags[_TILE_WIDTH] and not tags[_TILE_HEIGHT]:
            continue
        size = _checked_size(tags)
        if size is None or (falling and (size[0] > before[0] or size[1] > before[1])):
            sides = " · ".join("×".join(str(tag.value) for tag in tags[size]) or "?" for size in _SIZES)
            raise ValueError(f"image {number} cannot have the width, height, and sides of tiles {sides}")
        before = size


def _checked_size(tags: Mapping[int, Sequence[Any]]) -> tuple[int, int] | None:
    """The size of a tiled image; None if its tags are impossible."""
    if any(len(some) != 1 for some in tags.values()) or any(tags[size][0].count != 1 for size in _SIZES):
        return None
    width, height, across, down = (tags[size][0].value for size in _SIZES)
    if not all(isinstance(side, int) and side > 0 for side in (width, height, across, down)):
        return None
    tiles = -(-width // across) * -(-height // down)
    if max(width, height) > LONGEST or across * down > _MOST_OF_TILE:
        return None
    return (width, height) if min(tags[_OFFSETS][0].count, tags[_COUNTS][0].count) >= tiles else None


def check_mirax(path: str) -> None:
    """Check the text file of a MIRAX slide for numbers on which OpenSlide would abort.

    Args:
        path: the slide's `.mrxs` file.

    Raises:
        DataError: the text has such a number, or cannot be read.
    """
    ini = str(Path(path).with_suffix("") / "Slidedat.ini")
    try:
        with Path(ini).open("rb") as file:
            text = file.read(_MOST).decode("utf-8", "replace")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", ini) from None
    across, down = (_largest_value(ini, text, f"IMAGENUMBER_{axis}", _MOST) for axis in "XY")
    if across * down > _MOST:
        raise DataError(f"{across}×{down} images are more than a slide can have: {_MOST:,}", ini)
    _largest_value(ini, text, "CameraImageDivisionsPerSide", min(across, down))
    for side in ("WIDTH", "HEIGHT"):
        _largest_value(ini, text, f"DIGITIZER_{side}", _SIDE)


def _largest_value(path: str, text: str, name: str, most: int) -> int:
    """The largest value of a key in the text, 1 without any; DataError unless all are from 1 to `most`."""
    values = [value.strip() for value in re.findall(rf"^[ \t]*{name}[ \t]*=(.*)$", text, re.MULTILINE)]
    for value in values:
        if re.fullmatch("[0-9]{1,9}", value) is None or not 1 <= int(value) <= most:
            raise DataError(f"{name} has to be a whole number from 1 to {most:,}, and is {value or 'empty'}", path)
    return max(map(int, values), default=1)
