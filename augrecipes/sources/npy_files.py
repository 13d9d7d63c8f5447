"""A folder of `.npy` files, each one picture, as something with a length and items."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.errors import DataError


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
