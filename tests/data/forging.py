"""Stores whose index, or whose columns, say something else than was written, with checksums that fit."""

from __future__ import annotations

import hashlib
import json
import random
import zlib
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

NAMES = ("../secret", "/etc/passwd", "a\0b", "..", "", "x" * 300, "a/../../b", "C:\\x", "\x1b[31m", "\ud800")
VALUES = (
    None,
    True,
    False,
    -1,
    0,
    1,
    3,
    255,
    2**31,
    2**63 - 1,
    2**63,
    10**30,
    -(10**30),
    0.5,
    float("nan"),
    float("inf"),
)


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
    (store / "index.json").chmod(0o644)
    (store / "index.json").write_bytes(dump(whole))


def forge_field(store: Path, content: dict[str, Any], place: Place, change: Change, rng: random.Random) -> None:
    """Changes one field of the index that `content` is."""
    changed = deepcopy(content)
    change(place.holder(changed), place.keys[-1], rng)
    write_index(store, changed)


def forge_column(store: Path, content: dict[str, Any], data: bytes, rng: random.Random) -> str:
    """Changes some bytes of one column; its name."""
    name = rng.choice(sorted(content["columns"]["entries"]))
    entry = content["columns"]["entries"][name]
    part = rng.choice([entry["text"], entry["offsets"]]) if "text" in entry else entry
    size = int(part["dtype"][2:])
    count = max(1, size)
    for length in part["shape"]:
        count *= length
    changed = bytearray(data)
    if count:
        at = part["at"] + rng.randrange(max(1, count // size)) * size
        ends = b"\xff" * size, bytes(size), b"\xff" * (size - 1) + b"\x7f", b"\1".ljust(size, b"\0")
        value = rng.choice([*ends, rng.randbytes(size)])
        changed[at : at + size] = value
    (store / "columns.arrays").chmod(0o644)
    (store / "columns.arrays").write_bytes(changed)
    write_index(store, {**content, "columns": {**content["columns"], "checksum": zlib.crc32(changed)}})
    return name
