"""Every key of a recipe and what it takes, written once: the parser checks by it, and the JSON Schema is made of it.

Fragments of JSON Schema; defaults are the model's. A keyword of our own, which other readers ignore:
    x-hint: what to say to someone whose number is above the maximum.

What JSON Schema cannot say, the parser says alone: what one key means for another (`normalize` next to `range`, keys of
another `kind`, targets that `scales` does not name, an `id` given twice), whether steps can be drawn at all, orders and
sizes inside a pair, whether the class of a step accepts its arguments together, and what a variant makes of its base.
tests/recipe/test_grammar_agrees.py lists each such rule, and holds parser and schema together in all others.
"""

from __future__ import annotations

from typing import get_args

from augrecipes.ops import groups
from augrecipes.ops.catalog import Schema
from augrecipes.recipe.model import Bag, Boxes, Inputs, Keypoints, Kind, Optimize, Output, Presence, Recipe, RuleName

WORD = "derived"  # of `eval:`


def _mapping(model: object = None, /, **keys: Schema) -> Schema:
    """A mapping with these keys and no others; what the model has for a key is its default."""
    for key, schema in keys.items():
        default = getattr(model, key, None)
        if isinstance(default, str | int | float | tuple) and default not in ("", ()):
            keys[key] = {**schema, "default": list(default) if isinstance(default, tuple) else default}
    return {"type": "object", "properties": keys, "additionalProperties": False}


def _list(item: Schema, least: int = 0) -> Schema:
    return {"type": "array", "items": item, "minItems": least}


def _or(*choices: Schema) -> Schema:
    return {"anyOf": list(choices)}


def _described(schema: Schema, about: str) -> Schema:
    return {**schema, "description": about}


_TEXT, _FLAG, _NULL = {"type": "string"}, {"type": "boolean"}, {"type": "null"}
_COUNT = {"type": "integer", "minimum": 1}
_AT_LEAST_0 = {"type": "number", "minimum": 0}
_SHARE = {**_AT_LEAST_0, "maximum": 1}
_PRESENCE = {"enum": list(get_args(Presence))}
_STEPS = _list({"$ref": "#/$defs/step"})

IMAGE = _mapping(
    channels=_described(_COUNT, "Of decoded images; grey is replicated."),
    min_size={
        "type": "array",
        "prefixItems": [_COUNT, _COUNT],
        "minItems": 2,
        "maxItems": 2,
        "description": "height, width",
    },
)
BOXES = _mapping(
    Boxes(),
    format={"enum": ["pascal_voc", "coco", "yolo", "albumentations"]},
    labels=_or(_TEXT, _NULL),
    min_area=_AT_LEAST_0,
    min_visibility=_SHARE,
    min_width=_AT_LEAST_0,
    min_height=_AT_LEAST_0,
    clip=_FLAG,
    presence=_PRESENCE,
)
KEYPOINTS = _mapping(
    Keypoints(),
    format={"enum": ["xy", "yx", "xya", "xys", "xyas", "xysa", "xyz"]},
    labels={**_or(_TEXT, _NULL), "default": None},
    remove_invisible=_FLAG,
    presence=_PRESENCE,
)


def _words(mapping: Schema) -> Schema:
    """A format or a presence stands for the mapping that holds it."""
    formats = mapping["properties"]["format"]["enum"]
    return _or({"enum": [*formats, *_PRESENCE["enum"]]}, mapping)


INPUTS = {
    **_mapping(
        Inputs(),
        image={"$ref": "#/$defs/image"},
        mask=_PRESENCE,
        boxes=_words(BOXES),
        keypoints=_words(KEYPOINTS),
    ),
    "additionalProperties": {"$ref": "#/$defs/image"},  # targets of a pair
}

_BY_255 = "mean and std are of values in 0..1; divide those of 0..255 by 255"
_MEAN = {"type": "number", "minimum": -10, "maximum": 10, "x-hint": _BY_255}
_STD = {"type": "number", "exclusiveMinimum": 0, "maximum": 10, "x-hint": _BY_255}
_NUMBERS: dict[str, Schema] = {key: _or(number, _list(number, 1)) for key, number in (("mean", _MEAN), ("std", _STD))}
OUTPUT = _mapping(
    Output(),
    dtype={"enum": ["float32", "float16", "uint8"]},
    layout={"enum": ["chw", "hwc"]},
    normalize=_described(
        _or({"enum": ["imagenet", "none"]}, {**_mapping(**_NUMBERS), "required": ["mean", "std"]}),
        "Of values in 0..1.",
    ),
    range=_described({"enum": [[0, 1], [0, 255], [-1, 1]]}, "What 0 and full scale become without normalize."),
    color={"enum": ["rgb", "bgr", "y", "gray"]},
    where={"enum": ["host", "device"]},
)
SCALES: Schema = {"type": "object", "additionalProperties": {**_COUNT, "maximum": 64}, "minProperties": 2}
BAG = _mapping(
    Bag(),
    max_tiles={**_or(_COUNT, _NULL), "default": None},
    min_tiles={"type": "integer", "minimum": 0},
    pick={"enum": ["random", "first", "stride"]},
)

