"""Where the files of an open store are: in a folder of this machine, or elsewhere; then they are fetched whole."""

from __future__ import annotations

import mmap
import os
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from augrecipes.errors import StoreError
from augrecipes.sources.remote import Place, RemotePath
from augrecipes.sources.store.cache import FileCache
from augrecipes.sources.store.disk import map_file, naming

Check = Callable[[Path], str | None]
"""Says what is wrong with a file, or None."""


def _fine(_: Path) -> None:
    """Nothing is wrong."""


_TIMES = 2  # that a file which arrived damaged is fetched
_AT_ONCE = 4  # files that come at a time: more would share the line, and the first of them would be whole later


class _Transfers:
    """How many files of stores this process is fetching; a fork begins with none."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self.slots = threading.BoundedSemaphore(_AT_ONCE)


_coming = _Transfers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_coming.renew)


class StoreFolder(Protocol):
    """The files of a store, by their names in its index."""

    here: bool
    """Whether the files are on this machine."""

    @property
    def path(self) -> Place:
        """The store."""

    def look(self, name: str, size: int) -> None:
        """Raises StoreError where a file that is here is not of its size."""

    def mapped(self, name: str, size: int, check: Check = ...) -> mmap.mmap | bytes:
        """A file, mapped for reading. Raises StoreError."""

    def at_hand(self, name: str) -> AbstractContextManager[Path]:
        """A file as it is there now."""


class LocalFolder:
    """A folder of this machine."""

    here = True

    def __init__(self, path: Path) -> None:
        self.path = path

    def look(self, name: str, size: int) -> None:
        """Raises StoreError unless a file is of its size."""
        path = self.path / name
        with naming(path):
            about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise StoreError("not a regular file; pack the store again", str(path))
        if (found := about.st_size) != size:
            wrong = "cut short" if found < size else "too long"
            raise StoreError(
                f"{wrong}: {found:,} bytes where the index says {size:,}; copy this shard again", str(path)
            )

    def mapped(self, name: str, size: int, check: Check = _fine) -> mmap.mmap | bytes:
        """A file, mapped; its bytes are compared when they are read, if at all."""
        del check
        path = self.path / name
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.path)):
            raise StoreError("is a link that leaves the store: copy the file itself", str(path))
        return map_file(path, size)

    @contextmanager
    def at_hand(self, name: str) -> Iterator[Path]:
        """The file itself."""
        yield self.path / name


class FetchedFolder:
    """A folder elsewhere: its files are fetched whole when they are first needed, and compared with their checksums.

    Args:
        path: its address.
        digest: of the store: what is in the cache under it is of this store, wherever it was fetched from.
        cache: keeps the files.
    """

    here = False

    def __init__(self, path: RemotePath, digest: str, cache: FileCache) -> None:
        self.path, self.digest, self.cache = path, digest, cache

    def look(self, name: str, size: int) -> None:
        """Nothing: it is looked at when it is fetched."""

    def has(self, name: str, size: int) -> bool:
        """Whether a file is here already."""
        return self.cache.has(self.digest[:32], name, size)

    def mapped(self, name: str, size: int, check: Check = _fine) -> mmap.mmap | bytes:
        """A file, mapped, which was fetched now or before, and is what the index says.

        Raises:
            StoreError: it is not there, it is another by now, or cannot be fetched.
        """
        return self.cache.mapped(self.digest[:32], name, size, lambda staged: self._fetch(name, size, check, staged))

    @contextmanager
    def at_hand(self, name: str) -> Iterator[Path]:
        """The file as it is there now, for as long as it is looked at."""
        with tempfile.TemporaryDirectory(prefix="augrecipes-") as folder, naming(self.path / name):
            staged = Path(folder, "file")
            (self.path / name).fetch(staged)
            yield staged

    def _fetch(self, name: str, size: int, check: Check, staged: Path) -> None:
        there, wrong = self.path / name, None
        for _ in range(_TIMES):  # what arrives may have been cut on its way
            with naming(there):
                with _coming.slots:  # given back before it is compared: the next one comes meanwhile
                    there.fetch(staged)
                found = staged.stat().st_size
            wrong = f"{found:,} bytes where the index says {size:,}" if found != size else check(staged)
            if wrong is None:
                return
        raise StoreError(
            f"is not the file that the store's index speaks of ({wrong}): it was changed or damaged since; open the "
            "store again, and where that does not help, copy or pack it again",
            str(there),
        )
