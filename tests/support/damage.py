"""Damaged files: random damage to bytes, and stores with forged indexes or columns whose checksums fit."""

import hashlib
import io
import json
import random
import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import AugrecipesError, DataError
from augrecipes.images.encoded import encoded
from augrecipes.packing.bake import canonical_jpeg
from augrecipes.sources.files import decode_mask

EXTREME = (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"\0\0\1\0", b"\xff\xff\xff\x7f")


def _replaced(data: bytearray, at: int, size: int, by: bytes) -> None:
    data[at : at + size] = by


# Damages of bytes at a position; images get the first seven.
DAMAGES: list[Callable[[bytearray, int, random.Random], None]] = [
    lambda data, at, rng: _replaced(data, at, 1, bytes([rng.randrange(256)])),
    lambda data, at, rng: _replaced(data, at, 1, bytes([data[at] ^ 1 << rng.randrange(8)])),
    lambda data, at, rng: _replaced(data, at, rng.randint(1, 9), b""),
    lambda data, at, rng: _replaced(data, at, 0, rng.randbytes(rng.randint(1, 9))),
    lambda data, at, rng: _replaced(data, at, 4, rng.choice(EXTREME)),
    lambda data, at, rng: _replaced(data, at, 0, bytes(data[: rng.randint(1, 60)])),
    lambda data, at, rng: _replaced(data, at, len(data) if rng.random() < 0.4 else 0, b""),
    lambda data, at, rng: _replaced(data, at, len(data), b""),
    lambda data, at, rng: _replaced(data, at, len(data), bytes(len(data) - at)),
    lambda data, at, rng: data.extend(rng.randbytes(rng.randrange(1, 200))),
]


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Damage an image in some places, mostly in its header; PNGs mostly get fitting checksums again."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(out) if rng.random() < 0.4 else min(len(out), 120))
        rng.choice(DAMAGES[:7])(out, at, rng)
        if not out:
            break
    return with_good_checksums(bytes(out)) if rng.random() < 0.7 else bytes(out)


def with_good_checksums(data: bytes) -> bytes:
    """Correct the checksums of a PNG's chunks, so that damage gets past their verification."""
    out, at = bytearray(data), 8
    while data[:4] == b"\x89PNG" and at + 12 <= len(out):
        end = at + 8 + struct.unpack_from(">I", out, at)[0]
        if end + 4 > len(out):
            break
        struct.pack_into(">I", out, end, zlib.crc32(out[at + 4 : end]))
        at = end + 4
    return bytes(out)


# -- files with checksums ---------------------------------------------------------------------------------------------


def each_damaged(folder: Path, rng: random.Random, times: int, but: tuple[str, ...] = ()) -> Iterator[str]:
    """Damage or remove one file of a folder after another, with all others whole; yield its name."""
    kept_whole = folder.with_name("kept whole")
    shutil.copytree(folder, kept_whole)
    files = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in but]
    for name in [name for name in files if (folder / name).stat().st_size] * times:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(kept_whole, folder)
        path = folder / name
        path.chmod(0o644)
        if rng.random() < 0.1:
            path.unlink()
        else:
            data = bytearray(path.read_bytes())
            rng.choice(DAMAGES)(data, rng.randrange(len(data)), rng)
            path.write_bytes(data)
        yield str(name)


def survives(folder: Path, read: Callable[[], Any], wanted: Any, damages: Iterator[str]) -> int:
    """Assert that damaged files read as whole ones or raise a typed error that names one; return how many errors."""
    refused = 0
    for name in damages:
        try:
            assert read() == wanted, name
        except AugrecipesError as error:
            refused += 1
            assert str(getattr(error, "path", None)).startswith(str(folder)), (name, error)
    return refused


# -- images ---------------------------------------------------------------------------------------------------------


def read_or_none(
    data: bytes, window: tuple[int, int, int, int] | None = None, **how: int | None
) -> NDArray[np.uint8] | None:
    """Decode a file or a window of it; None if it raises a DataError, which must name the file."""
    try:
        it = encoded(data, name="it", max_pixels=1_000_000, **how)  # type: ignore[arg-type]
        if window is None:
            return it.array()
        # A damaged header may state another size.
        return it.region(*window) if window[2] <= it.shape[0] and window[3] <= it.shape[1] else None
    except DataError as error:
        assert error.path == "it"
        assert str(error).startswith("it: ")
        return None


