"""The arguments of every class of albumentations and augrecipes, from the schema file of this package.

Reading it takes a few milliseconds; importing albumentations takes over half a second. The schema of a class of yours
comes from its constructor.
"""

import inspect
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from augrecipes.compat.guard import constructor_of, fields, is_validated
from augrecipes.ops.constants import TABLES, to_name
from augrecipes.ops.step import Arguments

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


_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


def class_schema(cls: type) -> Schema:
    """Names, defaults, and types where annotations are plain types; `p` comes first and is a number.

    >>> from augrecipes.compat.guard import albumentations
    >>> schema = class_schema(albumentations().RandomCrop)
    >>> schema["required"], schema["properties"]["height"]["type"]
    (['height', 'width'], 'integer')
    """
    doc = inspect.getdoc(cls) or ""
    meanings = {"p": "probability of applying the transform"}
    meanings.update(re.findall(r"^ +(\w+) *(?:\(.*?\))? *: *(.+)$", doc, re.MULTILINE))
    annotated, properties, required = fields(cls), dict[str, Schema]({"p": {}}), []
    for name, parameter in [*inspect.signature(constructor_of(cls)).parameters.items()][1:]:
        dropped = is_validated(cls) and name not in annotated  # its InitSchema drops it before the constructor
        if dropped or name == "strict" or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        kind = float if name == "p" else annotated[name][0] if name in annotated else parameter.annotation
        types = [word for plain, word in _TYPES.items() if kind in (plain, plain.__name__) and name not in TABLES]
        properties[name] = {"type": types[0]} if types else {}
        if name in meanings:
            properties[name]["description"] = meanings[name].rstrip(".:")
        if parameter.default is parameter.empty:
            required.append(name)
        else:
            properties[name]["default"] = to_name(name, Arguments({name: parameter.default}).plain()[name])
    if not properties["p"]:
        del properties["p"]
    about = doc.partition("\n")[0].rstrip(".")
    schema: Schema = {"type": "object", "description": about, "properties": properties, "additionalProperties": False}
    return schema | ({"required": required} if required else {})
