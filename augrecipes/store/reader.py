"""Opening and reading a packed store, in a folder of this machine or elsewhere; then its files are fetched whole."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.images.lossless import DTYPES
from augrecipes.machine import parse_size
from augrecipes.redaction import redact
from augrecipes.remote import Place, RemotePath, place_of
from augrecipes.store import columns, index
from augrecipes.store.cache import Fetched, FileCache
from augrecipes.store.columns import TABLE, StoredFile, are_offsets, holds_for_all
from augrecipes.store.disk import check_size, crc32, map_file, store_errors
from augrecipes.store.formats import FORMATS, Role, StoreFormat
from augrecipes.store.items import Items, MappedShards, Verify, list_files

_PART = "part"  # what a part says about itself, and a store does not


class Store:
    """A published store, mapped. Made by `open_store`; pickles as its path, and is opened again where it arrives.

    Safe to share between threads, and cheap to share with forked processes: tables are arrays in mapped files.

    Attributes:
        path: the folder, or its address.
        format: ``raw``, ``lossless`` or ``jpeg``.
        kind: what the caller called its rows.
        targets: name to role (``image`` or ``mask``).
        rows: number of rows.
        about: what the caller said about the store, as JSON gives it back.
        columns: the caller's columns: read-only arrays, and `Texts`.
        digest: stands for everything in the store (sha256 of its index).
        tables: where each target's items lie, as arrays: `augrecipes.store.items.Items`.
        index: what index.json says.
        checks: when items are compared with their checksums.
        fetched: has its files, of a store elsewhere.
        cache_size: how much of the disk files may take that are fetched.
    """

    def __init__(
        self, path: Place, content: dict[str, Any], verify: Verify | None = "first", cache_size: str | int | None = None
    ) -> None:
        self.digest: str = content["digest"]
        self.path: Place = path
        self.fetched: Fetched | None = None
        if isinstance(path, RemotePath):
            self.fetched = Fetched(path, self.digest, FileCache(None if cache_size is None else parse_size(cache_size)))
        else:
            self.path = Path(os.path.abspath(path))  # noqa: PTH100 (symbolic links are left as they are)
        self._mapped = self.fetched.mapped if self.fetched else partial(_here, Path(self.path))
        self.format: str = content["format"]
        self.kind: str = content["kind"]
        self.rows: int = content["rows"]
        self.about: dict[str, Any] = content["about"]
        self.targets: dict[str, Role] = content["targets"]
        self.index, self.checks, self.cache_size = content, verify, cache_size
        if self.format not in FORMATS:
            raise index.damaged_field(str(path / index.NAME), "format", f"{', '.join(FORMATS)} are known")
        file, name = content["columns"], str(path / index.COLUMNS)
        blob = self._mapped(index.COLUMNS, file["size"], file["checksum"])
        if crc32(blob) != file["checksum"]:
            raise StoreError("damaged: its checksum is not the one in the index; pack the store again", path=name)
        table = columns.load(blob, name)
        self.columns = {name: column for name, column in table.items() if not name.startswith(columns.OWN)}
        self.tables = {name: self._open(name, role, table) for name, role in self.targets.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return reopen_store, (self.path, self.digest, self.checks, self.cache_size)

    def __repr__(self) -> str:
        return f"Store({redact(str(self.path))!r}, {self.format}, {self.rows:,} rows of {', '.join(self.targets)})"

    def items(self, target: str, row: int) -> range:
        """Numbers of the items that a row has of a target: one, many (bags) or none (could not be read)."""
        return self.tables[target].of_row(row)

    def count(self, target: str) -> int:
        """Number of items of a target, in all rows."""
        return len(self.tables[target])

    def shape(self, target: str, item: int) -> tuple[int, ...]:
        """Height, width and channels of an image; height and width of a mask."""
        return self.tables[target].shape(item)

    def array(self, target: str, item: int) -> NDArray[Any]:
        """One item: uint8 H×W×C, 0 to 255, or a mask H×W. Read-only view of the file; decoded from jpeg.

        A view holds no copy: copy what is to be changed, or kept for long. Raises StoreError where a JPEG is damaged.
        """
        return self.tables[target].array(item)

    @property
    def encodes(self) -> bool:
        """Whether images are encoded: then a plan decodes what it needs of one, by `encoded`."""
        return FORMATS[self.format].encode is not None

    def encoded(self, target: str, item: int) -> Any:
        """An image that is not decoded yet, where the format encodes: parts of it are read by `view`.

        Of other formats, and of masks, the array: parts of a mapped one are read by slicing.
        """
        table = self.tables[target]
        if table.decode is None:
            return table.array(item)
        from augrecipes.images.encoded import encoded

        height, width, channels = table.shape(item)
        name = f"{table.file_of(item)}: item {item}"
        if (parts := FORMATS[self.format].undecoded) is not None:
            return table.undecoded(item, parts, name)
        data = bytes(table.whole_data(item))
        return encoded(data, name=name, channels=channels, max_pixels=height * width)

    def _open(self, name: str, role: Role, arrays: dict[str, Any]) -> Items:
        store_format = FORMATS[self.format].for_role(role)
        prefix = f"{columns.OWN}{name}/"
        table = {key.removeprefix(prefix): column for key, column in arrays.items() if key.startswith(prefix)}
        try:
            check(table, store_format, role, self.rows)
            files = list_files(name, store_format.suffix, self.index["shards"], table["rows"])
            check_files(table, files)
        except ValueError as error:
            raise index.damaged_field(str(self.path / index.COLUMNS), prefix, str(error)) from None
        if isinstance(self.path, Path):
            for file in files:
                with store_errors(self.path / file.name):
                    check_size(self.path / file.name, (self.path / file.name).stat(), file.size)
        mapped = self._mapped  # a store that is let go of lets go of its files: no circle leads back to it
        shards = MappedShards(files, lambda file: mapped(file.name, file.size, file.checksum))
        if self.fetched is None:
            shards.map_all()
        return Items(self.path, store_format, shards, table, self.checks)


def _here(folder: Path, name: str, size: int, checksum: int) -> mmap.mmap | bytes:
    """A file of a folder of this machine, mapped; its bytes are compared when they are read, if at all."""
    del checksum
    path = folder / name
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise StoreError("is a link that leaves the store: copy the file itself", str(path))
    return map_file(path, size)


def reopen_store(
    path: str | os.PathLike[str], digest: str, verify: Verify | None = "first", cache_size: str | int | None = None
) -> Store:
    """Opens the store of this digest again, as a worker does. StoreError where another is in its place by now.

    >>> reopen_store("nowhere", "1a2b")
    Traceback (most recent call last):
    augrecipes.errors.StoreError: nowhere: no such store
    """
    store = open_store(path, verify, cache_size=cache_size)
    if store.digest != digest:
        raise StoreError("was replaced by another store since it was opened: open it again", path=str(path))
    return store


def is_store(path: str | os.PathLike[str], *, damaged: bool = False) -> bool:
    """Whether a folder looks like a store; `open_store` says whether it is whole.

    Args:
        path: the folder, or its address.
        damaged: a store of which the index, or the columns, are gone counts, too.

    >>> is_store("nowhere")
    False
    """
    place = place_of(path)
    with store_errors(place):
        return (any if damaged else all)((place / name).is_file() for name in (index.NAME, index.COLUMNS))


def open_store(
    path: str | os.PathLike[str],
    verify: Verify | None = "first",
    *,
    cache_size: str | int | None = None,
    part: bool = False,
) -> Store:
    """Opens a published store; checks its index, its columns and the size of every file, but reads no pixels.

    A published store is never modified, and the process that does so regardless (cuts a file short under a running
    reader) is beyond what can be caught: the system ends the reader. Reading by calls instead of a map would catch it,
    and takes about a microsecond longer for 50 kB; copy a store that lies where others cut files to a disk of your own.
    Replacing it by another is safe: a reader keeps the files that it opened.

    Args:
        path: the folder; or an address such as ``s3://bucket/store``: its files are then fetched whole, each when it is
            first read from, compared with their checksums, and kept in the user's cache folder.
        verify: compare the bytes of each item with their checksum at its `first` read in this process, or `always`;
            None: only what is decoded anyway (`verify_store` reads all at once).
        cache_size: how much of the disk fetched files may take, of all stores together: bytes, or ``"50G"``; None: what
            AUGRECIPES_CACHE_SIZE says, or half of what is free.
        part: it is a part of a store, which is refused else.

    Raises:
        StoreError: not a store, a newer version, or not whole; names the file.

    >>> open_store("nowhere")
    Traceback (most recent call last):
    augrecipes.errors.StoreError: nowhere: no such store
    """
    place = place_of(path)
    if verify not in (None, "first", "always"):
        raise ValueError(f"verify must be None, 'first' or 'always', got {verify!r}")
    content = index.load(place)
    if (_PART in content["about"]) != part:
        a_part = "is a part of a store: augrecipes pack --merge makes a store of the folder that all parts are in"
        raise StoreError("is a store, and no part of one" if part else a_part, str(place))
    return Store(place, content, verify, cache_size)


def check(table: Mapping[str, NDArray[Any]], store_format: StoreFormat, role: Role, rows: int) -> None:
    """Raises ValueError where a target's columns could not have been written: then none of its items is safe to read.

    Args:
        table: the columns.
        store_format: the format of the files.
        role: image or mask.
        rows: number of rows.
    """
    if {name: getattr(column, "dtype", np.dtype("O")).str for name, column in table.items()} != TABLE:
        text = ", ".join(f"{name} {dtype}" for name, dtype in TABLE.items())
        raise ValueError(f"the columns of a target are {text}")
    size, shape, sample, first = (table[name] for name in ("size", "shape", "sample", "rows"))
    count = size.size
    wanted = dict.fromkeys(TABLE, (count,)) | {"shape": (count, 3), "rows": (rows + 1,)}
    for name, column in table.items():
        if column.shape != wanted[name]:
            raise ValueError(f"{name}: is {list(column.shape)}, not {list(wanted[name])}")
    if not are_offsets(first, count):
        raise ValueError("rows: there are items that belong to no row")
    itemsizes = np.array([dtype.itemsize for dtype in DTYPES])

    def possible(part: slice) -> NDArray[np.bool_]:
        height, width, channels = shape[part].T.astype(np.int64)
        known = (height > 0) & (width > 0) & (channels >= 0) & ((channels < 1) == (role == "mask"))
        known &= sample[part] < len(DTYPES)
        if store_format.decode is not None:
            return known & (store_format.lossless | (sample[part] == 0))
        pixels, rest = np.divmod(size[part], np.maximum(channels, 1) * itemsizes[sample[part] % len(DTYPES)])
        return known & (rest == 0) & (height * width == pixels)

    if not holds_for_all(count, possible):
        raise ValueError("shape, sample: there are items of no shape, or of another size than their shape")


def check_files(table: Mapping[str, NDArray[Any]], files: Sequence[StoredFile]) -> None:
    """Raises ValueError where items do not lie one behind another in their files."""
    for file in files:
        start, size = (table[name][file.numbers.start : file.numbers.stop] for name in ("start", "size"))

        def lies(part: slice, start: Any = start, size: Any = size, end: int = file.size) -> NDArray[np.bool_]:
            at, count = start[part], size[part]  # nothing overflows so
            room = np.append(start[part.start + 1 : part.stop + 1], end)[: len(at)]
            return (at >= 0) & (at <= end) & (count > 0) & (count <= room - at)

        if not holds_for_all(len(start), lies):
            raise ValueError("start, size: there are items outside their file, or within others")
