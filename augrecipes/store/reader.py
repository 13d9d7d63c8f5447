"""Open and read a packed store: in a local folder, or at an address, whose files are fetched whole."""

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
from augrecipes.store.cache import FileCache, RemoteFiles
from augrecipes.store.columns import TABLE, StoredFile, are_offsets, holds_for_all
from augrecipes.store.disk import check_size, crc32, map_file, store_errors
from augrecipes.store.formats import FORMATS, Role, StoreFormat
from augrecipes.store.items import Items, MappedShards, Verify, list_files

_PART = "part"  # the key of `about` that marks a part of a store


class Store:
    """A published store, mapped into memory. Made by `open_store`; pickles as its path, and unpickling opens it again.

    Threads may share it, and forked processes share its memory: tables are arrays in mapped files.

    Attributes:
        path: the folder, or its address.
        format: ``raw``, ``lossless`` or ``jpeg``.
        kind: the caller's name for the kind of its rows.
        targets: name to role (``image`` or ``mask``).
        rows: number of rows.
        about: the caller's description of the store, as JSON gives it back.
        columns: the caller's columns: read-only arrays, and `Texts`.
        digest: SHA-256 of the index, which identifies the store's whole content.
        tables: each target's items: `augrecipes.store.items.Items`.
        index: the content of index.json.
        checks: when items are compared with their checksums.
        fetched: the files of a remote store; None for a local one.
        cache_size: how much disk space fetched files may take.
    """

    def __init__(
        self, path: Place, content: dict[str, Any], verify: Verify | None = "first", cache_size: str | int | None = None
    ) -> None:
        self.digest: str = content["digest"]
        self.path: Place = path
        self.fetched: RemoteFiles | None = None
        if isinstance(path, RemotePath):
            limit = None if cache_size is None else parse_size(cache_size)
            self.fetched = RemoteFiles(path, self.digest, FileCache(limit))
        else:
            self.path = Path(os.path.abspath(path))  # noqa: PTH100 (symbolic links are left as they are)
        self._mapped = self.fetched.mapped if self.fetched else partial(_map_local, Path(self.path))
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
        """Return the numbers of a row's items of a target: one, many (bags) or none (could not be read)."""
        return self.tables[target].of_row(row)

    def count(self, target: str) -> int:
        """Return the number of items of a target, in all rows."""
        return len(self.tables[target])

    def shape(self, target: str, item: int) -> tuple[int, ...]:
        """Return height, width and channels of an image; height and width of a mask."""
        return self.tables[target].shape(item)

    def array(self, target: str, item: int) -> NDArray[Any]:
        """Return one item: an image H×W×C or a mask H×W, in the dtype that was packed; of jpeg uint8, 0 to 255.

        Raw items are read-only views of the file: copy what you change. Raises StoreError where an item is damaged.
        """
        return self.tables[target].array(item)

    @property
    def encodes(self) -> bool:
        """Whether the format encodes images; then `encoded` lets a plan decode only the window that it needs."""
        return FORMATS[self.format].encode is not None

    def encoded(self, target: str, item: int) -> Any:
        """Return an image that is not decoded yet, whose `view` decodes a window.

        For raw items, such as the masks of jpeg stores, return the array: slice it to read a window.
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
        mapped = self._mapped  # not `self`: a reference cycle would keep the files of a deleted store open
        shards = MappedShards(files, lambda file: mapped(file.name, file.size, file.checksum))
        if self.fetched is None:
            shards.map_all()
        return Items(self.path, store_format, shards, table, self.checks)


def _map_local(folder: Path, name: str, size: int, checksum: int) -> mmap.mmap | bytes:
    """Map a file of a local folder; its items are compared with their checksums when they are read, if at all."""
    path = folder / name
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise StoreError("is a link that leaves the store: copy the file itself", str(path))
    return map_file(path, size)


def reopen_store(
    path: str | os.PathLike[str], digest: str, verify: Verify | None = "first", cache_size: str | int | None = None
) -> Store:
    """Open a store again, as a worker does. StoreError where a store of another digest is there by now.

    >>> reopen_store("nowhere", "1a2b")
    Traceback (most recent call last):
    augrecipes.errors.StoreError: nowhere: no such store
    """
    store = open_store(path, verify, cache_size=cache_size)
    if store.digest != digest:
        raise StoreError("was replaced by another store since it was opened: open it again", path=str(path))
    return store


def is_store(path: str | os.PathLike[str], *, damaged: bool = False) -> bool:
    """Whether a folder looks like a store; `open_store` checks whether it is complete.

    Args:
        path: the folder, or its address.
        damaged: also accept a store whose index or columns are missing.

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
    """Open a published store; check its index, its columns and the size of every file, but read no pixels.

    A published store is never modified. If another process truncates a mapped file regardless, the system kills the
    reader (SIGBUS), which cannot be caught; where others may do so, copy the store to a disk of your own. Replacing a
    store by another is safe: a reader keeps the files that it opened.

    Args:
        path: the folder; or an address such as ``s3://bucket/store``: its files are then fetched whole, each when it is
            first read from, compared with their checksums, and kept in the user's cache folder.
        verify: compare the bytes of each item with their checksum at its `first` read in this process, or `always`;
            None: only encoded items (`verify_store` reads all at once).
        cache_size: how much disk space the fetched files of all stores may take: bytes, or ``"50G"``; None:
            AUGRECIPES_CACHE_SIZE, or half of the free space.
        part: open a part of a store, which is refused otherwise.

    Raises:
        StoreError: not a store, of another version, or incomplete; names the file.

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
    """Raise ValueError where a target's columns are inconsistent: then none of its items is safe to read.

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
    shapes = dict.fromkeys(TABLE, (count,)) | {"shape": (count, 3), "rows": (rows + 1,)}
    for name, column in table.items():
        if column.shape != shapes[name]:
            raise ValueError(f"{name}: is {list(column.shape)}, not {list(shapes[name])}")
    if not are_offsets(first, count):
        raise ValueError("rows: there are items that belong to no row")
    itemsizes = np.array([dtype.itemsize for dtype in DTYPES])

    def is_consistent(part: slice) -> NDArray[np.bool_]:
        height, width, channels = shape[part].T.astype(np.int64)
        valid = (height > 0) & (width > 0) & (channels >= 0) & ((channels < 1) == (role == "mask"))
        valid &= sample[part] < len(DTYPES)
        if store_format.decode is not None:
            return valid & (store_format.lossless | (sample[part] == 0))
        pixels, rest = np.divmod(size[part], np.maximum(channels, 1) * itemsizes[sample[part] % len(DTYPES)])
        return valid & (rest == 0) & (height * width == pixels)

    if not holds_for_all(count, is_consistent):
        raise ValueError("shape, sample: there are items of no shape, or of another size than their shape")


def check_files(table: Mapping[str, NDArray[Any]], files: Sequence[StoredFile]) -> None:
    """Raise ValueError where items overlap in their file, or leave it."""
    for file in files:
        start, size = (table[name][file.numbers.start : file.numbers.stop] for name in ("start", "size"))

        def fits(part: slice, start: Any = start, size: Any = size, end: int = file.size) -> NDArray[np.bool_]:
            at, count = start[part], size[part]  # compared so that nothing overflows
            room = np.append(start[part.start + 1 : part.stop + 1], end)[: len(at)]
            return (at >= 0) & (at <= end) & (count > 0) & (count <= room - at)

        if not holds_for_all(len(start), fits):
            raise ValueError("start, size: there are items outside their file, or within others")
