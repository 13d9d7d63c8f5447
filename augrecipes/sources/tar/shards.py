"""Tar archives in the layout of WebDataset as something with a length and items, in any order."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from augrecipes.errors import DataError
from augrecipes.images.reading import MAX_BYTES
from augrecipes.sources.paths import PathTable
from augrecipes.sources.tar.listing import TarListing, list_archives
from augrecipes.sources.tar.named import archives_named
from augrecipes.sources.tar.opened import OPENED
from augrecipes.sources.tar.parts import part_of, taken_out, value_of


class TarShards:
    """The samples in tar archives: an item is a dict of what the files of one key hold.

    Files are called `KEY.jpg`, `KEY.cls`, `KEY.mask.png` and so on; a key ends at the first dot. Pictures are given
    encoded, as bytes; `cls` is an integer, `json` what it holds, `npy` an array; whatever else, bytes. `mask.png` is
    called `mask`. Boxes, keypoints and a label that the JSON has are parts of the sample, too. It pickles.

    Args:
        archives: a path, a folder of archives, a pattern with `*` or braces, or several of these.

    Attributes:
        paths: of the samples: their archive, and their key.
        targets: the class of each, where all have one; or None.
        digest: names the list of samples.

    Raises:
        DataError: there are none; or an archive is damaged, or holds what is not read.

    >>> import io, tarfile, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "train-0.tar")
    ...     with tarfile.open(path, "w") as archive:
    ...         for name, data in (("a.cls", b"7"), ("a.caption.txt", b"a cat")):
    ...             info = tarfile.TarInfo(name)
    ...             info.size = len(data)
    ...             archive.addfile(info, io.BytesIO(data))
    ...     shards = TarShards(os.path.join(folder, "train-{0..0}.tar"))
    ...     shards[0], shards.targets.tolist()
    ({'__key__': 'a', 'cls': 7, 'caption.txt': 'a cat'}, [7])
    """

    def __init__(self, archives: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> None:
        several = [archives] if isinstance(archives, str | os.PathLike) else archives
        named = [path for one in several for path in archives_named(os.fspath(one))]
        if not named:
            raise DataError("no archive is given")
        if len({*named}) < len(named):
            raise DataError("is given twice", next(path for path in named if named.count(path) > 1))
        self._listing: TarListing = list_archives(named)

    @property
    def paths(self) -> PathTable:
        """Of the samples, each below its archive."""
        return self._listing.keys

    @property
    def targets(self) -> Any:
        """The class of each sample, int64 (n,), or None."""
        return self._listing.labels

    @property
    def digest(self) -> str:
        """Names the list of samples."""
        return self._listing.digest()

    def __len__(self) -> int:
        return len(self._listing)

    def __getitem__(self, index: int) -> dict[str, Any]:
        listing = self._listing
        keys = listing.keys
        at = range(len(keys))[index]
        archive = int(keys.root_of[at])
        path = listing.archives[archive]
        opened = OPENED.at(path, listing.stamps[archive])
        found: dict[str, Any] = {"__key__": keys.name(at)}
        for k in range(listing.firsts[at], listing.firsts[at + 1]):
            extension, size = listing.extensions[listing.extension[k]], int(listing.sizes[k])
            name = part_of(extension)
            if name in found:
                raise DataError(f"two of its files are called {name!r}, one of them .{extension}", keys[at])
            if size > MAX_BYTES:
                raise DataError(f".{extension}: {size:,} bytes are more than the limit of {MAX_BYTES:,}", keys[at])
            data = opened.bytes_at(int(listing.starts[k]), size)
            try:
                found[name] = value_of(extension, data)
            except DataError as error:
                raise error.with_path(keys[at]) from error.__cause__
        return taken_out(found)
