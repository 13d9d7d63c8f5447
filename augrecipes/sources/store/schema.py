"""What a store may say of itself, field by field: nothing is taken from an index before it is held against this."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from augrecipes.errors import StoreError

LARGEST = 2**63 - 1
_SHOWN = 60  # characters of a value that is wrong


def _identifier(name: str) -> str:
    # It becomes the name of a file: nothing that leads out of the folder may pass.
    if not name.isidentifier():
        raise ValueError("should be an identifier, such as image")
    return name


Size = Annotated[int, Field(ge=0, le=LARGEST)]
Checksum = Annotated[int, Field(ge=0, lt=2**32)]
ColumnName = Annotated[str, Field(pattern=r"^\w+(/\w+)*$")]


class Fields(BaseModel):
    """Named fields of fixed types, which are not converted; others may stand beside them."""

    model_config = ConfigDict(strict=True, extra="ignore")


class TargetFile(Fields):
    """The file of one target."""

    role: Literal["image", "mask"]
    size: Size
    head: Size
    end: Size
    frame: Checksum


class ShardFile(Fields):
    """One of the files of a target in shards; it may lie in the folder of a part."""

    file: Annotated[str, Field(pattern=r"^(part-\d+-of-\d+/)?\w+-\d{5,}\.\w+$")]
    size: Annotated[int, Field(ge=1, le=LARGEST)]


class InShards(Fields):
    """The files of one target in shards."""

    role: Literal["image", "mask"]
    shards: list[ShardFile]


class Array(Fields):
    """Where an array lies in the file of columns."""

    at: Size
    dtype: Annotated[str, Field(pattern=r"^([|<]b1|[|<][iu]1|<[iuf][248])$")]
    shape: Annotated[list[Size], Field(max_length=32)]


class Text(Fields):
    """Where a table of text lies in it."""

    text: Array
    offsets: Array


class ColumnFile(Fields):
    """The file of columns; each entry is an `Array` or a `Text`."""

    size: Size
    checksum: Checksum
    entries: dict[ColumnName, dict[str, Any]]


class Index(Fields):
    """The whole of index.json."""

    format: str
    kind: str
    quality: Annotated[int, Field(ge=1, le=100)] | None
    rows: Size
    about: dict[str, Any]
    targets: Annotated[dict[Annotated[str, AfterValidator(_identifier)], dict[str, Any]], Field(min_length=1)]
    columns: ColumnFile


def check(fields: type[Fields], content: Any, path: str, inside: str = "") -> None:
    """StoreError, naming the file `path` and the field, unless `content` has the fields with their types and ranges.

    >>> check(Array, {"at": 0, "dtype": "<i8", "shape": [-1]}, "s/index.json", "columns.entries.label")
    Traceback (most recent call last):
    augrecipes.errors.StoreError: s/index.json: columns.entries.label.shape.0: input should be greater than or equal ...
    """
    try:
        fields.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join([*([inside] if inside else []), *map(_plain, first["loc"])])
        what = first["msg"].removeprefix("Value error, ")
        given = "" if first["type"] == "missing" else f", not {_brief(first['input'])}"
        raise wrong(path, place, what[:1].lower() + what[1:] + given) from None


def wrong(path: str, place: str, what: str) -> StoreError:
    """The error for a field or a column, `place`, of the file `path` that is not as it is written."""
    return StoreError(f"{place}: {what}; it was edited or damaged: pack the store again", path=path)


def _plain(part: object) -> str:
    text = str(part)
    return text if text.isprintable() and len(text) <= _SHOWN else _brief(part)


def _brief(value: object) -> str:
    if isinstance(value, dict | list):
        return f"a {'object' if isinstance(value, dict) else 'list'} of {len(value)}"
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
