"""Stores whose index, or whose columns, say something else than was written, with checksums that fit."""

import hashlib
import io
import json
import random
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

NAMES = ("../secret", "/etc/passwd", "a\0b", "..", "", "x" * 300, "a/../../b", "C:\\x", "\x1b[31m", "\ud800")
VALUES = (None, True, False, -1, 0, 1, 3, 255, 2**31, 2**63 - 1, 2**63, 10**30, -(10**30), 0.5, np.nan, np.inf)


def nested(depth: int) -> Any:
    found: Any = []
    for _ in range(depth):
        found = [found]
    return found


class Place(NamedTuple):
    """One field of an index: the keys that lead to it."""

    keys: tuple[Any, ...]

    def holder(self, content: Any) -> Any:
        for key in self.keys[:-1]:
            content = content[key]
        return content


def places(content: Any, before: tuple[Any, ...] = ()) -> Iterator[Place]:
    """Every field of an index, but the digest, and the mark and version that say what kind of index it is."""
    pairs = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in pairs:
        if before or key not in ("digest", "store", "version"):
            yield Place((*before, key))
            yield from places(value, (*before, key))


Change = Callable[[Any, Any, random.Random], None]
"""Changes what a holder has at a key."""


def delete(holder: Any, key: Any, rng: random.Random) -> None:
    del holder[key]


def retype(holder: Any, key: Any, rng: random.Random) -> None:
    holder[key] = deepcopy(rng.choice(["x", [], {}, [1], {"x": 1}, None, True, 0.5, nested(50), [holder[key]]]))


def number(holder: Any, key: Any, rng: random.Random) -> None:
    holder[key] = rng.choice(VALUES)


def nudge(holder: Any, key: Any, rng: random.Random) -> None:
    if isinstance(holder[key], int | float):
        holder[key] += rng.choice([-1, 1, 4, 64, -64])
    else:
        number(holder, key, rng)


def path(holder: Any, key: Any, rng: random.Random) -> None:
    holder[key] = rng.choice(NAMES)


def rename(holder: Any, key: Any, rng: random.Random) -> None:
    value = holder.pop(key)
    if isinstance(holder, dict):
        holder[rng.choice(NAMES)] = value


def double(holder: Any, key: Any, rng: random.Random) -> None:
    if isinstance(holder, dict):
        holder[f"{key}2"] = deepcopy(holder[key])
    else:
        holder.insert(key, deepcopy(holder[key]))


def exchange(holder: Any, key: Any, rng: random.Random) -> None:
    other = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    holder[key], holder[other] = holder[other], holder[key]


def deepen(holder: Any, key: Any, rng: random.Random) -> None:
    holder[key] = nested(rng.choice([500, 900]))


CHANGES: tuple[Change, ...] = (delete, retype, number, nudge, path, rename, double, exchange, deepen)


def write_index(store: Path, content: dict[str, Any]) -> None:
    """An index with a digest that fits, whatever it says."""
    body = {key: value for key, value in content.items() if key != "digest"}

    def dump(value: Any) -> bytes:
        return (json.dumps(value, sort_keys=True, indent=1) + "\n").encode("ascii")

    whole = {**body, "digest": hashlib.sha256(dump(body)).hexdigest()}
    (store / "index.json").unlink(missing_ok=True)
    (store / "index.json").write_bytes(dump(whole))


def forge_field(store: Path, content: dict[str, Any], place: Place, change: Change, rng: random.Random) -> None:
    """Changes one field of the index that `content` is."""
    changed = deepcopy(content)
    change(place.holder(changed), place.keys[-1], rng)
    write_index(store, changed)


class StoredArray(NamedTuple):
    """Where an array lies in a file of columns."""

    name: str
    head: int
    values: int
    end: int
    itemsize: int


def arrays_in(data: bytes) -> list[StoredArray]:
    """The arrays in an `.npz`."""
    found = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            at = info.header_offset
            head = at + 30 + int.from_bytes(data[at + 26 : at + 28], "little")
            head += int.from_bytes(data[at + 28 : at + 30], "little")
            values = head + 10 + int.from_bytes(data[head + 8 : head + 10], "little")
            itemsize = int(re.findall(rb"'[<|][a-z](\d)'", data[head:values])[0])
            found.append(StoredArray(info.filename, head, values, head + info.file_size, itemsize))
    return found


HEADS = {
    b"'<i8'": [b"'|O8'", b"'<f8'", b"'<u8'", b"'|S8'", b"'<c8'", b"'<x8'"],
    b"'|u1'": [b"'|b1'", b"'|i1'", b"'|V1'", b"'|O1'", b"'|V9'"],
    b"False": [b"True ", b"None "],
    b"(": [b"[", b"(-", b"(9"],
    b"shape": [b"sheep", b"descr"],
}
"""What may stand in the place of what stands in the head of an array."""


def forge_column(store: Path, content: dict[str, Any], data: bytes, rng: random.Random) -> str:
    """Changes one value of a column, what its head says of it, or some byte of the archive; what it was."""
    array = rng.choice(arrays_in(data))
    changed, what = bytearray(data), rng.randrange(8)
    if what == 0:
        at = rng.randrange(len(data))
        changed[at] ^= 1 << rng.randrange(8)
    elif what < 3:
        known = [old for old in HEADS if old in data[array.head : array.values]]
        old = rng.choice(known)
        new, at = rng.choice(HEADS[old]), data.index(old, array.head)
        changed[at : at + len(new)] = new
    elif array.end > array.values:
        size = array.itemsize
        at = array.values + rng.randrange((array.end - array.values) // size) * size
        ends = b"\xff" * size, bytes(size), b"\xff" * (size - 1) + b"\x7f", b"\1".ljust(size, b"\0")
        changed[at : at + size] = rng.choice([*ends, rng.randbytes(size)])
    write_columns(store, content, bytes(changed))
    return f"{array.name}, in way {what}"


def write_columns(store: Path, content: dict[str, Any], data: bytes) -> None:
    """A file of columns that has the checksum which the index says."""
    (store / "columns.npz").chmod(0o644)
    (store / "columns.npz").write_bytes(data)
    write_index(store, {**content, "columns": {"size": len(data), "checksum": zlib.crc32(data)}})
