"""index.json describes a store. It is written last, and its digest identifies the whole store.

No field of it is used before `check` has validated it against a schema.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.images.format import UnreadableError
from augrecipes.images.reading import read_bytes
from augrecipes.paths import write_file
from augrecipes.remote import Place, RemotePath
from augrecipes.store import columns
from augrecipes.store.columns import Texts
from augrecipes.store.disk import READ_ONLY, crc32, store_errors

VERSION = 3
NAME = "index.json"
COLUMNS = "columns.npz"
MARK = "augrecipes"

# JSON Schema of an index, and of the `about` of stores of samples and of parts of a packing.
_SCHEMA = json.loads(Path(__file__).with_name("index_schema.json").read_text(encoding="utf-8"))
_TYPES = {"null": type(None), "integer": int, "number": float, "string": str, "array": list, "object": dict}


def shard_name(target: str, number: int, suffix: str, part: str | None = None) -> str:
    """Return the name of a target's file in a shard, relative to its store.

    >>> shard_name("image", 3, ".bin"), shard_name("image", 0, ".bin", "part-1-of-2")
    ('image-00003.bin', 'part-1-of-2/image-00000.bin')
    """
    return f"{part + '/' if part else ''}{target}-{number:05}{suffix}"


def stage_folder(store: Path) -> Path:
    """Return the folder that a store is written in until it is published."""
    return store.parent / f".{store.name}.partial"


def render(content: Mapping[str, Any]) -> bytes:
    """Return the bytes of an index; equal content gives equal bytes."""
    marked = {**content, "version": VERSION, "store": MARK}
    return _dump({**marked, "digest": _digest(marked)})


def load(store: Place) -> dict[str, Any]:
    """Read and check the index of a store, its "digest" included. Raises StoreError."""
    path = store / NAME
    with store_errors(store):
        if isinstance(store, RemotePath):
            if not path.exists():
                raise StoreError(f"no such store: there is no {NAME} there", path=str(store))
        elif not store.exists() and stage_folder(store).exists():
            raise StoreError("not finished: packing it was interrupted, or goes on; run it again", path=str(store))
        elif not store.is_dir():
            raise StoreError("not a store: it is a file" if store.exists() else "no such store", path=str(store))
        elif not path.exists():
            raise StoreError(f"not a store: there is no {NAME} in it", path=str(store))
    content, intact = read(path)
    version = content.get("version")
    if version != VERSION:
        message = f"a store of version {version!r}; this augrecipes reads version {VERSION}: pack it again"
        raise StoreError(message, path=str(path))
    if not intact:
        raise StoreError("edited or damaged: its digest does not fit; pack the store again", path=str(path))
    check(content, "index", str(path))
    targets, shards = content["targets"].keys(), content["shards"]
    rows = sum(shard["rows"] for shard in shards)
    if not targets or rows != content["rows"] or any(shard["files"].keys() != targets for shard in shards):
        raise damaged_field(str(path), "shards, targets", "they do not hold all rows, of all targets")
    return content


def read(path: Place) -> tuple[dict[str, Any], bool]:
    """Read an index of any version; return it, and whether its digest matches. Raises StoreError where it is none."""
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
    except (ValueError, RecursionError):  # holds NaN, or is nested too deeply
        return content, False


def to_json(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return `about` as an index gives it back. Raises StoreError for what JSON cannot hold."""
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
    fields: Mapping[str, Any],
    shards: Sequence[Mapping[str, Any]],
) -> None:
    """Write the columns and, last, the index of a folder that holds all shards.

    Args:
        folder: the store.
        items: each target's item table.
        tables: the caller's columns.
        fields: the index's other fields.
        shards: the index's entries for the shards.

    Raises:
        StoreError: the folder is another store already, or the disk is full.
    """
    own = {f"{columns.OWN}{name}/{key}": column for name, table in items.items() for key, column in table.items()}
    blob = columns.render({**tables, **own})
    described = {"size": len(blob), "checksum": crc32(blob)}
    last = render({**fields, "shards": list(shards), "columns": described})
    with store_errors(folder / NAME):
        if (folder / NAME).exists() and (folder / NAME).read_bytes() != last:
            raise StoreError(
                "exists already, and a published store is never modified; remove it first", str(folder / NAME)
            )
    for path, data in ((folder / COLUMNS, blob), (folder / NAME, last)):
        with store_errors(path, len(data)):
            if isinstance(path, RemotePath):
                path.write_bytes(data)
            else:
                write_file(path, data, mode=READ_ONLY)


def check(content: Mapping[str, Any], what: str, path: str, before: str = "") -> None:
    """Raise StoreError, naming the file `path` and the field after `before`, unless `content` fits the schema `what`.

    >>> check({"part": [1, 2], "points": ["lines"]}, "part", "s/index.json", "about.")
    Traceback (most recent call last):
    augrecipes.errors.StoreError: s/index.json: about.points: is missing, or nothing that is written there; it was ...
    """
    schema = _SCHEMA[what]
    for name, field in schema["properties"].items():
        try:
            valid = _fits(content[name], field) if name in content else name not in schema["required"]
        except RecursionError:  # nested too deeply
            valid = False
        if not valid:
            raise damaged_field(path, before + name)


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value fits a JSON Schema with `_SCHEMA`'s keywords; `number` is a float, `$ref` a key of `$defs`."""
    schema = _SCHEMA["$defs"][schema["$ref"]] if "$ref" in schema else schema
    kinds = schema.get("type", "string")
    if type(value) not in map(_TYPES.__getitem__, [kinds] if isinstance(kinds, str) else kinds):
        return False
    match value:
        case int():
            return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
        case str():
            return value in schema.get("enum", (value,)) and bool(re.fullmatch(schema.get("pattern", "(?s:.*)"), value))
        case list():
            return all(_fits(item, schema["items"]) for item in value)
        case dict():
            fields, others = schema.get("properties", {}), schema.get("additionalProperties")
            named, known = schema.get("propertyNames", {}), {key: fields.get(key, others) for key in value}
            valid = (_fits(key, named) and (field is None or _fits(value[key], field)) for key, field in known.items())
            return value.keys() >= {*schema.get("required", ())} and all(valid)
    return True


def damaged_field(path: str, place: str, what: str = "is missing, or nothing that is written there") -> StoreError:
    """Return the error for an invalid field or column, `place`, of the file `path`."""
    return StoreError(f"{place}: {what}; it was edited or damaged: pack the store again", path=path)
