"""The file of one target while it grows."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from augrecipes.sources.store.disk import naming, sync, write_all
from augrecipes.sources.store.item import Item, pieces

READ_ONLY = 0o444
"""The mode of published files."""

_READ = 1 << 22


class Blob:
    """Items one after another, in a file of their own.

    Args:
        path: the file; kept where it is there already.
        head: bytes to leave free at its beginning.

    Attributes:
        end: where the last item ends.
    """

    def __init__(self, path: Path, head: int = 0) -> None:
        self.path, self.head, self.end = path, head, head
        with naming(path):
            path.touch()
            path.chmod(0o644)  # an interrupted run may have made it ready for publishing
            self._file = path.open("r+b", buffering=0)

    def lay(self, start: NDArray[Any], size: NDArray[Any]) -> None:
        """Says where items lie; one file needs no telling."""

    def put(self, item: Item, step: int) -> int:
        """Writes an item at the next multiple of `step`, behind a hole that reads as zeros; where it starts."""
        start = -(-self.end // step) * step
        with naming(self.path):
            self._file.seek(start)
        for piece in pieces(item.data):
            write_all(self._file, piece, self.path)
        self.end = start + item.size
        return start

    def checksum(self, start: int, size: int) -> int | None:
        """CRC-32 of `size` bytes from `start`; None where the file ends before them."""
        found = 0
        with naming(self.path):
            self._file.seek(start)
            while size:
                piece = self._file.read(min(size, _READ))
                if not piece:
                    return None
                found, size = zlib.crc32(piece, found), size - len(piece)
        return found

    def read(self, start: int, size: int) -> bytes:
        """At most `size` bytes from `start`."""
        if size <= 0:
            return b""
        with naming(self.path):
            self._file.seek(start)
            return self._file.read(size)

    def cut(self, end: int) -> None:
        """Forgets what lies behind `end`."""
        with naming(self.path):
            self._file.truncate(end)
        self.end = end

    def write_frame(self, head: bytes, tail: bytes) -> int:
        """Writes what stands before and behind the items; the size of the file."""
        self.cut(self.end)
        for at, data in ((0, head), (self.end, tail)):
            with naming(self.path):
                self._file.seek(at)
            write_all(self._file, data, self.path)
        return self.end + len(tail)

    def finish(self, frame: tuple[bytes, bytes]) -> dict[str, Any]:
        """Makes the file what it will stay; what an index says of it.

        Args:
            frame: what stands before and behind the items.
        """
        size = self.write_frame(*frame)
        self.sync()
        self.close()
        with naming(self.path):
            self.path.chmod(READ_ONLY)
        return {"size": size, "head": self.head, "end": self.end, "frame": zlib.crc32(b"".join(frame))}

    def sync(self) -> None:
        """Waits until the items would outlive a power failure."""
        sync(self._file, self.path)

    def close(self) -> None:
        """Lets go of the file."""
        self._file.close()