def some_window(rng: random.Random, height: int, width: int) -> tuple[int, int, int, int]:
    y, x = rng.randrange(height), rng.randrange(width)
    return y, x, rng.randint(y + 1, height), rng.randint(x + 1, width)


def check(data: bytes, rng: random.Random) -> str:
    """Read a damaged image, and return the outcome; only an array of the stated shape or a DataError passes."""
    try:
        it = encoded(data, name="it", max_pixels=1_000_000)
    except DataError as error:
        assert error.path == "it"
        return "no header"
    assert it.header.frames >= 1
    for channels in (None, 1, 4):
        image = read_or_none(data, channels=channels)
        assert image is None or (image.dtype == np.uint8 and channels in (None, image.shape[2]))
    try:
        mask = decode_mask(data, name="it", max_pixels=1_000_000)
        assert mask.ndim == 2
        assert mask.dtype in (np.uint8, np.uint16, np.int32)
    except DataError as error:
        assert error.path == "it"
    canonical_jpeg(data, it.header, it.turn)
    window = y0, x0, y1, x1 = some_window(rng, *it.shape[:2])
    whole, part = read_or_none(data), read_or_none(data, window)
    if whole is None:
        return "refused" if part is None else "part"
    assert whole.shape == it.shape
    assert whole.dtype == np.uint8
    np.testing.assert_array_equal(part, whole[y0:y1, x0:x1])
    return "read"


NAMES = ("../secret", "/etc/passwd", "a\0b", "..", "", "x" * 300, "a/../../b", "C:\\x", "\x1b[31m", "\ud800")
VALUES = (None, True, False, -1, 0, 1, 3, 255, 2**31, 2**63 - 1, 2**63, 10**30, -(10**30), 0.5, np.nan, np.inf)


def nested(depth: int) -> Any:
    found: Any = []
    for _ in range(depth):
        found = [found]
    return found


class Place(NamedTuple):
    """A field of an index: the keys that lead to it."""

    keys: tuple[Any, ...]

    def holder(self, content: Any) -> Any:
        for key in self.keys[:-1]:
            content = content[key]
        return content


def places(content: Any, before: tuple[Any, ...] = ()) -> Iterator[Place]:
    """Yield every field of an index except the digest, and the marker and version of the format."""
    pairs = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in pairs:
        if before or key not in ("digest", "store", "version"):
            yield Place((*before, key))
            yield from places(value, (*before, key))


Change = Callable[[Any, Any, random.Random], None]
"""A change of a dict or list at a key."""


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
    """Write an index with a fitting digest, whatever its content."""
    body = {key: value for key, value in content.items() if key != "digest"}

    def dump(value: Any) -> bytes:
        return (json.dumps(value, sort_keys=True, indent=1) + "\n").encode("ascii")

    whole = {**body, "digest": hashlib.sha256(dump(body)).hexdigest()}
    (store / "index.json").unlink(missing_ok=True)
    (store / "index.json").write_bytes(dump(whole))


def forge_field(store: Path, content: dict[str, Any], place: Place, change: Change, rng: random.Random) -> None:
    """Write the index `content` with one field changed."""
    changed = deepcopy(content)
    change(place.holder(changed), place.keys[-1], rng)
    write_index(store, changed)


class StoredArray(NamedTuple):
    """The position of an array in a file of columns."""

    name: str
    head: int
    values: int
    end: int
    itemsize: int


def arrays_in(data: bytes) -> list[StoredArray]:
    """Locate the arrays in an `.npz`."""
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
"""Forged replacements of texts in an array's header."""


def forge_column(store: Path, content: dict[str, Any], data: bytes, rng: random.Random) -> str:
    """Change a value of a column, its header, or any byte of the archive; return what was changed."""
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
    """Write a file of columns, and its checksum into the index."""
    (store / "columns.npz").chmod(0o644)
    (store / "columns.npz").write_bytes(data)
    write_index(store, {**content, "columns": {"size": len(data), "checksum": zlib.crc32(data)}})
