"""The arguments of every class of albumentations and augrecipes, from the schema file of this package.

Reading it takes a few milliseconds; importing albumentations takes over half a second.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any

Schema = dict[str, Any]

FILE = "recipe.schema.json"
_CLASSLESS = {"x-group", "x-policy"}  # marks of groups and policies, which are no classes
# Keys that every step has, whatever its class.
EVERY_STEP = ("id", "target", "at", "share", "channels", "steps")


@cache
def document() -> Schema:
    """The shipped JSON Schema of recipes."""
    text = (files("augrecipes") / "schema" / FILE).read_text(encoding="utf-8")
    return json.loads(text)


@cache
def shipped() -> dict[str, Schema]:
    """The schema of each class's arguments by name, with `p`, without the keys that every step has.

    >>> sorted(shipped()["RandomCrop"]["required"])
    ['height', 'width']
    """
    steps = document()["$defs"]["stepMapping"]["properties"]
    return {name: own_part(schema) for name, schema in steps.items() if _CLASSLESS.isdisjoint(schema)}


def own_part(schema: Schema) -> Schema:
    """A step's schema without the keys of every step."""
    properties = {name: part for name, part in schema.get("properties", {}).items() if name not in EVERY_STEP}
    return {**schema, "properties": properties}
