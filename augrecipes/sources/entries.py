"""Entries of folders: which are images by their names, which are folders, and which are passed over."""

from __future__ import annotations

import logging
import os
import re

_log = logging.getLogger("augrecipes")

EXTENSIONS = frozenset(b"jpg jpeg jpe png bmp tif tiff webp gif pgm ppm pbm pnm jp2 j2k avif npy".split())
# What is hidden, and what systems put into folders: macOS, disk stations (Synology, QNAP), Windows, Linux.
SKIPPED = re.compile(
    rb"\.|(__macosx|network trash folder|temporary items|@eadir|@tmp|@recycle|@recently-snapshot|#recycle|#snapshot"
    rb"|\$recycle\.bin|system volume information|found\.\d{3}|lost\+found)$",
    re.IGNORECASE,
)


def is_image(name: bytes) -> bool:
    """Whether a file's name ends as those of images do."""
    return b"." in name and name.rpartition(b".")[2].lower() in EXTENSIONS


def is_folder(entry: os.DirEntry[bytes]) -> bool:
    """Whether an entry is a folder. A link that loops is none; who reads it as an image names it, others are logged."""
    try:
        return entry.is_dir()
    except OSError as error:
        if not is_image(entry.name):
            _log.warning("%s: passed over: %s", os.fsdecode(entry.path), error.strerror)
        return False
