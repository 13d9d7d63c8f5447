"""Keys of recipes, declared once each: as fields of the model, which parser, writer, digest and JSON Schema go over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, Literal, cast

from augrecipes.ops.catalog import Schema


@dataclass(frozen=True, slots=True)
class Key:
    """A key of recipes. Parser, writer, addresses, digest and JSON Schema go over the declarations.

    Attributes:
        name: as recipes write it.
        schema: what it takes.
        field: of the model; empty where it has none.
        changes: the draws, or only how or under which name they are run, which the digest leaves out.
    """

    name: str
    schema: Schema
    field: str = ""
    changes: Literal["draws", "run"] = "draws"


def key(
    schema: Schema, about: str, default: Any = MISSING, *, name: str = "", changes: str = "draws", unsaid: bool = False
) -> Any:
    """A field of the model that declares the key of its name, or of another `name`; it is written in its place.

    Args:
        schema: what it takes.
        about: one sentence of the JSON Schema.
        default: what is taken where the key is missing; a class stands for what it makes.
        name: of the key.
        changes: see Key.
        unsaid: it is no part of the digest where it is empty.
    """
    shown = {"default": default} if isinstance(default, bool | int | str) and default != "" else {}
    declared = Key(name, {**schema, "description": about, **shown}, changes=cast(Any, changes))
    start: Any = {"default_factory": default} if isinstance(default, type) else {"default": default}
    return field(**start, metadata={"key": declared, "unsaid": unsaid})


def keys_of(model: type) -> Iterator[Key]:
    """The keys that the fields of a data class declare, in order."""
    for each in fields(model):
        if declared := each.metadata.get("key"):
            yield replace(declared, name=declared.name or each.name, field=each.name)
