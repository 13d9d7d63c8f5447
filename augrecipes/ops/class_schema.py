"""The JSON Schema of a registered class's arguments, from its constructor.

The schema file of the package (see `catalog`) has those of albumentations' classes and of our own, with bounds and
descriptions.
"""

import inspect
import re
from typing import Any

from augrecipes.compat.guard import constructor_of, fields, is_validated
from augrecipes.ops.constants import TABLES, to_name
from augrecipes.ops.frozen import Arguments

Schema = dict[str, Any]

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
