"""What lies at the path that a user gave, looked at once, for the formats to tell whether it is theirs."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from augrecipes.errors import DataError

_HEAD = 1 << 16  # bytes
_MOST_FILES = 10_000_000


@dataclass
class PathView:
    """A file or a folder.

    Attributes:
        path: of it.
    """

    path: Path

    @cached_property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.path.is_dir()

    @cached_property
    def suffix(self) -> str:
        """Of a file, in small letters with its dot; empty for a folder."""
        return "" if self.is_folder else self.path.suffix.lower()

    @cached_property
    def head(self) -> bytes:
        """The first bytes of a file; none of a folder."""
        return b"" if self.is_folder else head(self.path)

    @cached_property
    def names(self) -> list[str]:
        """Of a folder the files below it, relative to it, sorted as bytes."""
        return sorted(_walk(self.path), key=os.fsencode) if self.is_folder else []

    def ending(self, *suffixes: str) -> list[str]:
        """Those of `names` that end so."""
        return [name for name in self.names if name.lower().endswith(suffixes)]


def head(path: Path) -> bytes:
    """The first bytes of a file; DataError where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", str(path)) from error


def read_whole(path: Path, most: int) -> bytes:
    """A file's bytes; DataError where it cannot be read, or holds more than `most` of them."""
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", str(path)) from error
    if len(data) > most:
        raise DataError(f"holds more than {most:,} bytes", str(path))
    return data


def read_json(path: Path, most: int) -> Any:
    """What a JSON file in UTF-8 holds; DataError where it is none, or has more than `most` bytes."""
    data = read_whole(path, most)
    collects = gc.isenabled()
    gc.disable()  # which would go through millions of objects, of which none is garbage: half of the time
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 text: {error.reason}", str(path)) from None
    except json.JSONDecodeError as error:
        raise DataError(f"not valid JSON: {error.msg}", f"{path}:{error.lineno}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"not valid JSON: {error}", str(path)) from None
    finally:
        if collects:
            gc.enable()


def _walk(root: Path) -> Iterator[str]:
    """Files below a folder, those whose names begin with a dot left out; links to folders are not followed."""
    count = 0
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "__MACOSX"]
        below = os.path.relpath(folder, root)
        for name in files:
            if not name.startswith("."):
                count += 1
                if count > _MOST_FILES:
                    raise DataError(f"more than {_MOST_FILES:,} files", str(root))
                yield name if below == "." else f"{below.replace(os.sep, '/')}/{name}"
