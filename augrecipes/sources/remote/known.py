"""What there is at a path, here or elsewhere; in the words of a DataError where nobody can say."""

from __future__ import annotations

import os
from pathlib import Path

from augrecipes.errors import DataError
from augrecipes.sources.remote.place import is_pattern, place_of
from augrecipes.sources.remote.requests import RemoteError

StrPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def is_folder(path: StrPath) -> bool:
    """Whether there is a folder, or a pattern that files elsewhere are named by. Raises DataError.

    >>> is_folder("nowhere"), is_folder("memory://*.jpg")
    (False, True)
    """
    return is_pattern(path) or _asked(path, "is_dir")


def is_file(path: StrPath) -> bool:
    """Whether there is a file. Raises DataError."""
    return not is_pattern(path) and _asked(path, "is_file")


def is_there(path: StrPath) -> bool:
    """Whether there is anything. Raises DataError."""
    return _asked(path, "exists")


def _asked(path: StrPath, what: str) -> bool:
    place = place_of(path)
    if isinstance(place, Path):
        return bool(getattr(place, what)())
    try:
        return bool(getattr(place, what)())
    except PermissionError as error:
        raise DataError(f"no permission to look at it: {error}", str(place)) from None
    except RemoteError as error:
        raise DataError(str(error), str(place)) from None
