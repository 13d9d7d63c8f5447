"""Which archives a pattern names: `train-{000..015}.tar`, `{train,val}-*.tar`, a folder of them."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path

from augrecipes.errors import DataError
from augrecipes.sources.remote.place import is_remote

_MOST = 100_000  # archives that a pattern names
_ARCHIVE = re.compile(r"\.(tar|tgz|tbz2?|txz|tar\.(gz|bz2|xz|zst|lz4))$", re.IGNORECASE)
_RANGE = re.compile(r"(\d{1,9})\.\.(\d{1,9})")


def is_archive(name: str) -> bool:
    """Whether a path, or a pattern, ends as archives do; compressed ones are told to be so when they are opened.

    >>> is_archive("train-{000..015}.tar"), is_archive("a.TGZ"), is_archive("photos"), is_archive("{a,b}.tar")
    (True, True, False, True)
    """
    return _ARCHIVE.search(name) is not None


def archives_named(pattern: str) -> list[str]:
    """The archives that a path or a pattern names, in its order; those of a folder and of `*` by name.

    Raises:
        DataError: there are none, or one that braces name is missing.
    """
    if is_remote(pattern):
        raise DataError("archives are read from this machine alone: fetch them first", pattern)
    path = Path(pattern)
    if os.path.isdir(path):  # noqa: PTH112  a pattern may be too long for a path, of which Path makes an error
        files = [file for file in path.iterdir() if is_archive(file.name) and not file.name.startswith(".")]
        found = sorted(map(os.fspath, files))
        if not found:
            raise DataError("has no tar archive in it", pattern)
        return found
    if os.path.exists(path):  # noqa: PTH110
        return [pattern]
    return [archive for one in braced(pattern) for archive in _matching(one)]


def _matching(pattern: str) -> list[str]:
    if not glob.has_magic(pattern) or os.path.lexists(pattern):
        return [pattern]
    found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207  the texts of paths as the user gave them
    if not found:
        raise DataError("no archive is called so", pattern)
    return found


def braced(pattern: str) -> list[str]:
    """The texts that braces stand for, as a shell has it; braces that say neither a range nor several stay.

    Raises:
        DataError: they are too many.

    >>> braced("train-{08..10}.tar"), braced("{a,b{1..2}}.tar"), braced("{one}.tar")
    (['train-08.tar', 'train-09.tar', 'train-10.tar'], ['a.tar', 'b1.tar', 'b2.tar'], ['{one}.tar'])
    """
    start = pattern.find("{")
    inside = _inside(pattern, start)
    if start < 0 or inside is None:
        return [pattern]
    before, behind = pattern[:start], braced(pattern[start + len(inside) + 2 :])
    choices = _choices(inside)
    found = [f"{{{inner}}}" for inner in braced(inside)] if choices is None else choices
    if len(found) * len(behind) > _MOST:
        raise DataError(f"its braces name more than {_MOST:,} archives", pattern)
    return [f"{before}{choice}{rest}" for choice in found for rest in behind]


def _inside(pattern: str, start: int) -> str | None:
    """What stands between a brace and the one that closes it."""
    depth = 0
    for end in range(max(start, 0), len(pattern)):
        depth += {"{": 1, "}": -1}.get(pattern[end], 0)
        if depth == 0:
            return pattern[start + 1 : end]
    return None


def _choices(inside: str) -> list[str] | None:
    """The texts that a pair of braces stands for; None where it stands for itself."""
    if numbers := _RANGE.fullmatch(inside):
        first, last = int(numbers[1]), int(numbers[2])
        if abs(last - first) >= _MOST:
            raise DataError(f"{{{inside}}} names more than {_MOST:,} archives")
        padded = any(text.startswith("0") and len(text) > 1 for text in numbers.groups())
        width, step = max(map(len, numbers.groups())) if padded else 1, 1 if last >= first else -1
        return [f"{number:0{width}}" for number in range(first, last + step, step)]
    parts, depth = [""], 0
    for character in inside:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return None if len(parts) == 1 else [choice for part in parts for choice in braced(part)]
