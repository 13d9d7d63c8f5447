"""The JSON Schema of recipes (draft 2020-12), for editors and for our own check of arguments.

Generated from the installed albumentations; the file that travels in the package is `text()`, and a test keeps it so:
`python -m augrecipes.recipe.schema` writes it again, after a class of our own has changed.
A step is one `properties` map of names, not an alternative of over a hundred schemas: editors then complete names and
say exactly which argument is wrong.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

from augrecipes.compat.guard import VERSION, albumentations
from augrecipes.ops import groups
from augrecipes.ops.catalog import FILE
from augrecipes.ops.class_schema import Schema, class_schema
from augrecipes.ops.records import own_names
from augrecipes.ops.refused import REFUSED
from augrecipes.ops.registry import get_class
from augrecipes.paths import write_file
from augrecipes.recipe import batch_steps, grammar
from augrecipes.recipe.model import TOP

_EVERY: Schema = {key: {"$ref": f"#/$defs/{key}"} for key in grammar.STEP_KEYS}  # the keys of every step


def document() -> Schema:
    """The schema as a fresh dict. Imports albumentations.

    >>> document()["$defs"]["stepMapping"]["properties"]["RandomCrop"]["required"]
    ['height', 'width']
    """
    classes = {name: _step(class_schema(cls)) for name, cls in _classes().items()}
    named = {name: grammar.ramped(schema) for name, schema in (grammar.GROUPS | grammar.POLICIES).items()}
    steps = dict(sorted({**named, groups.DEGRADE: grammar.DEGRADE, **classes}.items()))
    bare = [name for name, schema in steps.items() if not schema.get("required")]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "augrecipes recipe, version 1",
        "description": f"Steps are those of albumentations {VERSION} and of augrecipes.",
        **TOP,
        "required": ["version"],
        # A variant has them from what it extends.
        "if": {"required": ["extends"]},
        "else": {
            "required": ["recipe"],
            "properties": {"set": False, "without": False},
            "if": {"properties": {"kind": {"const": "views"}}, "required": ["kind"]},
            "then": {"required": ["views"], "properties": {"steps": False}},
            "else": {"required": ["steps"]},
        },
        "$defs": {
            "step": {"anyOf": [{"enum": bare}, {"$ref": "#/$defs/stepMapping"}, {"$ref": "#/$defs/scheduledStep"}]},
            "stepMapping": grammar.mapping(steps, minProperties=1, maxProperties=1),
            "scheduledStep": {
                "description": "A step with numbers that change from epoch to epoch.",
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "propertyNames": {"enum": [*classes]},
                "additionalProperties": {
                    "allOf": [
                        {"$ref": "#/$defs/scheduled"},
                        {"type": "object", "properties": {**_EVERY, "steps": False}},
                    ]
                },
            },
            "scheduled": grammar.SCHEDULED,
            "ramp": grammar.RAMP,
            "by_epoch": grammar.BY_EPOCH,
            "batchStep": batch_steps.schema(),
            "image": grammar.IMAGE,
            "output": grammar.OUTPUT,
            **grammar.STEP_KEYS,
        },
    }


def text() -> str:
    """The schema as the bytes of the shipped file: UTF-8, two spaces, a final newline."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def _classes() -> dict[str, type]:
    """Every class of albumentations that can be a step, and our own."""
    module = albumentations()
    classes = {name: cls for name, cls in vars(module).items() if inspect.isclass(cls) and name not in REFUSED}
    theirs = {name: cls for name, cls in classes.items() if issubclass(cls, module.BasicTransform)}
    return {**theirs, **{name: get_class(name) for name in own_names()}}


def _step(schema: Schema) -> Schema:
    """A class's arguments with the keys of every step; nothing at all where all arguments have defaults."""
    kinds: Any = "object" if schema.get("required") else ["object", "null"]
    return {**schema, "type": kinds, "properties": {**schema["properties"], **_EVERY}}


if __name__ == "__main__":
    write_file(Path(__file__).resolve().parent.parent / "schema" / FILE, text().encode())
