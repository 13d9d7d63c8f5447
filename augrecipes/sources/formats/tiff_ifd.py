"""TIFF directories walked, both byte orders, classic and BigTIFF, never past the end of the data."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from augrecipes.sources.formats.header import UnreadableError

_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
_LETTERS = {1: "B", 3: "H", 4: "I", 6: "b", 8: "h", 9: "i", 13: "I", 16: "Q", 17: "q", 18: "Q"}
_MOST_ENTRIES = 4096
_MOST_VALUES = 2**22
_MOST_PAGES = 64  # of previews; a pyramid has some twenty
_KIND, _REDUCED, _MASK = 254, 1, 4
_OLD_KIND, _OLD_REDUCED = 255, 2


@dataclass(frozen=True, slots=True)
class Entry:
    """One tag: its values' type, how many there are, and where they lie in the file."""

    type: int
    count: int
    at: int


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory of a TIFF file: one picture.

    `next` is where the following one begins, or 0; `end` where the last of its values ends, which may be past the data.
    """

    endian: str
    entries: dict[int, Entry]
    next: int
    end: int

    def values(self, data: bytes, tag: int, default: tuple[int, ...] = ()) -> tuple[int, ...]:
        """The integers of a tag, or `default` where it is missing. Raises UnreadableError for a damaged tag."""
        entry = self.entries.get(tag)
        if entry is None:
            return default
        if entry.type not in _LETTERS or entry.count > _MOST_VALUES:
            raise UnreadableError(f"a TIFF tag {tag} with {entry.count} values of type {entry.type}")
        if entry.at + entry.count * _SIZES[entry.type] > len(data):
            raise UnreadableError(f"truncated: the values of TIFF tag {tag} lie past the end")
        return struct.unpack_from(f"{self.endian}{entry.count}{_LETTERS[entry.type]}", data, entry.at)

    def first(self, data: bytes, tag: int, default: int) -> int:
        """The first integer of a tag, or `default` where it is missing."""
        values = self.values(data, tag, (default,))
        return values[0] if values else default

    def patched(self, data: bytearray, tag: int, value: int) -> None:
        """Overwrites the first integer of a tag in a copy of the file; does nothing where the tag is missing."""
        entry = self.entries.get(tag)
        if entry and entry.type in _LETTERS and entry.count and entry.at + _SIZES[entry.type] <= len(data):
            struct.pack_into(self.endian + _LETTERS[entry.type], data, entry.at, value)


def first_directory(data: bytes) -> Directory:
    """Reads the first directory. Raises UnreadableError."""
    endian, big = _kind(data)
    return _directory(data, _first(data, endian, big), endian, big)


def pictures(data: bytes, first: Directory) -> int:
    """Pictures in the file, counted up to two: previews and masks of another one are none of their own."""
    endian, big = _kind(data)
    seen = {_first(data, endian, big)}
    page, found = first, 1
    while found < 2 and page.next and page.next not in seen and len(seen) < _MOST_PAGES:
        seen.add(page.next)
        try:
            page = _directory(data, page.next, endian, big)
            kind, old = page.first(data, _KIND, 0), page.first(data, _OLD_KIND, 0)
        except (UnreadableError, struct.error):
            break  # damage behind the first picture is not ours to tell
        found += not kind & (_REDUCED | _MASK) and old != _OLD_REDUCED
    return found


def _kind(data: bytes) -> tuple[str, bool]:
    """The byte order, and whether it is a BigTIFF."""
    endian = "<" if data[:2] == b"II" else ">"
    if len(data) < 16:
        raise UnreadableError("truncated in its TIFF header")
    (version,) = struct.unpack_from(endian + "H", data, 2)
    return endian, version == 43


def _first(data: bytes, endian: str, big: bool) -> int:
    """Where the first directory begins."""
    (at,) = struct.unpack_from(endian + ("Q" if big else "I"), data, 8 if big else 4)
    return int(at)


def _directory(data: bytes, at: int, endian: str, big: bool) -> Directory:
    head, entry_size, inline = ("Q", 20, 8) if big else ("H", 12, 4)
    start = at + struct.calcsize(endian + head)
    if start > len(data):
        raise UnreadableError("truncated: its TIFF directory lies past the end")
    (count,) = struct.unpack_from(endian + head, data, at)
    after = start + count * entry_size
    if not 1 <= count <= _MOST_ENTRIES or after > len(data):
        raise UnreadableError("truncated or damaged in its TIFF directory")
    entries: dict[int, Entry] = {}
    for here in range(start, after, entry_size):
        tag, field_type, values = struct.unpack_from(endian + ("HHQ" if big else "HHI"), data, here)
        place = here + (12 if big else 8)
        if values * _SIZES.get(field_type, 1) > inline:
            place = struct.unpack_from(endian + ("Q" if big else "I"), data, place)[0]
        entries.setdefault(tag, Entry(field_type, values, place))
    link = data[after : after + inline]
    follows = int.from_bytes(link, "little" if endian == "<" else "big") if len(link) == inline else 0
    end = max(entry.at + entry.count * _SIZES.get(entry.type, 0) for entry in entries.values())
    return Directory(endian, entries, follows, end)
