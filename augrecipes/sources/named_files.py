"""Files that lists and annotations name: whether they exist, and lie in the folder of the data; and what is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from stat import S_ISLNK

from augrecipes.errors import DataError, listed
from augrecipes.sources.paths import PathLike, PathTable

Problem = tuple[int, str]  # line of a file, what is wrong with it
OUTSIDE = "is not in the data's folder {}; outside=True reads it all the same"


class DataFolder:
    """The folder that the files of a list must lie in; it may be a link itself, or an address.

    Args:
        folder: its path or address.

    >>> DataFolder("data").holds("data/a/../b.png"), DataFolder("data").holds("data/../b.png")
    (True, False)
    >>> DataFolder("data").holds("s3://bucket/b.png"), DataFolder("s3://bucket").holds("s3://bucket/b.png")
    (False, True)
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = os.fsdecode(folder)
        self._encoded = os.fsencode(folder) or b"."
        # Behind `memory://` nothing may be left of an address whose last part is taken away.
        self._remote = b"://" in self._encoded or (self._encoded.endswith(b":/") and len(self._encoded) > len(b"C:/"))
        self._real = _inside(self._encoded if self._remote else os.path.realpath(self._encoded))
        self._known: dict[bytes, bool] = {}  # folders of files

    def spans(self, path: PathLike) -> bool:
        """Whether a path lies in it as it is written, wherever links lead."""
        return _inside(os.path.abspath(os.fsencode(path))).startswith(_inside(os.path.abspath(self._encoded)))  # noqa: PTH100

    def holds(self, path: PathLike, *, is_link: bool = True) -> bool:
        """Whether a file lies in it, links followed; `is_link`: whether it may be one itself."""
        path = os.fsencode(path)
        if b"://" in path or self._remote:
            return b"://" in path and self._remote and _inside(path).startswith(self._real)
        folder, name = os.path.split(path)
        if is_link or name == b"..":
            return _inside(os.path.realpath(path)).startswith(self._real)
        if folder not in self._known:
            self._known[folder] = _inside(os.path.realpath(folder)).startswith(self._real)
        return self._known[folder]


def faults_of(
    paths: PathTable, folder: PathLike, *, check: bool = True, outside: bool = False
) -> Iterator[tuple[int, str]]:
    """The files of a list that cannot be read: their positions, and what is wrong.

    Args:
        paths: of the files.
        folder: that they should lie in.
        check: whether they must exist; a server is not asked for each, but when they are read.
        outside: they may lie anywhere.
    """
    if outside and not check:
        return
    within = DataFolder(folder)
    for i, path in enumerate(map(paths.encoded, range(len(paths)))):
        try:
            mode = 0 if b"://" in path else os.lstat(path).st_mode
        except (OSError, ValueError):
            mode = -1
        if not outside and not within.holds(path, is_link=mode != -1 and S_ISLNK(mode)):
            yield i, f"{paths.name(i)!r} {OUTSIDE.format(within.folder)}"
        elif check and mode == -1:
            yield i, f"{os.fsdecode(path)}: no such file"


def _inside(path: bytes) -> bytes:
    """A path, or address, without `..` and with a slash at its end."""
    return os.path.normcase(os.path.join(os.path.normpath(path), b""))  # noqa: PTH118


def refuse(path: str, problems: Sequence[Problem]) -> None:
    """DataError of all `problems` of a file, by line; nothing where there are none.

    >>> refuse("a.csv", [(7, "no label"), (3, "no bag")])
    Traceback (most recent call last):
    augrecipes.errors.DataError: a.csv: 2 problems in its rows:
      line 3: no bag
      line 7: no label
    """
    if len(problems) == 1:
        line, what = problems[0]
        raise DataError(what, f"{path}:{line}")
    if problems:
        text = listed(f"line {line}: {what}" for line, what in sorted(problems))
        raise DataError(f"{len(problems)} problems in its rows:{text}", path)
