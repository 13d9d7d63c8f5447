"""Slides that are open: TIFFs of JPEG tiles directly, all others by OpenSlide. One that was changed is an error."""

from __future__ import annotations

import logging
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.cache import stamp_of_file
from augrecipes.errors import DataError
from augrecipes.images.format import stage
from augrecipes.sources.open_files import OpenFiles
from augrecipes.sources.slides.checks import LONGEST, check_mirax, check_tiff
from augrecipes.sources.slides.jpeg_tiles import JpegTiles, PyramidIndex, index_of
from augrecipes.sources.slides.pyramid import WHITE, Part, Pixels, Pyramid, levels_of, needed

_CACHED = 32 << 20  # bytes of decoded tiles, of all slides of a process together


class ByOpenSlide:
    """Reads parts of a slide.

    Args:
        path: of the file.
        handle: of OpenSlide.
    """

    def __init__(self, path: str, handle: Any) -> None:
        self.path, self._handle = path, handle
        self.levels, self.mpp = levels_of(handle.level_dimensions), mpp_of(handle)
        ground = handle.properties.get("openslide.background-color", "ffffff")
        self._ground = np.array(list(bytes.fromhex(ground)), np.float32)

    def reduces(self, level: int, most: int) -> int:
        """As `Pyramid`: not at all."""
        del level, most
        return 1

    def read(self, level: int, part: Part, reduce: int = 1) -> Pixels:
        """As `Pyramid`."""
        if reduce != 1:
            raise ValueError(f"OpenSlide reads at 1, not 1/{reduce}")
        here = self.levels[level]
        there = part.inside(here.width, here.height)
        out = np.full((part.height, part.width, 3), WHITE, np.uint8)
        if not there.width * there.height:
            return out
        # In pixels of level 0, which OpenSlide counts all levels by.
        corner = round(there.x * here.downsample), round(there.y * here.downsample)
        try:
            with stage("decode"):
                found = np.asarray(self._handle.read_region(corner, level, (there.width, there.height)))
        except needed("openslide").OpenSlideError as error:
            self._handle = opened(self.path)  # a handle repeats its first error for ever
            what = f"{there.width}×{there.height} px at x={there.x}, y={there.y} of level {level}"
            raise DataError(f"OpenSlide cannot read {what}: {error}", self.path) from None
        y, x = there.y - part.y, there.x - part.x
        out[y : y + there.height, x : x + there.width] = self._without_alpha(found)
        return out

    def _without_alpha(self, pixels: Any) -> Any:
        """RGB of RGBA that is laid on the slide's ground: parts that were not scanned are transparent."""
        alpha = pixels[:, :, 3:]
        if alpha.min() == WHITE:
            return pixels[:, :, :3]
        share = alpha.astype(np.float32) / WHITE
        return np.rint(pixels[:, :, :3] * share + self._ground * (1 - share)).astype(np.uint8)


def mpp_of(handle: Any) -> tuple[float, float] | None:
    """Micrometres a pixel, across and down, as OpenSlide has it."""
    try:
        across, down = (float(handle.properties[f"openslide.mpp-{axis}"]) for axis in "xy")
    except (KeyError, ValueError):
        return None
    return (across, down) if 0 < across < np.inf and 0 < down < np.inf else None


def opened(path: str) -> Any:
    """A slide, opened by OpenSlide; DataError where that cannot."""
    openslide = needed("openslide")
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
    return needed("openslide").OpenSlideCache(_CACHED)


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
    openslide = needed("openslide")
    index = _index(path)
    vendor = openslide.OpenSlide.detect_format(path)
    if vendor == "mirax":
        check_mirax(path)
    elif vendor == "hamamatsu":  # its directories have places of 64 bits where TIFFs have 32, and no tiles
        _check_hamamatsu(path)
    elif vendor is not None:
        check_tiff(path, falling=vendor == "aperio")
    handle = None if vendor is None else opened(path)
    slide: Pyramid | None = None
    if index is not None and vendor in _PLAIN:
        if any(int((level.offsets + level.counts).max()) > Path(path).stat().st_size for level in index.levels):
            raise DataError("truncated: tiles would lie behind the end of the file", path)
        sizes = {(level.width, level.height) for level in index.levels}
        if handle is None or sizes.issuperset(handle.level_dimensions):
            slide = JpegTiles(path, index.levels, index.mpp if handle is None else mpp_of(handle) or index.mpp)
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


def _check_hamamatsu(path: str) -> None:
    """DataError unless it is an NDPI: what is said in the text of others may end the process, or take all memory."""
    with Path(path).open("rb") as file:
        if file.read(2) not in (b"II", b"MM"):
            how = "vips tiffsave SLIDE out.tif --tile --pyramid --compression jpeg"
            raise DataError(f"is a VMS or VMU slide, which is not read: make it a TIFF, `{how}`", path)


def _index(path: str) -> PyramidIndex | None:
    """The tiles of a TIFF, or None where it has none that can be read directly, be it because it is broken."""
    try:
        return index_of(path)
    except (DataError, MemoryError):
        raise
    except Exception as error:  # tifffile raises whatever a broken file makes it meet
        _log.debug("%s: tifffile: %s: %s", path, type(error).__name__, error)
        return None
