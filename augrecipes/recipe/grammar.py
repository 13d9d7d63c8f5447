"""The grammar of recipes: the parser checks by it, and the JSON Schema is built from it. `model.py` declares the keys.

Here are data classes for the keys that describe outputs, bags and views, and the fragments of JSON Schema in
grammar.json; a test compares them. One keyword is our own, which other readers ignore:
    x-hint: a hint for numbers above the maximum.

Only the parser checks what JSON Schema cannot express: what one key means for another (`normalize` next to `range`,
keys of another `kind`, targets that `scales` does not name, an `id` given twice), whether steps can be drawn at all,
orders and sizes inside a pair, whether the class of a step accepts its arguments together, and what a variant makes of
its base. tests/recipe/test_grammar_agrees.py lists each such rule, and compares parser and schema in all others.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from augrecipes.ops.catalog import Schema
from augrecipes.ops.step import Step
from augrecipes.recipe.inputs import OF_IMAGES

Optimize = Literal["none", "exact", "fast"]
Pick = Literal["random", "first", "stride"]  # how tiles are picked
_OMIT_EMPTY = {"omit_empty": True}  # not part of the digest where empty
# The optimiser's rules, any of which a recipe may switch off (`without_rules`).
RuleName = Literal["coarse_fields", "join_colours", "join_warps", "own_noise"]


@dataclass(frozen=True, slots=True)
class Normalize:
    """Mean and standard deviation of values in 0..1; one number each, or one per channel."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """The format of the result.

    Attributes:
        dtype: `float32`, `float16`, `uint8` (0..255) or `uint16` (0..65535).
        layout: `chw` or `hwc`.
        normalize: mean and standard deviation; None: values are scaled to `range` instead.
        range: the output values of 0 and of full scale, without `normalize`.
        color: `rgb`, `bgr`, `y` (BT.601 luma, 16..235), `ycbcr` or `gray`.
        where: `host`, or `device`: the loader returns uint8, and a module on the device does the rest.
    """

    dtype: str = "float32"
    layout: str = "chw"
    normalize: Normalize | None = None
    range: tuple[float, float] = (0.0, 1.0)
    color: str = "rgb"
    where: str = "host"


UINT8_HWC = Output(dtype="uint8", layout="hwc")
"""The format of images between steps."""


@dataclass(frozen=True, slots=True)
class Bag:
    """How the tiles of a bag are picked.

    Attributes:
        max_tiles: at most so many tiles; None: all.
        min_tiles: a bag with fewer is an error.
        pick: `random`, `first` or `stride`.
        tissue: how tissue is found: `otsu`, a threshold of saturation, `none`, or a registered function; None: as the
            dataset does.
        min_tissue: least share of tissue in a tile, 0..1; None: as the dataset has it.
        max_white: largest share of white in a tile, 0..1; None: as the dataset has it.
    """

    max_tiles: int | None = None
    min_tiles: int = 1
    pick: Pick = "random"
    tissue: str | float | None = field(default=None, metadata=_OMIT_EMPTY)
    min_tissue: float | None = field(default=None, metadata=_OMIT_EMPTY)
    max_white: float | None = field(default=None, metadata=_OMIT_EMPTY)

    def foreground(self) -> dict[str, Any]:
        """The settings that decide which tiles count, without those that are None."""
        settings = {"tissue": self.tissue, "min_tissue": self.min_tissue, "max_white": self.max_white}
        return {name: value for name, value in settings.items() if value is not None}


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """Windows of `size` × `size` px over an image; neighbours overlap by at least the share `overlap`, 0..1."""

    size: int
    overlap: float = 0.25


@dataclass(frozen=True, slots=True)
class TtaViews:
    """Test-time augmentation: views `d4 | flips | hflip | none` of an image, or of each of its windows `tile`."""

    views: str = "none"
    tile: SlidingWindow | None = None


@dataclass(frozen=True, slots=True)
class NamedView:
    """An entry of `views:` in a recipe of kind views.

    Attributes:
        name: the name under which its views come out.
        count: the number of views; with `of` that of the other entry.
        of: the entry on whose results its steps go on; None: the image behind the shared steps.
        steps: its steps; each view draws for itself.
    """

    name: str
    count: int = 1
    of: str | None = None
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Key:
    """The declaration of a key of recipes, used by parser, writer, addresses, digest and JSON Schema.

    Attributes:
        name: the key in recipes.
        schema: the values that it takes.
        field: the field of the model; empty where it has none.
        changes: `draws`; or `run` for keys that change only the run or the name, which the digest leaves out.
    """

    name: str
    schema: Schema
    field: str = ""
    changes: Literal["draws", "run"] = "draws"


def key(
    schema: Schema,
    about: str,
    default: Any = MISSING,
    *,
    name: str = "",
    changes: str = "draws",
    omit_empty: bool = False,
) -> Any:
    """A field of the model that declares a key of recipes; keys are written in the order of the fields.

    Args:
        schema: the values that the key takes.
        about: its description in the JSON Schema, one sentence.
        default: the value where the key is missing; a class stands for an instance of it.
        name: the key, where it differs from the field's name.
        changes: see Key.
        omit_empty: it is not part of the digest where it is empty.
    """
    shown = {"default": default} if isinstance(default, bool | int | str) and default != "" else {}
    declared = Key(name, {**schema, "description": about, **shown}, changes=cast(Any, changes))
    start: Any = {"default_factory": default} if isinstance(default, type) else {"default": default}
    return field(**start, metadata={"key": declared, "omit_empty": omit_empty})


def keys_of(model: type) -> Iterator[Key]:
    """The keys that the fields of a data class declare, in order."""
    for each in fields(model):
        if declared := each.metadata.get("key"):
            yield replace(declared, name=declared.name or each.name, field=each.name)


_TABLES = json.loads(Path(__file__).with_name("grammar.json").read_text(encoding="utf-8"))


def mapping(properties: Schema, **more: Any) -> Schema:
    """The schema of a mapping with these keys and no others."""
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def listing(items: Schema) -> Schema:
    """The schema of a list, which may be empty, of items of one kind."""
    return {"type": "array", "items": items, "minItems": 0}


def one_of(words: Any) -> Schema:
    """The schema of the words of a Literal."""
    return {"enum": list(get_args(words))}


def _words(table: Schema) -> Schema:
    """Let a format or a presence stand for the mapping that holds it."""
    keys = table["properties"]
    return {"anyOf": [{"enum": [*keys.get("format", {"enum": ()})["enum"], *keys["presence"]["enum"]]}, table]}


IMAGE, MASK, BOXES, KEYPOINTS, OUTPUT, BAG, TTA = (
    mapping(_TABLES[key]) for key in ("image", "mask", "boxes", "keypoints", "output", "bag", "tta")
)
TARGET = mapping(_TABLES["target"], required=["like"])
TARGETS: Schema = {"type": "object", "additionalProperties": {"$ref": "#/$defs/sceneTarget"}}
PAIR_IMAGE = mapping({**_TABLES["image"], "real": _TABLES["real"]})
_IMAGE, _mask = {"$ref": "#/$defs/image"}, {**MASK, "not": {"required": ["values", "threshold"]}}
STACK: Schema = {"enum": ["frames"], "description": "Images: a sample is a stack of frames, under one draw."}
SCENE_KEYS = {"stack": STACK, "targets": TARGETS}  # allowed at the top of a recipe and in `inputs:`
_inputs = {key: IMAGE["properties"][key] for key in OF_IMAGES} | SCENE_KEYS
_inputs |= {"image": _IMAGE, "mask": _words(_mask), "boxes": _words(BOXES), "keypoints": _words(KEYPOINTS)}
INPUTS = {**mapping(_inputs), "additionalProperties": {"$ref": "#/$defs/pairImage"}}
VIEW = mapping(_TABLES["view"], required=["steps"])
TEXT: Schema = {"type": "string"}
STEPS = listing({"$ref": "#/$defs/step"})
SCALES: Schema = {
    "type": "object", "additionalProperties": {"type": "integer", "minimum": 1, "maximum": 64}, "minProperties": 2,
}  # fmt: skip
RESERVED: dict[str, str] = _TABLES["reserved"]  # keys reserved for later versions, and their purpose
# Keys of samples and of `output:`, which cannot name a target.
TAKEN = frozenset({*_TABLES["taken"], *OUTPUT["properties"]})

# The two forms of a schedule, which may stand for any number of a step.
RAMP = mapping(_TABLES["ramp"], required=["from", "to", "epochs"])
BY_EPOCH = mapping(_TABLES["by_epoch"], required=["by_epoch"])
EITHER: list[Schema] = [{"$ref": "#/$defs/ramp"}, {"$ref": "#/$defs/by_epoch"}]
_HOLDS = {"$ref": "#/$defs/scheduled"}
# A schedule, or a value that contains a schedule.
SCHEDULED = {"anyOf": [
    *EITHER, {"type": "array", "contains": _HOLDS},
    {"type": "object", "not": {"additionalProperties": {"not": _HOLDS}}},
]}  # fmt: skip


def ramped(schema: Mapping[str, Any]) -> Schema:
    """A group's schema with schedules allowed for numbers, also inside lists."""
    ways = {"number": EITHER, "integer": EITHER, "array": [_HOLDS]}
    properties = {
        key: {"anyOf": [part, *ways[part["type"]]]} if is_ramped(part) else part
        for key, part in schema["properties"].items()
    }
    return {**schema, "properties": properties}


