"""Stores that are to be elsewhere: each shard is sent once it is whole and let go of here, the index comes last.

What is known of the shards that were sent, and the shard that grows, lie in the user's cache folder, where an
interrupted run finds them. Nobody opens a store without its index.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from augrecipes.cache import CACHE, CacheFile, cache_folder
from augrecipes.errors import StoreError
from augrecipes.remote import RemotePath
from augrecipes.store.disk import HeldError, Lock, naming
from augrecipes.store.index import NAME

_BOX_NAME = 24  # characters; others' folders may lie beside ours


class Sending:
    """Sends the shards of a store to its address.

    Args:
        there: the address.

    Attributes:
        root: the folder of this machine where the store is staged.
    """

    def __init__(self, there: RemotePath) -> None:
        self.there = there
        try:
            self.root = UNSENT.folder / blake2b(there.url.encode()).hexdigest()[:_BOX_NAME]
        except OSError as error:
            raise StoreError(f"there is no cache folder to pack in ({error}): say one with {CACHE}") from None
        with saying_why(self.root):
            self.root.mkdir(parents=True, exist_ok=True)

    def send(self, paths: Sequence[Path]) -> None:
        """Sends files, and lets go of them here. StoreError where a store was published there meanwhile."""
        self.refuse_other()
        for path in paths:
            try:
                with naming(self.there / path.name):
                    (self.there / path.name).send(path)
            except StoreError as error:
                cause = error.__cause__
                if not isinstance(cause, OSError) or cause.filename != str(path):
                    raise
                with saying_why(self.root), naming(path):  # it is the file of this machine that is not there
                    raise cause from None
        for path in paths:
            path.unlink()

    def refuse_other(self) -> None:
        """StoreError where a store is published there."""
        place = self.there / NAME
        with naming(place):
            if place.exists():
                raise StoreError(
                    "exists already, and a published store is never modified; remove it first, or take another address",
                    str(self.there),
                )

    def sizes(self) -> dict[str, int]:
        """The files that are there, and their bytes."""
        try:
            with naming(self.there):
                return self.there.files()
        except StoreError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return {}
            raise

    def forget(self, kept: Collection[str], suffixes: Collection[str]) -> None:
        """Removes what an earlier run sent that is none of these."""
        for name in self.sizes().keys() - set(kept):
            if "/" not in name and name.endswith(tuple(suffixes)):
                with naming(self.there / name):
                    (self.there / name).unlink()


@contextmanager
def saying_why(folder: Path) -> Iterator[None]:
    """Says of what cannot be written in a folder of this machine why it is to be written there."""
    try:
        with naming(folder):
            yield
    except StoreError as error:
        if isinstance(error, HeldError) or not (error.path or "").startswith(str(folder)):
            raise
        why = f"what is sent elsewhere is packed in the cache folder first; {CACHE} names another one"
        raise StoreError(f"{error.reason}: {why}", error.path) from error.__cause__


class Unsent:
    """What is staged of stores that are to be elsewhere, as `augrecipes cache` shows and clears caches.

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
        for root in self._roots():
            for path in root.rglob("*"):
                with suppress(OSError):
                    about = path.lstat()
                    if stat.S_ISREG(about.st_mode) and path != root / "lock":
                        yield CacheFile(path, about.st_size, about.st_mtime)

    def clear(self) -> tuple[int, int]:
        """Removes what nobody packs or sends just now. Returns how many files, and their bytes."""
        before = {file.path: file.size for file in self.files()}
        for root in list(self._roots()):
            with suppress(HeldError):
                lock = Lock(root / "lock")
                shutil.rmtree(root, ignore_errors=True)
                lock.release()
        gone = [size for path, size in before.items() if not os.path.lexists(path)]
        return len(gone), sum(gone)

    def _roots(self) -> Iterator[Path]:
        with suppress(FileNotFoundError, NotADirectoryError):
            for path in self.folder.iterdir():
                if len(path.name) == _BOX_NAME and set(path.name) <= set("0123456789abcdef") and path.is_dir():
                    yield path


UNSENT = Unsent()
