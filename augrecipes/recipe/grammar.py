"""Every key of a recipe and what it takes, written once: the parser checks by it, and the JSON Schema is made of it.

Data classes of what a recipe says of samples before its first step and behind its last one, and fragments of JSON
Schema; defaults are those of the classes. A keyword of our own, which other readers ignore:
    x-hint: what to say to someone whose number is above the maximum.

What JSON Schema cannot say, the parser says alone: what one key means for another (`normalize` next to `range`, keys of
another `kind`, targets that `scales` does not name, an `id` given twice), whether steps can be drawn at all, orders and
sizes inside a pair, whether the class of a step accepts its arguments together, and what a variant makes of its base.
tests/recipe/test_grammar_agrees.py lists each such rule, and holds parser and schema together in all others.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, get_args

from augrecipes.kinds import KINDS
from augrecipes.ops import groups
from augrecipes.ops.bounds import MOST_BYTES
from augrecipes.ops.catalog import Schema

WORD = "derived"  # of `eval:`
Optimize = Literal["none", "exact", "fast"]
# Names of the optimiser's rules, each of which a recipe may do without.
RuleName = Literal[
    "crop_first", "defer_flips", "drop_noops", "fold_sink", "join_colours", "join_crops", "join_flips", "join_tables",
    "join_warps", "own_noise", "read_scaled", "read_window", "read_windows", "reduce_first", "shrink_first",
]  # fmt: skip
Presence = Literal["absent", "optional", "required"]


@dataclass(frozen=True, slots=True)
class Boxes:
    """How bounding boxes arrive. Fields are albumentations' BboxParams of the same names.

    Attributes:
        format: `pascal_voc`, `coco`, `yolo` or `albumentations`.
        labels: name of the key that holds one label a box, or None.
        min_area: boxes smaller than this after a step are dropped, px².
        min_visibility: boxes of which less than this fraction is left are dropped, 0..1.
        min_width: px.
        min_height: px.
        clip: clip boxes to the image before the first step.
        presence: whether a sample must have boxes.
    """

    format: str = "pascal_voc"
    labels: str | None = "box_labels"
    min_area: float = 0.0
    min_visibility: float = 0.0
    min_width: float = 0.0
    min_height: float = 0.0
    clip: bool = False
    presence: Presence = "optional"


@dataclass(frozen=True, slots=True)
class Keypoints:
    """How keypoints arrive.

    Attributes:
        format: `xy`, `yx`, `xya`, `xys`, `xyas`, `xysa` or `xyz`.
        labels: name of the key that holds one label a point, or None.
        remove_invisible: drop points that leave the image.
        presence: whether a sample must have keypoints.
    """

    format: str = "xy"
    labels: str | None = None
    remove_invisible: bool = True
    presence: Presence = "optional"


@dataclass(frozen=True, slots=True)
class Inputs:
    """What arrives at the first step.

    Attributes:
        channels: of the image; None: whatever is given (Datasets decode to 3).
        min_size: smallest (height, width) in px, or None; of a pair's coarsest target, whose grid ties the others.
        mask: whether a sample has a mask.
        boxes: None: a sample may not have boxes.
        keypoints: None: a sample may not have keypoints.
    """

    channels: int | None = None
    min_size: tuple[int, int] | None = None
    mask: Presence = "optional"
    boxes: Boxes | None = None
    keypoints: Keypoints | None = None


@dataclass(frozen=True, slots=True)
class Normalize:
    """Mean and standard deviation of values in 0..1, one number or one a channel each."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """What leaves the last step.

    Attributes:
        dtype: `float32`, `float16` or `uint8`.
        layout: `chw` or `hwc`.
        normalize: None: scaled to `range` instead.
        range: what 0 and full scale become without `normalize`.
        color: `rgb`, `bgr`, `y` (BT.601 luma, 16..235) or `gray`.
        where: `host`, or `device`: uint8 leaves the loader and a module on the device does the rest.
    """

    dtype: str = "float32"
    layout: str = "chw"
    normalize: Normalize | None = None
    range: tuple[float, float] = (0.0, 1.0)
    color: str = "rgb"
    where: str = "host"


@dataclass(frozen=True, slots=True)
class Bag:
    """How the tiles of a bag are picked: at most `max_tiles`, at least `min_tiles`, `random | first | stride`."""

    max_tiles: int | None = None
    min_tiles: int = 1
    pick: str = "random"


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
_PRESENCE = {"enum": list(get_args(Presence))}
_STEPS = _list({"$ref": "#/$defs/step"})

IMAGE = _mapping(
    channels=_described(_COUNT, "Of decoded images; grey is replicated."),
    min_size={
        "type": "array",
        "prefixItems": [_COUNT] * 2,
        "minItems": 2,
        "maxItems": 2,
        "description": "height, width",
    },
)
_OF_TYPES = {
    "bool": _FLAG,
    "float": _AT_LEAST_0,
    "int | None": {**_or(_COUNT, _NULL), "default": None},
    "str | None": {**_or(_TEXT, _NULL), "default": None},
    "Presence": _PRESENCE,
}


def _fields(cls: type, **keys: Schema) -> Schema:
    """A mapping with the fields of a data class; `keys`: those of which its types say too little."""
    return _mapping(cls(), **{one.name: keys.get(one.name) or _OF_TYPES[str(one.type)] for one in fields(cls)})


BOXES = _fields(
    Boxes,
    format={"enum": ["pascal_voc", "coco", "yolo", "albumentations"]},
    min_visibility={**_AT_LEAST_0, "maximum": 1},
)
KEYPOINTS = _fields(Keypoints, format={"enum": ["xy", "yx", "xya", "xys", "xyas", "xysa", "xyz"]})
BAG = _fields(Bag, min_tiles={"type": "integer", "minimum": 0}, pick={"enum": ["random", "first", "stride"]})


def _words(mapping: Schema) -> Schema:
    """A format or a presence stands for the mapping that holds it."""
    formats = mapping["properties"]["format"]["enum"]
    return _or({"enum": [*formats, *_PRESENCE["enum"]]}, mapping)


_IMAGE = {"$ref": "#/$defs/image"}
INPUTS = {
    **_mapping(Inputs(), image=_IMAGE, mask=_PRESENCE, boxes=_words(BOXES), keypoints=_words(KEYPOINTS)),
    "additionalProperties": _IMAGE,  # targets of a pair
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

TOP = _mapping(
    version={"const": 1, "description": "Version of the recipe language."},
    # A name of digits is a number to YAML.
    recipe={"type": ["string", "integer"], "pattern": "^[a-z0-9-]+$", "description": "Name of the recipe."},
    about=_described(_TEXT, "One sentence for people."),
    kind={"enum": list(KINDS), "default": "image"},
    optimize={"enum": list(get_args(Optimize)), "default": "exact"},
    without_rules=_described(_list({"enum": list(get_args(RuleName))}), "Rules that the optimiser does without."),
    plugins=_described(_list(_TEXT), "Plugins of installed packages that register classes of steps."),
    inputs=_described(INPUTS, "What arrives, checked before the first sample."),
    steps=_described(_STEPS, "Training steps."),
    eval=_described(_or({"const": WORD}, _STEPS), f"Evaluation; `{WORD}`: the training steps without what is random."),
    output=_described(
        {**OUTPUT, "additionalProperties": {"$ref": "#/$defs/output"}},
        "What leaves the last step; of a pair also by target.",
    ),
    scales=_described(SCALES, "Pairs: relative grid of each target."),
    bag=_described(BAG, "Bags: how the tiles are picked."),
    allow_resampling={**_FLAG, "description": "Pairs: let shared geometry resample.", "default": False},
    max_bytes={**_or(_COUNT, _NULL), "description": "Of the largest image; null: of any.", "default": MOST_BYTES},
    extends={"type": "string", "minLength": 1, "description": "Gallery name or path of the recipe that this varies."},
    set=_described({"type": "object"}, "Variants: values by address, such as RandomCrop.height."),
    without=_described(_or(_list(_TEXT), _TEXT), "Variants: steps left out."),
)
KEYS: tuple[str, ...] = tuple(TOP["properties"])

P = {**_AT_LEAST_0, "maximum": 1}
# Keys of every step, whatever its class.
STEP_KEYS: dict[str, Schema] = {
    "id": {
        "type": "string",
        "pattern": "^[A-Za-z_][A-Za-z0-9_-]*$",
        "description": "Keys the step's random parameters; keeps them when equal steps are added before it.",
    },
    "target": _described(_or(_TEXT, {**_list(_TEXT, 1), "uniqueItems": True}), "Pairs: its targets; default all."),
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
