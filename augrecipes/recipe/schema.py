"""The JSON Schema of recipes (draft 2020-12), for editors and for our own check of arguments.

Generated from the installed albumentations; the file that travels in the package is `text()`, and a test keeps it so:
`python -m augrecipes.recipe.schema` writes it again, after a class of our own has changed.
A step is one `properties` map of names, not an alternative of over a hundred schemas: editors then complete names and
say exactly which argument is wrong.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from augrecipes.compat.guard import VERSION, albumentations
from augrecipes.ops.catalog import FILE
from augrecipes.ops.class_schema import Schema, class_schema
from augrecipes.ops.own import OWN
from augrecipes.ops.refused import REFUSED

_ID = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_-]*$"}
_NAMES = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
_P = {"type": "number", "minimum": 0, "maximum": 1}
_PRESENCE = {"enum": ["absent", "optional", "required"]}
_SIZE = {"type": "integer", "minimum": 1}
_PAIR_OF_SIZES = {"type": "array", "items": _SIZE, "minItems": 2, "maxItems": 2}
_STEPS = {"type": "array", "items": {"$ref": "#/$defs/step"}}

# Keys of every step, whatever its class.
_EVERY_STEP: dict[str, Schema] = {
    "id": {**_ID, "description": "Name of the step's draws; keeps them when equal steps are added before it."},
    "target": {**_NAMES, "description": "Pairs: the targets that the step is limited to; default all."},
    "at": {"type": "string", "description": "Pairs: the target whose pixels the numbers count; default the coarsest."},
    "share": {"enum": ["tile", "bag"], "description": "Bags: a new draw for every tile, or one for the whole bag."},
}
_WEIGHT = {**_P, "default": 1.0, "description": "Probability; inside OneOf the weight."}


def document() -> Schema:
    """The schema as a fresh dict. Imports albumentations.

    >>> document()["$defs"]["stepMapping"]["properties"]["RandomCrop"]["required"]
    ['height', 'width']
    """
    steps = {**_groups(), **_pair_steps(), **{name: _step(class_schema(cls)) for name, cls in _classes().items()}}
    steps = {name: steps[name] for name in sorted(steps)}
    bare = [name for name, schema in steps.items() if not schema.get("required")]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "augrecipes recipe, version 1",
        "description": f"Steps are those of albumentations {VERSION} and of augrecipes.",
        "type": "object",
        "properties": _top(),
        "required": ["version"],
        "additionalProperties": False,
        "$defs": {
            "step": {"anyOf": [{"enum": bare}, {"$ref": "#/$defs/stepMapping"}]},
            "stepMapping": {
                "type": "object",
                "properties": steps,
                "additionalProperties": False,
                "minProperties": 1,
                "maxProperties": 1,
            },
            "image": _object(
                channels={
                    "type": "integer",
                    "minimum": 1,
                    "description": "Of decoded images; grey is replicated.",
                },
                min_size={
                    "type": "array",
                    "items": _SIZE,
                    "minItems": 2,
                    "maxItems": 2,
                    "description": "height, width",
                },
            ),
            "output": _output(),
        },
    }


def text() -> str:
    """The schema as the bytes of the shipped file: UTF-8, two spaces, a final newline."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def write() -> Path:
    """Write the shipped file again, whole or not at all."""
    path = Path(__file__).resolve().parent.parent / "schema" / FILE
    fresh = path.with_suffix(".new")
    fresh.write_text(text(), encoding="utf-8", newline="\n")
    return fresh.replace(path)


def _classes() -> dict[str, type]:
    """Every class of albumentations that can be a step, and our own."""
    module = albumentations()
    found: dict[str, type] = {}
    for name in dir(module):
        cls = getattr(module, name)
        if inspect.isclass(cls) and issubclass(cls, module.BasicTransform) and name not in REFUSED:
            found[name] = cls
    from augrecipes.ops.registry import get_class

    return {**found, **{name: get_class(name) for name in OWN}}


def _step(schema: Schema) -> Schema:
    """A class's arguments with the keys of every step; nothing at all where all arguments have defaults."""
    kinds: Any = "object" if schema.get("required") else ["object", "null"]
    return {**schema, "type": kinds, "properties": {**schema["properties"], **_EVERY_STEP}}


def _groups() -> dict[str, Schema]:
    def group(about: str, **own: Schema) -> Schema:
        inner = {**own, "steps": {**_STEPS, "minItems": 1}}
        schema = _object(p=_WEIGHT, **inner, **_EVERY_STEP)
        return {**schema, "description": about, "required": ["steps"], "x-group": True}

    count = {"type": "integer", "minimum": 1}
    return {
        "OneOf": group("One of the steps, drawn by the steps' p as weights."),
        "SomeOf": group(
            "n of the steps, drawn at random.",
            n={**count, "default": 1, "description": "How many."},
            replace={"type": "boolean", "default": False, "description": "Whether one may be drawn again."},
        ),
        "Sequential": group("The steps one after another, all or none."),
        "RandomOrder": group("The steps in random order.", n={**count, "description": "How many; default all."}),
    }


