"""index.json: what a store says of itself. Written last; its digest stands for everything else that it names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from augrecipes.errors import StoreError
from augrecipes.images.format import UnreadableError
from augrecipes.images.reading import read_bytes
from augrecipes.sources.remote import Place, RemotePath
from augrecipes.sources.store import schema
from augrecipes.sources.store.disk import naming

VERSION = 3
NAME = "index.json"
COLUMNS = "columns.npz"
MARK = "augrecipes"
OLD = (1, 2)  # of 0.1


def shard_name(target: str, number: int, suffix: str, part: str | None = None) -> str:
    """The file of one target in a shard, below its store.

    >>> shard_name("image", 3, ".bin"), shard_name("image", 0, ".bin", "part-1-of-2")
    ('image-00003.bin', 'part-1-of-2/image-00000.bin')
    """
    return f"{part + '/' if part else ''}{target}-{number:05}{suffix}"


def stage_folder(store: Path) -> Path:
    """Where a store grows until it is published."""
    return store.parent / f".{store.name}.partial"


def render(content: Mapping[str, Any]) -> bytes:
    """The bytes of an index: the same for the same content."""
    marked = {**content, "version": VERSION, "store": MARK}
    return _dump({**marked, "digest": _digest(marked)})


def load(store: Place) -> dict[str, Any]:
    """The index of a store, checked; its "digest" included. Raises StoreError."""
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
    try:
        data = read_bytes(path, picture=False)
        content = json.loads(data)
    except (UnreadableError, ValueError, RecursionError) as error:
        raise StoreError(f"not the index of a store, or a damaged one: {error}", path=str(path)) from None
    if not isinstance(content, dict) or content.get("store") != MARK:
        raise StoreError("not the index of a store", path=str(path))
    version = content.get("version")
    if type(version) is int and version in OLD:
        message = "a store of augrecipes 0.1: `augrecipes convert-store OLD NEW` makes one of it that is read today"
        raise StoreError(message, path=str(path))
    if type(version) is not int or version < VERSION:
        raise StoreError(f"the index of a store of version {version!r}, which never was", path=str(path))
    if version > VERSION:
        message = f"a store of version {version}; this augrecipes reads version {VERSION}: install a newer one"
        raise StoreError(message, path=str(path))
    schema.check(schema.Index, content, str(path))
    if sum(shard["rows"] for shard in content["shards"]) != content["rows"] or any(
        shard["sizes"].keys() != content["targets"].keys() for shard in content["shards"]
    ):
        raise schema.wrong(str(path), "shards", "they do not hold all rows, of all targets")
    if not is_its_own(content, data):
        raise StoreError("edited or damaged: its digest does not fit; pack the store again", path=str(path))
    return content


def is_its_own(content: Mapping[str, Any], data: bytes) -> bool:
    """Whether an index was written by `render`, and is as it was."""
    body = {key: value for key, value in content.items() if key != "digest"}
    try:
        return content.get("digest") == _digest(body) and _dump(content) == data
    except (ValueError, RecursionError):  # not a number, or nested deeper than is ever written
        return False


def as_json(about: Mapping[str, Any]) -> dict[str, Any]:
    """`about` as it will come back from an index. Raises StoreError for what JSON cannot hold."""
    try:
        return json.loads(_dump(about))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"what is said about a store must be JSON: {error}") from None


def _dump(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, sort_keys=True, indent=1, allow_nan=False) + "\n").encode("ascii")


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(_dump(content)).hexdigest()
