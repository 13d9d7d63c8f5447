"""The picture files of every target of pairs, from folders or lists of files."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from augrecipes.errors import DataError
from augrecipes.sources.listing import list_folders
from augrecipes.sources.paths import PathLike
from augrecipes.sources.remote.known import is_file
from augrecipes.sources.remote.place import is_remote

Roots = PathLike | Sequence[PathLike]


@dataclass(frozen=True, slots=True, order=True)
class Named:
    """One file of one target.

    Attributes:
        name: path below its root, with slashes, without the extension, and composed (NFC): some systems store é as
            one letter, others as e and an accent.
        path: the whole path.
    """

    name: str
    path: str

    @property
    def folder(self) -> str:
        """Folder below the root; empty for the root itself."""
        return self.name.rpartition("/")[0]

    @property
    def stem(self) -> str:
        """The file's name without its extension."""
        return self.name.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files among which pairs are looked for: a data set, or several taken together.

    Attributes:
        files: of each target, sorted by path.
        shared: targets that lie in one folder with another, so that a file may be of either.
    """

    files: Mapping[str, tuple[Named, ...]]
    shared: frozenset[str] = frozenset()


def list_groups(roots: Mapping[str, Roots], *, cache: bool = True) -> list[FileGroup]:
    """The files of each target, one group for each place in the lists of roots.

    Args:
        roots: of each target: a folder, or a list of folders. Lists of one length are data sets side by side: the
            first folder of one target goes with the first of the others. A single folder beside a list goes with all
            of them; so do lists of files.
        cache: see `augrecipes.sources.listing.list_folders`.

    Raises:
        DataError: lists of unlike length, a root that is missing, or folders without pictures; names all of them.
    """
    lists = {name: _as_list(name, given) for name, given in roots.items()}
    files = {name: all(map(is_file, given)) for name, given in lists.items()}
    lengths = {name: len(given) for name, given in lists.items() if not files[name]}
    apart = len(set(lengths.values())) == 1 and len(lengths) == len(lists)
    if not apart and len({n for n in lengths.values() if n > 1}) > 1:
        text = ", ".join(f"{name}: {n}" for name, n in lengths.items())
        raise DataError(
            f"the lists of folders differ in length ({text}): the i-th folders of all targets belong together; "
            "give lists of one length, or one folder for a target"
        )
    count = max(lengths.values(), default=1) if apart else 1
    parts = [
        {name: [given[i]] if apart else given for name, given in lists.items()} for i in range(count if apart else 1)
    ]
    problems: list[str] = []
    groups = [_group(part, files, problems, cache=cache) for part in parts]
    if problems:
        raise DataError("\n".join(problems))
    return groups


def _as_list(name: str, given: Roots) -> list[str]:
    paths = [os.fsdecode(path) for path in ([given] if isinstance(given, str | bytes | os.PathLike) else given)]
    if not paths:
        raise DataError(f"no folder was given for {name}")
    return paths


def _group(
    part: Mapping[str, list[str]], as_files: Mapping[str, bool], problems: list[str], *, cache: bool
) -> FileGroup:
    part = _one_path_each(part, as_files)
    found = {target: _listed(target, roots, as_files[target], problems, cache=cache) for target, roots in part.items()}
    places = {target: {_real(root) for root in roots} for target, roots in part.items() if not as_files[target]}
    shared = frozenset(a for a in places if any(a != b and places[a] & places[b] for b in places))
    own = {name: tuple(sorted(_own(name, files, places), key=_by_path)) for name, files in found.items()}
    return FileGroup(own, shared)


def _one_path_each(part: Mapping[str, list[str]], as_files: Mapping[str, bool]) -> dict[str, list[str]]:
    """The roots with one path for each folder, so that a file has one path, whichever link leads to it."""
    first: dict[str, str] = {}
    return {
        target: roots if as_files[target] else [first.setdefault(_real(root), root) for root in roots]
        for target, roots in part.items()
    }


def _listed(target: str, roots: list[str], as_files: bool, problems: list[str], *, cache: bool) -> list[Named]:
    try:
        return _of_files(roots) if as_files else _of_folders(roots, cache=cache)
    except DataError as error:
        problems.append(f"{target}: {error}")
        return []


def _by_path(file: Named) -> bytes:
    return os.fsencode(file.path)


def _of_folders(roots: Sequence[str], *, cache: bool) -> list[Named]:
    paths = list_folders(roots, cache=cache, layout="flat").paths
    return [Named(_bare(paths.name(i)), paths[i]) for i in range(len(paths))]


def _of_files(paths: Sequence[str]) -> list[Named]:
    folder = os.path.commonpath([Path(path).absolute().parent for path in paths])
    return [Named(_bare(os.path.relpath(Path(path).absolute(), folder)), path) for path in dict.fromkeys(paths)]


def _bare(name: str) -> str:
    bare = os.path.splitext(name)[0].replace(os.sep, "/")  # noqa: PTH122 (a name may end in a dot)
    return unicodedata.normalize("NFC", bare)


def _real(path: str) -> str:
    """The path without links; an address as it is."""
    return path.rstrip("/") if is_remote(path) else os.path.realpath(path)


def _own(target: str, files: list[Named], places: Mapping[str, set[str]]) -> list[Named]:
    """`files` without those in a root of another target that lies inside this target's."""
    mine = places.get(target, set())
    inner = [
        other
        for name, roots in places.items()
        if name != target
        for other in roots
        if any(other != root and other.startswith(root.rstrip(os.sep) + os.sep) for root in mine)
    ]
    if not inner:
        return files
    prefixes = tuple(root + os.sep for root in inner)
    return [file for file in files if not _real(file.path).startswith(prefixes)]
