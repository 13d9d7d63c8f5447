"""The samples in tar archives: files of one key, and where their bytes are; as arrays, which pickle small."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from augrecipes import memo
from augrecipes.caches import ARCHIVES
from augrecipes.errors import DataError
from augrecipes.sources.paths import PathTable
from augrecipes.sources.tar.members import Member, members_of
from augrecipes.sources.tar.opened import OPENED, Archive, stamp_of
from augrecipes.sources.tar.parts import split_name

_MOST_FILES = 256  # of a sample
_THREADS = 8  # that list archives: most of the time is waiting, where they lie far away
_LONGEST_NUMBER = 24  # bytes of a file that holds a class
_CLASS = b"cls"
_NUMBERS = "firsts", "extension", "starts", "sizes"

Numbers = NDArray[np.int64]
Grouped = dict[bytes, dict[bytes, int]]


@dataclass(frozen=True, eq=False)
class TarListing:
    """The samples of an archive, or of several, in their order.

    Attributes:
        archives: paths of them.
        stamps: what tells each from what takes its place.
        keys: of the samples, below their archives.
        firsts: int64 (n + 1): the files of sample i are those from `firsts[i]` to `firsts[i + 1]`.
        extensions: of files, each once.
        extension: int32, of each file its number in `extensions`.
        starts: int64, where the bytes of each file begin in its archive.
        sizes: int64, how many there are.
        labels: int64 (n,), where each sample has a file `cls` with an integer; or None.
    """

    archives: tuple[str, ...]
    stamps: tuple[str, ...]
    keys: PathTable
    firsts: Numbers
    extensions: tuple[str, ...]
    extension: NDArray[np.int32]
    starts: Numbers
    sizes: Numbers
    labels: Numbers | None

    def __len__(self) -> int:
        return len(self.keys)

    def digest(self) -> str:
        """Names the samples: keys, and names and sizes of their files, wherever the archives lie."""
        made = blake2b("\0".join(self.extensions).encode(errors="surrogateescape"), digest_size=16)
        for part in (self.keys.blob, self.keys.offsets, self.firsts, self.extension, self.sizes):
            made.update(part if isinstance(part, bytes) else np.ascontiguousarray(part).data)
        return made.hexdigest()


def list_archives(paths: Sequence[str]) -> TarListing:
    """The samples of archives, one behind another.

    Args:
        paths: of the archives, one at least.

    Raises:
        DataError: an archive cannot be read, is damaged, or has no sample in it; names it.
    """
    with ThreadPoolExecutor(min(_THREADS, len(paths))) as threads:
        found = list(threads.map(list_archive, paths))
    return found[0] if len(found) == 1 else _joined(found)


def list_archive(path: str) -> TarListing:
    """The samples of one archive: from its headers, or as they were found in these before.

    Raises:
        DataError: it cannot be read, is damaged, or has no sample in it.
    """
    stamp = stamp_of(path)
    OPENED.forget(path, stamp)
    archive = OPENED.at(path, stamp)
    about = archive.about()
    key = f"{about.st_dev:x}-{about.st_ino:x}"
    found = memo.memo(ARCHIVES, key, lambda: memo.stamp_of(archive.about()), lambda: _scanned(path, archive))
    offsets = found["offsets"]
    return TarListing(
        archives=(path,),
        stamps=(stamp,),
        keys=PathTable((os.fsencode(path),), found["keys"].tobytes(), offsets, np.zeros(len(offsets) - 1, np.int32)),
        extensions=tuple(os.fsdecode(found["extensions"].tobytes()).split("\0")),
        labels=found.get("labels"),
        **{name: found[name] for name in _NUMBERS},
    )


def _scanned(path: str, archive: Archive) -> memo.Arrays:
    """The samples of an archive as arrays."""
    members = members_of(path, archive)
    samples = _grouped(path, members)
    extensions = dict.fromkeys(extension for files in samples.values() for extension in files)
    numbers = {extension: number for number, extension in enumerate(extensions)}
    keys = PathTable.from_names(list(samples))
    order = [k for files in samples.values() for k in files.values()]
    labels = _labels(archive, members, samples)
    found: memo.Arrays = {
        "keys": memo.text(bytes(keys.blob)),
        "offsets": keys.offsets,
        "extensions": memo.text(b"\0".join(extensions)),
        "firsts": np.cumsum([0, *map(len, samples.values())], dtype=np.int64),
        "extension": np.array([numbers[extension] for files in samples.values() for extension in files], np.int32),
        "starts": np.array([members[k].start for k in order], np.int64),
        "sizes": np.array([members[k].size for k in order], np.int64),
    }
    return found if labels is None else {**found, "labels": labels}


def _grouped(path: str, members: Sequence[Member]) -> Grouped:
    """The files of each key by their extensions, by their numbers."""
    samples: Grouped = {}
    for k, (name, place, *_) in enumerate(members):
        if (parts := split_name(name)) is None:
            continue
        files = samples.setdefault(parts[0], {})
        if parts[1] in files:
            raise DataError(f"at byte {place:,}: {os.fsdecode(name)!r} is in the archive twice", path)
        files[parts[1]] = k
        if len(files) > _MOST_FILES:
            raise DataError(
                f"at byte {place:,}: {os.fsdecode(name)!r} is one of more than {_MOST_FILES} files of "
                f"sample {os.fsdecode(parts[0])!r}: a key ends at the first dot of the names of its files",
                path,
            )
    if not samples:
        raise DataError("has no sample in it: their files are called KEY.jpg, KEY.cls, KEY.mask.png and so on", path)
    return samples


def _labels(archive: Archive, members: Sequence[Member], samples: Grouped) -> Numbers | None:
    """The classes that samples have, where all have one."""
    found = []
    for files in samples.values():
        k = files.get(_CLASS)
        if k is None or members[k].size > _LONGEST_NUMBER:
            return None
        try:
            found.append(int(archive.at_most(members[k].start, members[k].size)))
        except ValueError:
            return None
    try:
        return np.array(found, np.int64)
    except OverflowError:
        return None


def _joined(listings: Sequence[TarListing]) -> TarListing:
    extensions = tuple(dict.fromkeys(extension for one in listings for extension in one.extensions))
    numbers = {extension: number for number, extension in enumerate(extensions)}
    of_all = [np.array([numbers[extension] for extension in one.extensions], np.int32) for one in listings]
    before = np.cumsum([0, *(len(one.starts) for one in listings)])
    labels = [one.labels for one in listings if one.labels is not None]
    return TarListing(
        archives=tuple(archive for one in listings for archive in one.archives),
        stamps=tuple(stamp for one in listings for stamp in one.stamps),
        keys=PathTable.concat([one.keys for one in listings]),
        firsts=np.concatenate([[0], *(one.firsts[1:] + at for one, at in zip(listings, before, strict=False))]),
        extensions=extensions,
        extension=np.concatenate([table[one.extension] for table, one in zip(of_all, listings, strict=True)]),
        starts=np.concatenate([one.starts for one in listings]),
        sizes=np.concatenate([one.sizes for one in listings]),
        labels=np.concatenate(labels) if len(labels) == len(listings) else None,
    )
