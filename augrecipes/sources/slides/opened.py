"""Slides that are open: TIFFs of JPEG tiles directly, all others by OpenSlide. One that was changed is an error.

Of some that are damaged OpenSlide ends the process, without an error to be caught. It takes the sizes that a TIFF names
on trust: memory for a tile of gigapixels that cannot be had, and a level that is larger than the one before it, end a
program. Of MIRAX it trusts the numbers of images, and makes places in memory by them. So the few numbers that it counts
by are looked at beforehand.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.cache import stamp_of_file
from augrecipes.errors import DataError
from augrecipes.images.format import stage
from augrecipes.lru import OpenFiles
from augrecipes.sources.slides.jpeg_tiles import JpegTiles, index_of
from augrecipes.sources.slides.pyramid import WHITE, Part, Pixels, Pyramid, as_levels, require

LONGEST = 1 << 21
"""px of a side: several times what scanners make, and what can still be listed."""
_MOST_OF_TILE = 1 << 26  # px: OpenSlide takes four bytes for each
_WIDTH, _HEIGHT, _TILE_WIDTH, _TILE_HEIGHT, _OFFSETS, _COUNTS = 256, 257, 322, 323, 324, 325
_SIZES = (_WIDTH, _HEIGHT, _TILE_WIDTH, _TILE_HEIGHT)
_MOST_IMAGES = 4096
_MOST = 1 << 24  # bytes of the text of a MIRAX slide, which has a few thousand; and images in it
_SIDE = 1 << 14  # px of an image
_CACHED = 32 << 20  # bytes of decoded tiles, of all slides of a process together


class ByOpenSlide(Pyramid):
    """Reads parts of a slide.

    Args:
        path: of the file.
        handle: of OpenSlide.
    """

    def __init__(self, path: str, handle: Any) -> None:
        self.path, self._handle = path, handle
        self.levels, self.mpp = as_levels(handle.level_dimensions), resolution(handle)
        ground = handle.properties.get("openslide.background-color", "ffffff")
        self._ground = np.array(list(bytes.fromhex(ground)), np.float32)

    def read(self, level: int, part: Part) -> Pixels:
        """As `Pyramid`."""
        here = self.levels[level]
        there = part.inside(here.width, here.height)
        out = np.full((part.height, part.width, 3), WHITE, np.uint8)
        if not there.width * there.height:
            return out
        # In pixels of level 0, which OpenSlide counts all levels by.
        corner = round(there.x * here.downsample), round(there.y * here.downsample)
        try:
            with stage("decode"):
                pixels = np.asarray(self._handle.read_region(corner, level, (there.width, there.height)))
        except require("openslide").OpenSlideError as error:
            self._handle = open_handle(self.path)  # a handle repeats its first error for ever
            where = f"{there.width}×{there.height} px at x={there.x}, y={there.y} of level {level}"
            raise DataError(f"OpenSlide cannot read {where}: {error}", self.path) from None
        y, x = there.y - part.y, there.x - part.x
        out[y : y + there.height, x : x + there.width] = self._without_alpha(pixels)
        return out

    def _without_alpha(self, pixels: Any) -> Any:
        """RGB of RGBA that is laid on the slide's ground: parts that were not scanned are transparent."""
        alpha = pixels[:, :, 3:]
        if alpha.min() == WHITE:
            return pixels[:, :, :3]
        share = alpha.astype(np.float32) / WHITE
        return np.rint(pixels[:, :, :3] * share + self._ground * (1 - share)).astype(np.uint8)


def resolution(handle: Any) -> tuple[float, float] | None:
    """Micrometres a pixel, across and down, as OpenSlide has it."""
    try:
        across, down = (float(handle.properties[f"openslide.mpp-{axis}"]) for axis in "xy")
    except (KeyError, ValueError):
        return None
    return (across, down) if 0 < across < np.inf and 0 < down < np.inf else None


def open_handle(path: str) -> Any:
    """A slide, opened by OpenSlide; DataError where that cannot."""
    openslide = require("openslide")
    try:
        handle = openslide.OpenSlide(path)
    except openslide.OpenSlideError as error:
        raise DataError(f"is no slide that OpenSlide can open: {error}", path) from None
    handle.set_cache(_tiles_kept(os.getpid()))
    return handle


