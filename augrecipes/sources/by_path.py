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


class NpyFiles:
    """Arrays of the files below a folder, in the order of their names.

    Where every file lies in a folder of its own below it, those are classes, and an item is (array, number of its
    class); else an item is an array. Nothing is unpickled.

    Args:
        folder: of the files.

    Attributes:
        paths: of the files.
        classes: names, or None.
        targets: the class of each file, or None.

    Raises:
        DataError: no folder, or no such file in it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder, "a.npy"), np.zeros((4, 6, 3), np.uint8))
    ...     NpyFiles(folder)[0].shape
    (4, 6, 3)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        root = Path(folder)
        files = sorted(root.rglob("*.npy"))
        if not files:
            what = "has no .npy file in it" if root.is_dir() else "no such folder"
            raise DataError(what, os.fspath(folder))
        self.paths = [os.fspath(file) for file in files]
        parts = [file.relative_to(root).parts for file in files]
        names = sorted({part[0] for part in parts}) if all(len(part) > 1 for part in parts) else None
        self.classes = names
        self.targets = None if names is None else [names.index(part[0]) for part in parts]

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        try:
            array = np.load(self.paths[index], allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise DataError(f"no array can be read from it: {error}", self.paths[index]) from error
        return array if self.targets is None else (array, self.targets[index])
