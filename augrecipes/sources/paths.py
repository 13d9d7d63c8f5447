"""Compact tables of paths, checks that files lie in the data's folder, and tile positions in file names.

A Python list of 500,000 paths costs every forked worker tens of megabytes, because reference counts are written to the
pages that hold the strings, and it pickles slowly. A PathTable holds one blob of bytes and one array of offsets.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from stat import S_ISLNK
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes import redaction, sharing

PathLike = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Roots = PathLike | Sequence[PathLike]
OUTSIDE = "is not in the data's folder {}; outside=True reads it all the same"
RowAndColumn = tuple[int, int]
NOWHERE: RowAndColumn = (-1, -1)
_NUMBER = r"[=_]?(\d{1,18})(?!\d)"
_X, _Y = (re.compile(rf"(?<![a-z0-9]){axis}{_NUMBER}|(?<=\d){axis}(\d{{1,18}})(?!\d)", re.I) for axis in "xy")
_LAST = re.compile(r"(?:^|[^0-9.])(\d{1,18})[_,] ?(\d{1,18})[\])]?$")


@dataclass(frozen=True, eq=False)
class PathTable(sharing.SpawnShared):
    """An immutable sequence of paths: roots, and names below them.

    ``table[i]`` is text (by `os.fsdecode`, so names that are not UTF-8 survive). A pickle is little larger than the
    names' bytes.

    Attributes:
        roots: the folders that names are relative to, as bytes; may be one empty root.
        blob: the names, concatenated; a view of the map for a memory-mapped store.
        offsets: int64 (n + 1,): name i is ``blob[offsets[i]:offsets[i + 1]]``.
        root_of: int32, the root of each name.

    >>> table = PathTable.from_paths(["cat/1.jpg", "cat/2.jpg", "dog/1.jpg"], root="pets")
    >>> len(table), table[2].replace(os.sep, "/"), table.name(0)
    (3, 'pets/dog/1.jpg', 'cat/1.jpg')
    >>> len(table.take([0, 0])), len(PathTable.concat([table, table]))
    (2, 6)
    """

    roots: tuple[bytes, ...]
    blob: bytes | memoryview
    offsets: NDArray[np.int64]
    root_of: NDArray[np.int32]

    @classmethod
    def from_paths(cls, paths: Iterable[PathLike], *, root: PathLike = b"") -> PathTable:
        """A table of `paths`, each joined to `root` (absolute ones stay as they are). A zero byte is a ValueError."""
        names = [os.fsencode(path) for path in paths]
        if any(b"\0" in name for name in names):
            raise ValueError("a path contains a zero byte")
        return cls.from_names(names, root=os.fsencode(root))

    @classmethod
    def from_names(cls, names: Sequence[bytes], *, root: bytes = b"") -> PathTable:
        """A table of encoded names below one root."""
        offsets = np.zeros(len(names) + 1, np.int64)
        np.cumsum([len(name) for name in names], out=offsets[1:])
        return cls((root,), b"".join(names), offsets, np.zeros(len(names), np.int32))

    @classmethod
    def from_texts(cls, texts: Any, count: int | None = None) -> PathTable:
        """The first `count` texts of a store's column, or all, as a view of the map."""
        n = len(texts) if count is None else count
        return cls((b"",), memoryview(texts.blob), texts.offsets[: n + 1], np.zeros(n, np.int32))

    @classmethod
    def concat(cls, tables: Sequence[PathTable]) -> PathTable:
        """The concatenated tables, without repeated roots."""
        roots = tuple(dict.fromkeys(root for table in tables for root in table.roots)) or (b"",)
        number = {root: i for i, root in enumerate(roots)}
        starts, root_of, at = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)], 0
        for table in tables:
            starts.append(table.offsets[1:] + at)
            at += len(table.blob)
            root_of.append(np.array([number[root] for root in table.roots], np.int32)[table.root_of])
        return cls(roots, b"".join(table.blob for table in tables), np.concatenate(starts), np.concatenate(root_of))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> str:
        return os.fsdecode(self.encoded(index))

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"PathTable({len(self):,} paths below {[redaction.redact(os.fsdecode(root)) for root in self.roots]})"

    def __getstate__(self) -> dict[str, Any]:
        # A view of a map cannot be pickled; spawned workers map the same file instead.
        return self.__dict__ if sharing.spawning() else {**self.__dict__, "blob": bytes(self.blob)}

    def encoded(self, index: int) -> bytes:
        """Path `index`, root included, as the system's bytes."""
        i = self._normalised(index)
        name = self._name(i)
        return name if b"://" in name else os.path.join(self.roots[self.root_of[i]], name)  # noqa: PTH118 (of bytes)

    def name(self, index: int) -> str:
        """Path `index` without its root."""
        return os.fsdecode(self._name(self._normalised(index)))

    def take(self, indices: Iterable[int] | NDArray[Any]) -> PathTable:
        """A table of the paths at `indices`, in that order; repeats are allowed."""
        chosen = np.arange(len(self))[indices if isinstance(indices, np.ndarray) else list(indices)]
        source, offsets = group_indices(self.offsets, chosen)
        blob = np.frombuffer(self.blob, np.uint8)[source].tobytes()
        return PathTable(self.roots, blob, offsets, self.root_of[chosen])

    def _normalised(self, index: int) -> int:
        i = int(index)
        if not -len(self) <= i < len(self):
            raise IndexError(f"path {i} of {len(self)}")
        return i % len(self)

    def _name(self, i: int) -> bytes:
        return bytes(self.blob[self.offsets[i] : self.offsets[i + 1]])