def is_ramped(schema: Mapping[str, Any]) -> bool:
    """Whether the schema is of a number, or of a list of numbers."""
    return schema.get("type") in ("number", "integer") or "prefixItems" in schema


# Keys of every step, whatever its class.
STEP_KEYS: dict[str, Schema] = _TABLES["step"]
P: Schema = {"type": "number", "minimum": 0, "maximum": 1}
_WEIGHT = {**P, "default": 1.0, "description": "Probability; inside OneOf the weight."}
_CHILDREN = {
    "type": "array",
    "items": {"$ref": "#/$defs/step"},
    "minItems": 1,
    "description": "The steps that it holds.",
}
GROUPS: dict[str, Schema] = {
    name: {**mapping({"p": _WEIGHT, **group.pop("own"), "steps": _CHILDREN, **STEP_KEYS}), **group}
    for name, group in _TABLES["groups"].items()
}
POLICIES: dict[str, Schema] = {
    name: {**mapping({"p": _WEIGHT, **policy.pop("own"), **_TABLES["of_policies"], **STEP_KEYS}), **policy}
    for name, policy in _TABLES["policies"].items()
}
_ABOUT = "Makes one target of a pair from another, by its own steps."
DEGRADE = mapping(_TABLES["degrade"], description=_ABOUT, required=["source", "target", "steps"])
