"""index.json: what a store says of itself. Written last; its digest stands for everything else that it names.

Nothing is taken from it, or from anything else in JSON, before it is compared with a shape (`check`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.images.format import UnreadableError
from augrecipes.images.reading import read_bytes
from augrecipes.remote import Place, RemotePath
from augrecipes.store import columns
from augrecipes.store.columns import Texts
from augrecipes.store.disk import crc32, naming, write_file

VERSION = 3
NAME = "index.json"
COLUMNS = "columns.npz"
MARK = "augrecipes"

_SHOWN = 60  # characters of the name of a field
SIZE = range(2**63)
QUALITY = (None, range(1, 101))
# Names become names of files: nothing that leads out of the folder may pass.
NAMED: Callable[[str], bool] = str.isidentifier
FILE = {"size": SIZE, "checksum": range(2**32)}
INDEX: dict[str, Any] = {
    "format": str,
    "kind": str,
    "quality": QUALITY,
    "rows": SIZE,
    "about": dict,
    "targets": {NAMED: ("image", "mask")},
    "shards": [{"rows": range(1, 2**63), "files": {NAMED: FILE}, "part?": re.compile(r"part-\d+-of-\d+")}],
    "columns": FILE,
}


def shard_name(target: str, number: int, suffix: str, part: str | None = None) -> str:
    """Returns the name of the file of one target in a shard, below its store.

    >>> shard_name("image", 3, ".bin"), shard_name("image", 0, ".bin", "part-1-of-2")
    ('image-00003.bin', 'part-1-of-2/image-00000.bin')
    """
    return f"{part + '/' if part else ''}{target}-{number:05}{suffix}"


def stage_folder(store: Path) -> Path:
    """Returns where a store grows until it is published."""
    return store.parent / f".{store.name}.partial"


def render(content: Mapping[str, Any]) -> bytes:
    """Returns the bytes of an index: the same for the same content."""
    marked = {**content, "version": VERSION, "store": MARK}
    return _dump({**marked, "digest": _digest(marked)})


def load(store: Place) -> dict[str, Any]:
    """Reads the index of a store and checks it; its "digest" is included. Raises StoreError."""
    path = store / NAME
    with naming(store):
        if isinstance(store, RemotePath):
            if not path.exists():
                raise StoreError(f"no such store: there is no {NAME} there", path=str(store))
        elif not store.exists() and stage_folder(store).exists():
            raise StoreError("not finished: packing it was interrupted, or goes on; run it again", path=str(store))
        elif not store.is_dir():
            raise StoreError("not a store: it is a file" if store.exists() else "no such store", path=str(store))
        elif not path.exists():
            raise StoreError(f"not a store: there is no {NAME} in it", path=str(store))
    content, fits = read(path)
    version = content.get("version")
    if version != VERSION:
        message = f"a store of version {version!r}; this augrecipes reads version {VERSION}: pack it again"
        raise StoreError(message, path=str(path))
    if not fits:
        raise StoreError("edited or damaged: its digest does not fit; pack the store again", path=str(path))
    check(content, INDEX, str(path))
    targets, shards = content["targets"].keys(), content["shards"]
    rows = sum(shard["rows"] for shard in shards)
    if not targets or rows != content["rows"] or any(shard["files"].keys() != targets for shard in shards):
        raise wrong(str(path), "shards, targets", "they do not hold all rows, of all targets")
    return content


def read(path: Place) -> tuple[dict[str, Any], bool]:
    """Reads an index of any version: what it says, and whether its digest fits. Raises StoreError where it is none."""
    try:
        data = read_bytes(path, image=False)
        content = json.loads(data)
    except (UnreadableError, ValueError, RecursionError) as error:
        raise StoreError(f"not the index of a store, or a damaged one: {error}", path=str(path)) from None
    if not isinstance(content, dict) or content.get("store") != MARK:
        raise StoreError("not the index of a store", path=str(path))
    body = {key: value for key, value in content.items() if key != "digest"}
    try:
        return content, content.get("digest") == _digest(body) and _dump(content) == data
    except (ValueError, RecursionError):  # not a number, or nested deeper than is ever written
        return content, False


def as_json(about: Mapping[str, Any]) -> dict[str, Any]:
    """Returns `about` as it will come back from an index. Raises StoreError for what JSON cannot hold."""
    try:
        return json.loads(_dump(about))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"what is said about a store must be JSON: {error}") from None


def _dump(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, sort_keys=True, indent=1, allow_nan=False) + "\n").encode("ascii")


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(_dump(content)).hexdigest()


def publish(
    folder: Place,
    items: Mapping[str, Mapping[str, NDArray[Any]]],
    tables: Mapping[str, NDArray[Any] | Texts],
    said: Mapping[str, Any],
    shards: Sequence[Mapping[str, Any]],
) -> None:
    """Writes the columns and, last, the index of a folder in which all shards are.

    Args:
        folder: the store.
        items: what is known of each target's items.
        tables: the caller's columns.
        said: what the index says.
        shards: what it says of them.

    Raises:
        StoreError: the folder is another store already, or the disk is full.
    """
    own = {f"{columns.OWN}{name}/{key}": column for name, table in items.items() for key, column in table.items()}
    blob = columns.render({**tables, **own})
    described = {"size": len(blob), "checksum": crc32(blob)}
    last = render({**said, "shards": list(shards), "columns": described})
    with naming(folder / NAME):
        if (folder / NAME).exists() and (folder / NAME).read_bytes() != last:
            raise StoreError(
                "exists already, and a published store is never modified; remove it first", str(folder / NAME)
            )
    for path, data in ((folder / COLUMNS, blob), (folder / NAME, last)):
        if isinstance(path, RemotePath):
            with naming(path):
                path.write_bytes(data)
        else:
            write_file(path, data)


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Returns the names of what differs, the deepest that are objects in both."""
    found = []
    for name in sorted({*one, *other}):
        a, b = one.get(name), other.get(name)
        if a != b:
            found += differences(a, b) if isinstance(a, dict) and isinstance(b, dict) else [name]
    return found