def group_indices(
    offsets: NDArray[np.int64], chosen: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices into concatenated groups that select the chosen groups in order, and the offsets of the selection.

    >>> [part.tolist() for part in group_indices(np.array([0, 2, 3, 6]), np.array([2, 0]))]
    [[3, 4, 5, 0, 1], [0, 3, 5]]
    """
    lengths = offsets[chosen + 1] - offsets[chosen]
    ends = np.concatenate(([0], np.cumsum(lengths)))
    # The start of each chosen group, plus a count from zero within it.
    return np.arange(ends[-1]) + np.repeat(offsets[chosen] - ends[:-1], lengths), ends


@dataclass(frozen=True, eq=False)
class PathGroups(sharing.SpawnShared):
    """Any number of paths per unit.

    Attributes:
        paths: the paths of all units, concatenated.
        bounds: int64 (n + 1,); paths `bounds[i]:bounds[i + 1]` belong to unit i.
    """

    paths: PathTable
    bounds: NDArray[np.int64]

    @classmethod
    def chosen(cls, paths: PathTable, groups: Sequence[Sequence[int]]) -> PathGroups:
        """The groups of the paths at the positions in each of `groups`."""
        counts = [0, *map(len, groups)]
        return cls(paths.take([k for group in groups for k in group]), np.cumsum(counts, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, unit: int) -> list[str]:
        return [self.paths[k] for k in range(self.bounds[unit], self.bounds[unit + 1])]

    def take(self, units: NDArray[np.int64]) -> PathGroups:
        """The groups of some units."""
        index, bounds = group_indices(self.bounds, units)
        return PathGroups(self.paths.take(index), bounds)


def local_name(folder: PathLike, name: str) -> str:
    """A name below a folder; converts a name that is written as Windows writes paths.

    Of a path on another computer's drive, the longest tail that exists in the folder is taken.

    >>> local_name("data", "images\\\\1.jpg"), local_name("data", "C:\\\\mine\\\\1.jpg")
    ('images/1.jpg', '1.jpg')
    """
    if os.sep != "/" or not ("\\" in name or re.match("[A-Za-z]:/", name)) or _exists(folder, name):
        return name
    path = re.sub("^[A-Za-z]:", "/", name.replace("\\", "/"))
    parts = path.strip("/").split("/")
    ends = ["/".join(parts[k:]) for k in range(len(parts))] if path.startswith("/") else [path]
    return next((end for end in ends if _exists(folder, end)), ends[-1])


def _exists(folder: PathLike, name: str) -> bool:
    return os.path.lexists(os.path.join(os.fsdecode(folder), name))  # noqa: PTH118


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
        # pathlib leaves `s3:/` of an address whose last part is removed.
        self._remote = b"://" in self._encoded or (self._encoded.endswith(b":/") and len(self._encoded) > len(b"C:/"))
        self._real = _prefix(self._encoded if self._remote else os.path.realpath(self._encoded))
        self._known: dict[bytes, bool] = {}  # folders of files

    def spans(self, path: PathLike) -> bool:
        """Whether a path lies in it as it is written, wherever links lead."""
        return _prefix(os.path.abspath(os.fsencode(path))).startswith(_prefix(os.path.abspath(self._encoded)))  # noqa: PTH100

    def holds(self, path: PathLike, *, is_link: bool = True) -> bool:
        """Whether a file lies in it, links followed; `is_link`: whether it may be one itself."""
        path = os.fsencode(path)
        if b"://" in path or self._remote:
            return b"://" in path and self._remote and _prefix(path).startswith(self._real)
        folder, name = os.path.split(path)
        if is_link or name == b"..":
            return _prefix(os.path.realpath(path)).startswith(self._real)
        if folder not in self._known:
            self._known[folder] = _prefix(os.path.realpath(folder)).startswith(self._real)
        return self._known[folder]


def path_problems(
    paths: PathTable, folder: PathLike, *, check: bool = True, outside: bool = False
) -> Iterator[tuple[int, str]]:
    """Yield the positions and problems of listed files that are missing or lie outside a folder.

    Args:
        paths: the files.
        folder: the folder that they must lie in.
        check: whether they must exist; files on a server are checked when they are read.
        outside: whether they may lie anywhere.
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


def _prefix(path: bytes) -> bytes:
    """A path or address without `..`, and with a slash at its end, so that prefixes can be compared."""
    return os.path.normcase(os.path.join(os.path.normpath(path), b""))  # noqa: PTH118


def tile_position(name: str) -> RowAndColumn:
    """The position (x, y) of a tile on its slide, from its file name; (-1, -1) if the name has none.

    Two schemes are known: `x` and `y` with their numbers, in any order, and two numbers at the end of the name:

        tile_x1024_y2048.png    slide [x=1024,y=2048,w=512].jpg
        1024_2048.png    slide_1024_2048.png    slide(1024,2048).png

    Names with `x` and `y` win, so that the magnification in `slide_40x_x5_y7` does no harm.

    >>> [tile_position(name) for name in ("tile_x1024_y2048.png", "a/slide_40x_512_0.jpg", "y7x5.png", "tumour_1.png")]
    [(1024, 2048), (512, 0), (5, 7), (-1, -1)]
    """
    stem = name.replace("\\", "/").rpartition("/")[2]
    stem = stem.rpartition(".")[0] or stem
    x, y = _X.search(stem), _Y.search(stem)
    if x and y:
        return _number(x), _number(y)
    last = _LAST.search(stem)
    return (int(last[1]), int(last[2])) if last else NOWHERE


def _number(match: re.Match[str]) -> int:
    return int(match[1] or match[2])
