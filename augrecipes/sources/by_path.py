"""What a path names that is a source of samples, not pictures: tar archives, and arrays in `.npy` files."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.errors import DataError
from augrecipes.paths import is_archive
from augrecipes.sources.listing import EXTENSIONS
from augrecipes.sources.npy_files import NpyFiles
from augrecipes.sources.tar.shards import TarShards

_ARRAYS = ".npy"


def are_archives(given: Any) -> bool:
    """Whether something is a list of paths of tar archives, or of patterns of them."""
    return (
        isinstance(given, list | tuple)
        and bool(given)
        and all(isinstance(one, str | os.PathLike) and is_archive(os.fspath(one)) for one in given)
    )


def names_source(given: Any) -> bool:
    """Whether paths name a source: archives, an `.npy` file, or a folder of either that has no picture in it.

    >>> names_source("train-{000..015}.tar"), names_source(["a.tar", "b.tar"]), names_source("photos.csv")
    (True, True, False)
    """
    if not isinstance(given, str | os.PathLike):
        return are_archives(given)
    path = Path(given)
    # Not `path.is_dir()`: a pattern may be too long for a path.
    return _folder_holds_one(path) if os.path.isdir(path) else is_archive(str(path)) or path.suffix == _ARRAYS  # noqa: PTH112


def source_at(given: Any) -> Any:
    """The source that paths name; a function that opens it, where each process has to for itself.

    Raises:
        DataError: they name none.
    """
    if not isinstance(given, str | os.PathLike):
        return TarShards(given)
    path = Path(given)
    if path.suffix == _ARRAYS and path.is_file():
        return partial(np.load, os.fspath(given), mmap_mode="r", allow_pickle=False)
    if os.path.isdir(path):  # noqa: PTH112
        return TarShards(given) if _has_archive(path) else NpyFiles(given)
    if is_archive(os.fspath(given)):
        return TarShards(given)
    if path.exists():
        raise DataError(
            "is no source: give a function that opens it, tar archives, a folder of .npy files, or one of them",
            os.fspath(given),
        )
    return NpyFiles(given)


def _has_archive(folder: Path) -> bool:
    return any(is_archive(entry.name) for entry in folder.iterdir())


def _folder_holds_one(folder: Path) -> bool:
    """Whether a folder has archives in it, or arrays in it or below, and no picture."""
    found, todo = False, [os.fspath(folder)]
    while todo:
        here = todo.pop()
        try:
            entries = os.scandir(here)
        except OSError:  # told by who lists it
            return False
        with entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir():
                    if entry.is_symlink():  # where pictures may be
                        return False
                    todo.append(entry.path)
                elif os.fsencode(entry.name).rpartition(b".")[2].lower() in EXTENSIONS - {b"npy"}:
                    return False
                else:
                    found |= entry.name.endswith(_ARRAYS) or (here == os.fspath(folder) and is_archive(entry.name))
    return found
