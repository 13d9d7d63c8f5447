"""Slides that are open. One that was changed since it was listed is an error."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

from augrecipes.errors import DataError
from augrecipes.sources.open_files import OpenFiles
from augrecipes.sources.slides.by_openslide import ByOpenSlide, mpp_of, opened
from augrecipes.sources.slides.level import Pyramid, needed
from augrecipes.sources.slides.text_check import check_text
from augrecipes.sources.slides.tiff_check import LONGEST, check_tiff
from augrecipes.sources.slides.tiff_index import PyramidIndex, index_of
from augrecipes.sources.slides.tiles import JpegTiles

OPEN = 32
"""Slides that a process holds open; each takes a file handle and some megabytes of places of tiles."""

# What OpenSlide calls the TIFFs whose tiles are laid out as the TIFF says, without gaps, overlaps or tags of their own.
_PLAIN = ("aperio", "generic-tiff", None)
_OTHER_TIFF = ("hamamatsu",)  # whose directories have places of 64 bits where TIFFs have 32, and no tiles
_BEGIN_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_log = logging.getLogger("augrecipes")


def stamp_of_slide(path: str) -> str:
    """What tells a slide from another one that takes its place; DataError where there is none."""
    try:
        about = Path(path).stat()
    except OSError as error:
        raise DataError("no such file" if isinstance(error, FileNotFoundError) else str(error.strerror), path) from None
    if not stat.S_ISREG(about.st_mode):
        raise DataError("is no slide: not a regular file", path)
    return f"{about.st_size} {about.st_mtime_ns}"


def open_slide(path: str) -> Pyramid:
    """A slide: its tiles directly where it is a TIFF of JPEG tiles, or else by OpenSlide.

    Raises:
        DataError: it is no slide, or a broken one; or the extra `slides` is not installed.

    >>> open_slide("nowhere.svs")
    Traceback (most recent call last):
    augrecipes.errors.DataError: nowhere.svs: no such file
    """
    made = _reader(path)
    first = made.levels[0]
    if max(first.width, first.height) > LONGEST:
        raise DataError(f"is {first.width}×{first.height} px by what it says: no slide has a side of that", path)
    return made


def listed_slide(path: str, stamp: str) -> Pyramid:
    """A slide that was listed.

    Args:
        path: of its file.
        stamp: what `stamp_of_slide` said when it was listed.

    Raises:
        DataError: it cannot be opened, or was changed.
    """
    if stamp_of_slide(path) != stamp:
        raise DataError("was changed since it was listed: list it again", path)
    return open_slide(path)


OPENED = OpenFiles(listed_slide, OPEN)
"""Those of this process."""


def _reader(path: str) -> Pyramid:
    stamp_of_slide(path)
    openslide = needed("openslide")
    index = _index(path)
    vendor = openslide.OpenSlide.detect_format(path)
    if vendor is not None:
        check_text(path, vendor)
    if vendor not in (None, *_OTHER_TIFF):
        check_tiff(path, falling=vendor == "aperio")
    handle = None if vendor is None else opened(path)
    if index is not None and vendor in _PLAIN:
        if any(int((level.offsets + level.counts).max()) > Path(path).stat().st_size for level in index.levels):
            raise DataError("truncated: tiles would lie behind the end of the file", path)
        sizes = {(level.width, level.height) for level in index.levels}
        if handle is None or sizes.issuperset(handle.level_dimensions):
            return JpegTiles(path, index.levels, index.mpp if handle is None else mpp_of(handle) or index.mpp)
    if handle is None:
        raise DataError("is no slide: neither a TIFF of JPEG tiles nor of a format that OpenSlide knows", path)
    return ByOpenSlide(path)


def _index(path: str) -> PyramidIndex | None:
    """The tiles of a TIFF, or None where it has none that can be read directly, be it because it is broken."""
    try:
        with Path(path).open("rb") as file:
            if file.read(4) not in _BEGIN_TIFF:
                return None
        return index_of(path)
    except (DataError, MemoryError):
        raise
    except Exception as error:  # tifffile raises whatever a broken file makes it meet
        _log.debug("%s: tifffile: %s: %s", path, type(error).__name__, error)
        return None
