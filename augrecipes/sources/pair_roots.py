"""The picture files of every target of pairs, from folders or lists of files."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from augrecipes.errors import DataError
from augrecipes.sources.listing import list_folders
from augrecipes.sources.paths import PathLike
from augrecipes.sources.remote import is_file, is_remote

Roots = PathLike | Sequence[PathLike]


class Named(NamedTuple):
    """One file of one target.

    Attributes:
        path: the whole path.
        name: path below its root, with slashes, without the extension, and composed (NFC): some systems store é as
            one letter, others as e and an accent.
    """

    path: str
    name: str

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

    files: Mapping[str, Sequence[Named]]
    shared: frozenset[str] = frozenset()


def roots_of(given: Roots) -> list[str]:
    """A folder, or several, as texts."""
    return [os.fsdecode(path) for path in ([given] if isinstance(given, str | bytes | os.PathLike) else given)]


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
    lists = {name: roots_of(given) for name, given in roots.items()}
    if empty := [name for name, paths in lists.items() if not paths]:
        raise DataError(f"no folder was given for {empty[0]}")
    folders = {name for name, paths in lists.items() if not all(map(is_file, paths))}
    lengths = {name: len(lists[name]) for name in lists if name in folders}
    if len({*lengths.values()} - {1}) > 1:
        text = ", ".join(f"{name}: {n}" for name, n in lengths.items())
        raise DataError(
            f"the lists of folders differ in length ({text}): the i-th folders of all targets belong together; "
            "give lists of one length, or one folder for a target"
        )
    parts = [lists]
    if len(lengths) == len(lists) and len({*lengths.values()}) == 1:
        count = max(lengths.values())
        parts = [{name: [paths[i]] for name, paths in lists.items()} for i in range(count)]
    problems: list[str] = []
    groups = [_group(part, folders, problems, cache=cache) for part in parts]
    if problems:
        raise DataError("\n".join(problems))
    return groups


def _group(part: Mapping[str, list[str]], folders: set[str], problems: list[str], *, cache: bool) -> FileGroup:
    first: dict[str, str] = {}  # a folder has one path, whichever link leads to it
    roots = {t: {(real := _real(p)): first.setdefault(real, p) for p in part[t]} for t in part if t in folders}
    files: dict[str, list[Named]] = {}
    for target, paths in part.items():
        try:
            found = _of_folders(roots[target], cache=cache) if target in roots else _of_files(paths)
        except DataError as error:
            problems.append(f"{target}: {error}")
            continue
        inner = _inner(roots, target)
        files[target] = sorted((f for f in found if not f.path.startswith(inner)), key=lambda f: os.fsencode(f.path))
    return FileGroup(files, frozenset(a for a in roots if any(a != b and roots[a].keys() & roots[b] for b in roots)))


def _inner(roots: Mapping[str, Mapping[str, str]], target: str) -> tuple[str, ...]:
    """Where files of other targets lie within the folders of a target."""
    return tuple(
        os.path.join(path, os.path.relpath(other, real), "")  # noqa: PTH118  texts of paths
        for real, path in roots.get(target, {}).items()
        for name in roots.keys() - {target}
        for other in roots[name]
        if other != real and other.startswith(real.rstrip(os.sep) + os.sep)
    )


def _of_folders(roots: Mapping[str, str], *, cache: bool) -> list[Named]:
    paths = list_folders(roots.values(), cache=cache, layout="flat").paths
    return [Named(paths[i], _bare(paths.name(i))) for i in range(len(paths))]


def _of_files(paths: Sequence[str]) -> list[Named]:
    folder = os.path.commonpath([Path(path).absolute().parent for path in paths])
    return [Named(path, _bare(os.path.relpath(Path(path).absolute(), folder))) for path in dict.fromkeys(paths)]


def _bare(name: str) -> str:
    bare = os.path.splitext(name)[0].replace(os.sep, "/")  # noqa: PTH122 (a name may end in a dot)
    return unicodedata.normalize("NFC", bare)


def _real(path: str) -> str:
    """The path without links; an address as it is."""
    return path.rstrip("/") if is_remote(path) else os.path.realpath(path)
