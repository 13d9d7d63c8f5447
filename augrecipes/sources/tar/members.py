"""The files in a tar archive: where each of them lies, found by its headers alone, without reading what they hold."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from augrecipes.errors import DataError
from augrecipes.sources.tar.headers import (
    BLOCK,
    FOLDER,
    HARD_LINK,
    LONG_LINK,
    LONG_NAME,
    PAX,
    PAX_OF_ALL,
    HeaderError,
    checked_name,
    compressed_by,
    link_of,
    name_of,
    number,
    pax_of,
    type_of,
)

_WINDOW = 4096  # bytes that are read for a header: small files, and the headers behind them, come along
_MOST_SAID = 1 << 20  # bytes of a long name, or of pax records
_BEHIND = 1 << 16  # bytes behind the end of an archive that are looked at
_ZEROS = bytes(BLOCK)
_ABOUT_THE_NEXT = (LONG_NAME, LONG_LINK, PAX, PAX_OF_ALL)

Read = Callable[[int, int], bytes]


@dataclass
class Members:
    """The files in an archive, in their order.

    Attributes:
        names: of them.
        headers: where their headers are, in bytes.
        starts: where what they hold begins.
        sizes: of that, in bytes.
    """

    names: list[bytes] = field(default_factory=list)
    headers: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)


def members_of(path: str, read: Read, size: int) -> Members:
    """The files in an archive.

    Args:
        path: of the archive, for messages.
        read: gives so many bytes from a place on, or as many as there are: `read(place, many)`.
        size: of the archive, in bytes.

    Raises:
        DataError: it is no tar archive, or a compressed one; or it is damaged, cut off, or holds what is not read.
            Names the archive and the place.
    """
    first = read(0, BLOCK)
    if how := compressed_by(first):
        raise DataError(
            f"is compressed by {how[0]}: nothing in it can be found without reading all that is before it. "
            f"`{how[1]}` undoes that; pictures are compressed by themselves",
            path,
        )
    scan = _HeaderPass(read, size)
    try:
        scan.run()
    except HeaderError as error:
        if scan.at == 0 and first[257:262] != b"ustar":
            raise DataError(f"is no tar archive: {error}", path) from None
        called = "" if scan.called is None else f"{os.fsdecode(scan.called)!r} "
        raise DataError(f"at byte {scan.at:,}: {called}{error}", path) from None
    return scan.found


class _HeaderPass:
    """A pass over the headers of an archive.

    Attributes:
        found: the files so far.
        at: the place of the header that is at hand.
        called: the name that it is of, once that is known.
    """

    def __init__(self, read: Read, size: int) -> None:
        self.found, self.at = Members(), 0
        self.called: bytes | None = None
        self._read, self._size = read, size
        self._window, self._base = b"", 0
        self._said: dict[bytes, bytes] = {}  # of the next file, by headers of their own
        self._known: tuple[int, dict[bytes, int]] = 0, {}

    def run(self) -> None:
        """HeaderError where something is wrong."""
        while (block := self._block()) is not None:
            kind, size = type_of(block), number(block[124:136], "size")
            if kind in _ABOUT_THE_NEXT:
                self._listen(kind, size)
            else:
                size = self._take(block, kind, size)
            self.at += BLOCK + -(-size // BLOCK) * BLOCK

    def _block(self) -> bytes | None:
        """The header at hand; None at the end of the archive."""
        at = self.at - self._base
        if at + BLOCK > len(self._window):
            self._window, self._base, at = self._read(self.at, _WINDOW), self.at, 0
        block = self._window[at : at + BLOCK]
        if len(block) < BLOCK:
            raise HeaderError("it ends here without the mark of an end: it was cut off, or is still being written")
        if block[0] or block != _ZEROS:
            return block
        if self._said:
            raise HeaderError("the archive ends, and the file that the header before is about is missing")
        behind = self._read(self.at, _BEHIND)
        if behind.strip(b"\0"):
            raise HeaderError(
                "this is its end, and there is more behind: of archives that were joined, `tar --concatenate` makes "
                "one, or give each of them"
            )
        return None

    def _follow(self, size: int) -> None:
        """HeaderError unless so many bytes follow the header."""
        there = max(0, self._size - self.at - BLOCK)
        if size > there:
            raise HeaderError(f"is cut off: {size:,} bytes are said to follow, and {there:,} do")

    def _listen(self, kind: bytes, size: int) -> None:
        """Keep what a header says of the next file."""
        self._follow(size)
        if size > _MOST_SAID:
            raise HeaderError(f"{size:,} bytes of names and the like are beyond all limits")
        data = self._read(self.at + BLOCK, size)
        if kind == LONG_NAME:
            self._said[b"path"] = data.partition(b"\0")[0]
        elif kind == LONG_LINK:
            self._said[b"linkpath"] = data.partition(b"\0")[0]
        elif kind == PAX:
            self._said |= pax_of(data)
        elif {b"path", b"linkpath", b"size"} & pax_of(data).keys():
            raise HeaderError("a pax header gives all files one name or size")

    def _take(self, block: bytes, kind: bytes, size: int) -> int:
        """Keep a file; how many bytes of what it holds follow."""
        name = name_of(block)
        if said := self._said:
            self._said = {}
            self.called = name = said.get(b"path", name)
            if b"size" in said:
                size = _decimal(said[b"size"])
            if any(record.startswith(b"GNU.sparse") for record in said):
                raise HeaderError("is a sparse file: make the archive without --sparse")
        self.called = name
        if kind == FOLDER:
            return 0
        name, start, behind = checked_name(name), self.at + BLOCK, size
        if kind == HARD_LINK:
            (start, size), behind = self._linked(checked_name(said.get(b"linkpath") or link_of(block))), 0
        self._follow(behind)
        found = self.found
        found.names.append(name)
        found.headers.append(self.at)
        found.starts.append(start)
        found.sizes.append(size)
        self.called = None
        return behind

    def _linked(self, name: bytes) -> tuple[int, int]:
        """Where the bytes are of a file before, which another one is a hard link to."""
        found, (known, places) = self.found, self._known
        places |= {found.names[k]: k for k in range(known, len(found.names))}
        self._known = len(found.names), places
        if name not in places:
            raise HeaderError(
                f"is a link to {os.fsdecode(name)!r}, which is not in the archive before it: `tar --hard-dereference` "
                "stores the file itself"
            )
        return found.starts[places[name]], found.sizes[places[name]]


def _decimal(text: bytes) -> int:
    if not (text.isdigit() and len(text) <= 19):
        raise HeaderError(f"its size is no number: {text[:40]!r}")
    return int(text)
