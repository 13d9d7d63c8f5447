"""Stores that are to be elsewhere: packed on this machine, and sent once they are whole, their index last.

What is packed grows in the user's cache folder, where an interrupted run finds it. What a whole store was made of
stands beside it (`.stamps`), so that a run that was killed while it sent goes on; what has arrived is noted (`.sent`).
Nobody opens a store without its index, and the index comes when everything else is there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from augrecipes import atomic
from augrecipes.caches import CACHE, CacheFile, cache_folder
from augrecipes.errors import StoreError
from augrecipes.sources.remote.place import RemotePath
from augrecipes.sources.store.disk import naming
from augrecipes.sources.store.index import NAME
from augrecipes.sources.store.lock import HeldError, Lock

_AT_ONCE = 4
_LOCK = "lock"
_BOX = re.compile(r"[0-9a-f]{24}")  # others' folders may lie beside ours


class Outbox:
    """The place on this machine of one store that is to be elsewhere; locked. Use it in a ``with``.

    Args:
        there: where the store will be.

    Attributes:
        here: where it is packed.

    Raises:
        StoreError: another process packs it here, or nothing can be written.
    """

    def __init__(self, there: RemotePath) -> None:
        self.there = there
        try:
            folder = UNSENT.folder / blake2b(there.url.encode()).hexdigest()[:24]
        except OSError as error:
            raise StoreError(f"there is no cache folder to pack in ({error}): say one with {CACHE}") from None
        with _saying_why(folder):
            with naming(folder):
                folder.mkdir(parents=True, exist_ok=True)
            self._folder, self._lock = folder, Lock(folder / _LOCK)
        self.here = folder / (there.name or "store")

    def __enter__(self) -> Outbox:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._lock.release()
        if error is not None:
            with _saying_why(self._folder):
                raise error

    def seal(self, stamps: Sequence[Any]) -> None:
        """Notes what the store is made of, just before it is whole."""
        with naming(self._folder):
            atomic.write(self._folder / ".stamps", _bytes(stamps))

    def holds(self, stamps: Sequence[Any]) -> bool:
        """Whether the store is here, whole, and made of this; anything else, or what is left of one, is removed."""
        with suppress(OSError):
            if (self.here / NAME).exists() and (self._folder / ".stamps").read_bytes() == _bytes(stamps):
                return True
        self._remove()
        return False

    def _remove(self) -> None:
        """Removes the store; its index first: what is left by who is killed meanwhile is none."""
        with suppress(OSError):
            (self.here / NAME).unlink(missing_ok=True)
        shutil.rmtree(self.here, ignore_errors=True)

    def send(self) -> None:
        """Sends what is not there yet, the index last, and removes all that is here.

        Raises:
            StoreError: it cannot be written there, or another store is there by now.
        """
        self._look()
        files = sorted(path for path in self.here.rglob("*") if path.is_file() and path.name != NAME)
        sent = self._sent()

        def one(path: Path) -> None:
            name = path.relative_to(self.here).as_posix()
            place = self.there / name
            with naming(place):
                if name in sent and place.exists() and place.stamp() == sent[name]:
                    return
                place.send(path)
                sent[name] = place.stamp()
                atomic.write(self._folder / ".sent", json.dumps(dict(sent)).encode())

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(one, files):
                pass
        self._look()
        with naming(self.there / NAME):
            (self.there / NAME).send(self.here / NAME)
        self.clear()

    def _look(self) -> None:
        """Raises StoreError where another machine has published another store there since this one was begun."""
        place = self.there / NAME
        with naming(place):
            if place.exists() and place.read_bytes() != (self.here / NAME).read_bytes():
                raise StoreError(
                    "another store was published there while this one was packed: remove that one, or take another "
                    f"address; this one waits in {self.here}",
                    str(self.there),
                )

    def clear(self) -> None:
        """Removes all that is here; the lock last, so that nothing of whoever takes it then is removed."""
        self._remove()
        with suppress(OSError):
            for path in list(self._folder.iterdir()):
                if path != self._lock.path:
                    path.unlink()
            self._lock.path.unlink()
            self._folder.rmdir()

    def _sent(self) -> dict[str, str]:
        """What has arrived, of this very store."""
        stamps = self._folder / ".sent"
        with suppress(OSError, ValueError):
            if stamps.stat().st_mtime_ns >= (self.here / NAME).stat().st_mtime_ns:
                return dict(json.loads(stamps.read_bytes()))
        return {}


@contextmanager
def _saying_why(folder: Path) -> Iterator[None]:
    """Says of what cannot be written in a folder of this machine why it is to be written there."""
    try:
        yield
    except StoreError as error:
        if isinstance(error, HeldError) or not (error.path or "").startswith(str(folder)):
            raise
        why = f"what is sent elsewhere is packed in the cache folder first; {CACHE} names another one"
        raise StoreError(f"{error.reason}: {why}", error.path) from error.__cause__


class Unsent:
    """All outboxes of this user, as `augrecipes cache` shows and clears caches.

    Attributes:
        name: of their folder.
        about: what they are for.
    """

    name, about = "packing", "stores not sent yet"

    @property
    def folder(self) -> Path:
        """Where they are. OSError where there is no cache folder."""
        return cache_folder() / self.name

    def files(self) -> Iterator[CacheFile]:
        """What waits in them, or is being packed."""
        for box in self._boxes():
            for path in box.rglob("*"):
                with suppress(OSError):
                    about = path.lstat()
                    if stat.S_ISREG(about.st_mode) and path != box / _LOCK:
                        yield CacheFile(path, about.st_size, about.st_mtime)

    def clear(self) -> tuple[int, int]:
        """Removes what nobody packs or sends just now. Returns how many files, and their bytes."""
        before = {file.path: file.size for file in self.files()}
        for box in list(self._boxes()):
            with suppress(HeldError):
                lock = Lock(box / _LOCK)
                for path in list(box.iterdir()):
                    if path != lock.path:
                        shutil.rmtree(path) if path.is_dir() else path.unlink()
                with suppress(OSError):
                    lock.path.unlink()
                    box.rmdir()
                lock.release()
        gone = [size for path, size in before.items() if not os.path.lexists(path)]
        return len(gone), sum(gone)

    def _boxes(self) -> Iterator[Path]:
        with suppress(FileNotFoundError, NotADirectoryError):
            yield from (path for path in self.folder.iterdir() if _BOX.fullmatch(path.name) and path.is_dir())


UNSENT = Unsent()


def _bytes(stamps: Sequence[Any]) -> bytes:
    return json.dumps(list(stamps), separators=(",", ":")).encode()
