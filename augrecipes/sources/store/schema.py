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
Identifier = Annotated[str, AfterValidator(_identifier)]


class Fields(BaseModel):
    """Named fields of fixed types, which are not converted; others may stand beside them."""

    model_config = ConfigDict(strict=True, extra="ignore")


class Shard(Fields):
    """Some rows: how many; of each target's file bytes, and CRC-32 of what frames its items; their part."""

    rows: Annotated[int, Field(ge=1, le=LARGEST)]
    sizes: dict[Identifier, Size]
    frames: dict[Identifier, Checksum] = Field(default_factory=dict)
    part: Annotated[str, Field(pattern=r"^part-\d+-of-\d+$")] | None = None


class ColumnFile(Fields):
    """The file of columns."""

    size: Size
    checksum: Checksum


class Index(Fields):
    """The whole of index.json."""

    format: str
    kind: str
    quality: Annotated[int, Field(ge=1, le=100)] | None
    rows: Size
    about: dict[str, Any]
    targets: Annotated[dict[Identifier, Literal["image", "mask"]], Field(min_length=1)]
    shards: list[Shard]
    columns: ColumnFile


def check(fields: type[Fields], content: Any, path: str, inside: str = "") -> None:
    """StoreError, naming the file `path` and the field, unless `content` has the fields with their types and ranges.

    >>> check(ColumnFile, {"size": -1, "checksum": 0}, "s/index.json", "columns")
    Traceback (most recent call last):
    augrecipes.errors.StoreError: s/index.json: columns.size: input should be greater than or equal to 0, not -1; it ...
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