def _pair_steps() -> dict[str, Schema]:
    degrade = _object(
        p={"const": 1, "default": 1.0, "description": "Always 1: the target would not exist otherwise."},
        source={"type": "string", "description": "The target that is degraded; it stays as it is."},
        steps={**_STEPS, "minItems": 1},
        **{**_EVERY_STEP, "target": {"type": "string", "description": "The target that is made."}},
    )
    about = {"description": "Makes one target out of another.", "required": ["source", "target", "steps"]}
    return {"Degrade": {**degrade, **about}}


def _object(**properties: Mapping[str, Any]) -> Schema:
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}


def _top() -> dict[str, Schema]:
    boxes = _object(
        format={"enum": ["pascal_voc", "coco", "yolo", "albumentations"], "default": "pascal_voc"},
        labels={"type": ["string", "null"], "default": "box_labels"},
        min_area={"type": "number", "minimum": 0},
        min_visibility={"type": "number", "minimum": 0, "maximum": 1},
        min_width={"type": "number", "minimum": 0},
        min_height={"type": "number", "minimum": 0},
        clip={"type": "boolean"},
        presence=_PRESENCE,
    )
    keypoints = _object(
        format={"enum": ["xy", "yx", "xya", "xys", "xyas", "xysa", "xyz"], "default": "xy"},
        labels={"type": ["string", "null"]},
        remove_invisible={"type": "boolean", "default": True},
        presence=_PRESENCE,
    )
    presence = _PRESENCE["enum"]
    inputs: Schema = {
        "type": "object",
        "properties": {
            "image": {"$ref": "#/$defs/image"},
            "mask": _PRESENCE,
            "boxes": {"anyOf": [{"enum": [*presence, *boxes["properties"]["format"]["enum"]]}, boxes]},
            "keypoints": {"anyOf": [{"enum": [*presence, *keypoints["properties"]["format"]["enum"]]}, keypoints]},
        },
        "additionalProperties": {"$ref": "#/$defs/image"},
    }
    return {
        "version": {"const": 1, "description": "Version of the recipe language."},
        "recipe": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]*$", "description": "Name of the recipe."},
        "about": {"type": "string", "description": "One sentence for people."},
        "kind": {"enum": ["image", "pair", "bag"], "default": "image"},
        "optimize": {"enum": ["none", "exact", "fast"], "default": "exact"},
        "inputs": {**inputs, "description": "What arrives, checked before the first sample."},
        "steps": {**_STEPS, "description": "Training steps."},
        "eval": {
            "anyOf": [{"const": "derived"}, _STEPS],
            "description": "Validation and test steps; `derived`: the training steps without their draws.",
        },
        "output": {
            "description": "What leaves the last step.",
            "anyOf": [
                {"$ref": "#/$defs/output"},
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/output"}},
            ],
        },
        "scales": {
            "type": "object",
            "additionalProperties": {"type": "integer", "minimum": 1},
            "description": "Pairs: relative grid of each target.",
        },
        "bag": {
            **_object(
                max_tiles={"type": "integer", "minimum": 1},
                min_tiles={"type": "integer", "minimum": 0, "default": 1},
                pick={"enum": ["random", "first", "stride"], "default": "random"},
            ),
            "description": "Bags: how the tiles are picked.",
        },
        "allow_resampling": {"type": "boolean", "description": "Pairs: let shared geometry resample."},
        "extends": {"type": "string", "description": "Gallery name or path of the recipe that this one varies."},
        "set": {"type": "object", "description": "Variants: values by address, such as RandomCrop.height."},
        "without": {"type": "array", "items": {"type": "string"}, "description": "Variants: steps left out."},
    }


def _output() -> Schema:
    numbers = {"anyOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}, "minItems": 1}]}
    normalize = {**_object(mean=numbers, std=numbers), "required": ["mean", "std"]}
    pair = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
    return _object(
        dtype={"enum": ["float32", "float16", "uint8"], "default": "float32"},
        layout={"enum": ["chw", "hwc"], "default": "chw"},
        normalize={"anyOf": [{"enum": ["imagenet", "none"]}, normalize], "description": "Of values in 0..1."},
        range={**pair, "default": [0, 1], "description": "What 0 and full scale become without normalize."},
        color={"enum": ["rgb", "bgr", "y", "gray"], "default": "rgb"},
        where={"enum": ["host", "device"], "default": "host"},
    )


if __name__ == "__main__":
    write()