TOP = _mapping(
    Recipe(""),
    version={"const": 1, "description": "Version of the recipe language."},
    # A name of digits is a number to YAML.
    recipe={"type": ["string", "integer"], "pattern": "^[a-z0-9-]+$", "description": "Name of the recipe."},
    about=_described(_TEXT, "One sentence for people."),
    kind={"enum": list(get_args(Kind))},
    optimize={"enum": list(get_args(Optimize))},
    without_rules=_described(
        _list({"enum": list(get_args(RuleName))}),
        "Rules that the optimiser does without; `explain` names those that fire.",
    ),
    plugins=_described(
        _list(_TEXT),
        "Plugins of installed packages (entry points `augrecipes.plugins`) that register classes of steps.",
    ),
    inputs=_described(INPUTS, "What arrives, checked before the first sample."),
    steps=_described(_STEPS, "Training steps."),
    eval=_described(
        _or({"const": WORD}, _STEPS),
        f"Validation and test steps; `{WORD}`: the training steps without what is random.",
    ),
    output=_described(
        {**OUTPUT, "additionalProperties": {"$ref": "#/$defs/output"}},
        "What leaves the last step; of a pair also by target.",
    ),
    scales=_described(SCALES, "Pairs: relative grid of each target."),
    bag=_described(BAG, "Bags: how the tiles are picked."),
    allow_resampling=_described(_FLAG, "Pairs: let shared geometry resample."),
    max_bytes=_described(
        _or(_COUNT, _NULL),
        "Of the largest image that a step may make, in memory; null: of any. More is an error before it is made.",
    ),
    extends={"type": "string", "minLength": 1, "description": "Gallery name or path of the recipe that this varies."},
    set=_described({"type": "object"}, "Variants: values by address, such as RandomCrop.height."),
    without=_described(_or(_list(_TEXT), _TEXT), "Variants: steps left out."),
)
KEYS: tuple[str, ...] = tuple(TOP["properties"])

P = {"type": "number", "minimum": 0, "maximum": 1}
# Keys of every step, whatever its class.
STEP_KEYS: dict[str, Schema] = {
    "id": {
        "type": "string",
        "pattern": "^[A-Za-z_][A-Za-z0-9_-]*$",
        "description": "Keys the step's random parameters; keeps them when equal steps are added before it.",
    },
    "target": _described(
        _or(_TEXT, {**_list(_TEXT, 1), "uniqueItems": True}),
        "Pairs: the targets that the step is limited to; default all.",
    ),
    "at": _described(_TEXT, "Pairs: the target whose pixels the numbers count; default the coarsest."),
    "share": {"enum": ["tile", "bag"], "description": "Bags: a new draw for every tile, or one for the whole bag."},
}
_CHILDREN = _list({"$ref": "#/$defs/step"}, 1)


def _group(about: str, **own: Schema) -> Schema:
    weight = {**P, "default": 1.0, "description": "Probability; inside OneOf the weight."}
    schema = _mapping(p=weight, **own, steps=_CHILDREN, **STEP_KEYS)
    return {**schema, "description": about, "required": ["steps"], "x-group": True}


GROUPS: dict[str, Schema] = {
    groups.ONE_OF: _group("One of the steps, drawn by the steps' p as weights."),
    groups.SOME_OF: _group(
        "n of the steps, drawn at random.",
        n={**_COUNT, "default": 1, "description": "How many."},
        replace={**_FLAG, "default": False, "description": "Whether one may be drawn again."},
    ),
    groups.SEQUENTIAL: _group("The steps one after another, all or none."),
    groups.RANDOM_ORDER: _group("The steps in random order.", n=_described(_COUNT, "How many; default all.")),
}
DEGRADE: Schema = {
    **_mapping(
        p={"const": 1, "default": 1.0, "description": "Always 1: the target would not exist otherwise."},
        source=_described(_TEXT, "The target that is degraded; it stays as it is."),
        steps=_CHILDREN,
        target=_described(_TEXT, "The target that is made."),
        id=STEP_KEYS["id"],
    ),
    "description": "Makes one target out of another.",
    "required": ["source", "target", "steps"],
}
