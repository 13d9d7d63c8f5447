"""JSON files of any size, read record by record: a list of a million objects is never in memory at once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from augrecipes.errors import DataError

_BLOCK = 1 << 20  # characters
_LARGEST = 1 << 26  # characters of one record
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_SHOWN = 40


def read_object(path: Path, take: Mapping[str, Callable[[Any, int], None]]) -> dict[str, Any]:
    """Read a JSON file whose outermost value is an object.

    Args:
        path: the file.
        take: for keys whose value is a list: called with each entry and its position, in the order of the file.

    Returns:
        The keys that were there, those of `take` with the number of their entries. Other lists are read over: as None.

    Raises:
        DataError: it cannot be read, or is not such a file; names the line.
    """
    try:
        # Names of files may hold anything; what is no UTF-8 is an error where it stands.
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _TextWindow(file, path).read(take)
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 text: {error.reason}", str(path)) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", str(path)) from error


class _TextWindow:
    """The part of a file that is being read."""

    def __init__(self, file: TextIO, path: Path) -> None:
        self.file, self.path = file, path
        self.text, self.at, self.line, self.ended = "", 0, 1, False

    def read(self, take: Mapping[str, Callable[[Any, int], None]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.peek() != "{":
            raise self.wrong("the outermost value should be an object, { ... }")
        self.at += 1
        more = self.peek() != "}"
        while more:
            key = self.value()
            if not isinstance(key, str):
                raise self.wrong("a key should be text in double quotes")
            self.expect(":")
            if self.peek() == "[":
                count = self.entries(take.get(key))
                found[key] = count if key in take else None
            else:
                found[key] = self.value()
            more = self.expect(",}") == ","
        self.at += self.peek() == "}"
        if self.peek():
            raise self.wrong("there is more behind the outermost object")
        return found

    def entries(self, use: Callable[[Any, int], None] | None) -> int:
        self.at += 1
        if self.peek() == "]":
            self.at += 1
            return 0
        count = 0
        while True:
            entry = self.value()
            if use is not None:
                use(entry, count)
            count += 1
            if self.expect(",]") == "]":
                return count

    def peek(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
            if self.at < len(self.text) or not self.fill():
                return self.text[self.at : self.at + 1]

    def expect(self, allowed: str) -> str:
        found = self.peek()
        if not found or found not in allowed:
            raise self.wrong(f"{' or '.join(allowed)} should stand here")
        # What closes the outermost object stays, so that the end is looked at once more.
        self.at += found != "}"
        return found

    def value(self) -> Any:
        """The next value."""
        self.peek()
        while True:
            try:
                found, end = _DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                if self.fill():
                    continue
                line = self.line + self.text.count("\n", 0, error.pos)
                raise DataError(f"not valid JSON: {error.msg}", f"{self.path}:{line}") from None
            except (RecursionError, ValueError) as error:
                raise self.wrong(f"not valid JSON: {error}") from None
            # A number at the end of the window may go on behind it.
            if end < len(self.text) or not self.fill():
                self.at = end
                return found

    def fill(self) -> bool:
        """Read on, twice as far as before where a record is long; False at the end of the file."""
        left = self.text[self.at :]
        if self.ended:
            return False
        if len(left) > _LARGEST:
            raise self.wrong(f"a record of more than {_LARGEST:,} characters, or one that never ends")
        self.line += self.text.count("\n", 0, self.at)
        block = self.file.read(max(_BLOCK, len(left)))
        self.text, self.at, self.ended = left + block, 0, not block
        return bool(block)

    def wrong(self, what: str) -> DataError:
        line = self.line + self.text.count("\n", 0, self.at)
        shown = self.text[self.at : self.at + _SHOWN].partition("\n")[0]
        return DataError(f"{what}{f', at {shown!r}' if shown else ', but the file ends'}", f"{self.path}:{line}")