def check(content: Any, shape: Any, path: str, inside: str = "") -> None:
    """Raises StoreError, naming the file `path` and the field, unless `content` is of a shape.

    Args:
        content: what was read from JSON.
        shape: a type; a range of whole numbers; a pattern of text; a value; a list of one shape; a tuple of shapes, of
            which one fits; a dict of the shapes of fields (a ? marks one that may be missing; others may be there), or
            with a function as its key, which all keys pass (`str`: any).
        path: of the file.
        inside: what stands before the names of fields.

    >>> check({"size": -1, "checksum": 0}, FILE, "s/index.json", "columns")
    Traceback (most recent call last):
    augrecipes.errors.StoreError: s/index.json: columns.size: is missing, or nothing that is written there; it was ...
    """
    try:
        place = _misfit(content, shape, inside)
    except RecursionError:
        place = inside
    if place is not None:
        raise wrong(path, place, "is missing, or nothing that is written there")


def wrong(path: str, place: str, what: str) -> StoreError:
    """Returns the error for a field or a column, `place`, of the file `path` that is not as it is written."""
    return StoreError(f"{place}: {what}; it was edited or damaged: pack the store again", path=path)


def _misfit(value: Any, shape: Any, place: str) -> str | None:
    """Where a value, or the first one inside it, is not of its shape; None where all are."""
    inner: list[tuple[Any, Any, Any]] = []
    match shape:
        case list():
            fits = isinstance(value, list)
            inner = [(k, one, shape[0]) for k, one in enumerate(value)] if fits else []
        case dict():
            fits = isinstance(value, dict)
            for key, said in shape.items() if fits else ():
                if callable(key):
                    inner += [(name, one, said if key is str or key(name) else ()) for name, one in value.items()]
                elif (name := key.removesuffix("?")) in value or name == key:
                    inner.append((name, value.get(name), said if name in value else ()))
        case tuple():
            fits = any(_misfit(value, one, "") is None for one in shape)
        case type():
            fits = type(value) is shape
        case range():
            fits = type(value) is int and value in shape
        case re.Pattern():
            fits = isinstance(value, str) and shape.fullmatch(value) is not None
        case _:
            fits = type(value) is type(shape) and value == shape
    if not fits:
        return place
    below = f"{place}." if place else ""
    found = (_misfit(one, said, f"{below}{str(name)[:_SHOWN]}") for name, one, said in inner)
    return next((one for one in found if one is not None), None)
