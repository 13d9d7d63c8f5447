"""Where the pictures of annotations lie, and which files there are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from augrecipes.data.annotations.found import Request
from augrecipes.errors import DataError
from augrecipes.sources.listing import EXTENSIONS

OUTSIDE = "is not in the data's folder {}; outside=True reads it all the same"
_TRIED = 20  # names of pictures
SUFFIXES = tuple(f".{os_name.decode()}" for os_name in sorted(EXTENSIONS))


def folder_of(asked: Request, names: Iterable[str], places: Sequence[Path]) -> Path:
    """The folder that the pictures lie in: the one that was given, or the first of `places` that has one of them.

    Args:
        asked: may name it.
        names: of pictures; the first of them are looked for.
        places: folders, the likeliest first.

    Raises:
        DataError: none of them has any of the pictures; names them all.
    """
    wanted = [name for name, _ in zip(names, range(_TRIED), strict=False)]
    if asked.images is not None:
        return asked.images
    for place in dict.fromkeys(places):
        if any("://" in name or (place / name).is_file() for name in wanted):
            return place
    if not wanted:
        return places[0]
    looked = ", ".join(str(place) for place in dict.fromkeys(places))
    raise DataError(
        f"its pictures were not found: no {wanted[0]!r} in {looked}; give their folder (root=, or images=FOLDER)",
        str(asked.path),
    )


def leaves(name: str, root: Path, within: Path) -> bool:
    """Whether a picture, by its name below `root`, is not in a folder, or is named by an address.

    >>> leaves("a/../b.png", Path("data"), Path("data")), leaves("../b.png", Path("data"), Path("data"))
    (False, True)
    """
    if "://" in name:
        return True
    if ".." not in name and not os.path.isabs(name) and ":" not in name:  # noqa: PTH117  nearly all, told quickly
        return False
    place, folder = os.path.abspath(os.path.join(root, name)), os.path.abspath(within)  # noqa: PTH100, PTH118
    return not place.startswith(os.path.join(folder, ""))  # noqa: PTH118


def is_picture(name: str) -> bool:
    """Whether a file is a picture, by its name."""
    return name.lower().endswith(SUFFIXES)


def by_stem(names: Iterable[str]) -> dict[str, str]:
    """The pictures among some files by their path without the extension.

    >>> by_stem(["a/1.jpg", "a/1.xml"])
    {'a/1': 'a/1.jpg'}
    """
    return {name.rpartition(".")[0]: name for name in names if is_picture(name)}


def no_splits(asked: Request, what: str) -> None:
    """DataError where a split is asked for that the format does not have."""
    if asked.split is not None:
        raise DataError(f"split={asked.split!r}: {what} has no splits; give the file of the split", str(asked.path))