@cache
def _tiles_kept(process: int) -> Any:
    """Of this process: after a fork, the parent's may be locked for ever."""
    del process
    return require("openslide").OpenSlideCache(_CACHED)


OPEN = 32
"""Slides that a process holds open; each takes a file handle and some megabytes of places of tiles."""

# What OpenSlide calls the TIFFs whose tiles are laid out as the TIFF says, without gaps, overlaps or tags of their own.
_PLAIN = ("aperio", "generic-tiff", None)
_log = logging.getLogger("augrecipes")


def open_slide(path: str) -> Pyramid:
    """A slide: its tiles directly where it is a TIFF of JPEG tiles, or else by OpenSlide.

    Raises:
        DataError: it is no slide, or a broken one; or the extra `slides` is not installed.

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
    if vendor == "hamamatsu" and not is_tiff:  # what the text of others says may end the process, or take all memory
        how = "vips tiffsave SLIDE out.tif --tile --pyramid --compression jpeg"
        raise DataError(f"is a VMS or VMU slide, which is not read: make it a TIFF, `{how}`", path)
    index, safe = None, vendor in (None, "hamamatsu")  # NDPI has places of 64 bits where TIFFs have 32, and no tiles
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
    except Exception as error:  # tifffile raises whatever a broken file makes it meet: OpenSlide may say more
        if not safe:
            raise DataError(f"is damaged: {error}", path) from None
        _log.debug("%s: tifffile: %s: %s", path, type(error).__name__, error)
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
        raise DataError("is no slide: neither a TIFF of JPEG tiles nor of a format that OpenSlide knows", path)
    first = slide.levels[0]
    if max(first.width, first.height) > LONGEST:
        raise DataError(f"is {first.width}×{first.height} px by what it says: no slide has a side of that", path)
    return slide


def listed_slide(path: str, stamp: str) -> Pyramid:
    """A slide that was listed.

    Args:
        path: of its file.
        stamp: what `stamp_of_file` said when it was listed.

    Raises:
        DataError: it cannot be opened, or was changed.
    """
    if stamp_of_file(path, "slide") != stamp:
        raise DataError("was changed since it was listed: list it again", path)
    return open_slide(path)


OPENED = OpenFiles(listed_slide, OPEN)
"""Those of this process."""


def check_tiff(file: Any, *, falling: bool) -> None:
    """Look at the images of an open TiffFile that are made of tiles.

    Args:
        file: the slide.
        falling: whether each has to be no larger than the one before it.

    Raises:
        ValueError: they cannot be what the file says.
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
    """The size of an image of tiles, where all that its tags say of it can be."""
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
    """Look at the text that describes a MIRAX slide.

    Args:
        path: of the file that stands for the slide.

    Raises:
        DataError: it says what OpenSlide ends the process at; or cannot be read.
    """
    ini = str(Path(path).with_suffix("") / "Slidedat.ini")
    try:
        with Path(ini).open("rb") as file:
            text = file.read(_MOST).decode("utf-8", "replace")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", ini) from None
    across, down = (_within(ini, text, f"IMAGENUMBER_{axis}", _MOST) for axis in "XY")
    if across * down > _MOST:
        raise DataError(f"{across}×{down} images are more than a slide can have: {_MOST:,}", ini)
    _within(ini, text, "CameraImageDivisionsPerSide", min(across, down))
    for side in ("WIDTH", "HEIGHT"):
        _within(ini, text, f"DIGITIZER_{side}", _SIDE)


def _within(path: str, text: str, name: str, most: int) -> int:
    """The largest of the numbers that are said of a name, 1 where there are none; all have to be from 1 to `most`."""
    values = [value.strip() for value in re.findall(rf"^[ \t]*{name}[ \t]*=(.*)$", text, re.MULTILINE)]
    for value in values:
        if re.fullmatch("[0-9]{1,9}", value) is None or not 1 <= int(value) <= most:
            raise DataError(f"{name} has to be a whole number from 1 to {most:,}, and is {value or 'empty'}", path)
    return max(map(int, values), default=1)
