"""What keys of a recipe take: the parser checks by it, and the JSON Schema is made of it. `model.py` declares the keys.

Data classes of what a recipe says of samples before its first step and behind its last one, and the fragments of JSON
Schema of grammar.json; a test holds the classes to them. A keyword of our own, which other readers ignore:
    x-hint: what to say to someone whose number is above the maximum.

What JSON Schema cannot say, the parser says alone: what one key means for another (`normalize` next to `range`, keys of
another `kind`, targets that `scales` does not name, an `id` given twice), whether steps can be drawn at all, orders and
sizes inside a pair, whether the class of a step accepts its arguments together, and what a variant makes of its base.
tests/recipe/test_grammar_agrees.py lists each such rule, and holds parser and schema together in all others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from augrecipes.ops.catalog import Schema
from augrecipes.ops.step import Step
from augrecipes.recipe.inputs import OF_IMAGES

Optimize = Literal["none", "exact", "fast"]
Pick = Literal["random", "first", "stride"]  # of tiles
_UNSAID = {"unsaid": True}  # no part of the digest where it is empty
# Names of the optimiser's rules, each of which a recipe may do without.
RuleName = Literal["coarse_fields", "join_colours", "join_warps", "own_noise"]


@dataclass(frozen=True, slots=True)
class Normalize:
    """Mean and standard deviation of values in 0..1, one number or one a channel each."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """What leaves the last step.

    Attributes:
        dtype: `float32`, `float16`, `uint8` or `uint16`: full scale is 255 or 65535.
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


UINT8_HWC = Output(dtype="uint8", layout="hwc")
"""Images as steps have them."""


@dataclass(frozen=True, slots=True)
class Bag:
    """How the tiles of a bag are picked: at most `max_tiles`, at least `min_tiles`, `random | first | stride`.

    Of those that show tissue: by `otsu`, a threshold of saturation, `none`, or a function that the program registered,
    in at least `min_tissue` of a tile, of which at most `max_white` is white; None: as the dataset has it.
    """

    max_tiles: int | None = None
    min_tiles: int = 1
    pick: Pick = "random"
    tissue: str | float | None = field(default=None, metadata=_UNSAID)
    min_tissue: float | None = field(default=None, metadata=_UNSAID)
    max_white: float | None = field(default=None, metadata=_UNSAID)

    def foreground(self) -> dict[str, Any]:
        """What it says of which tiles are taken at all."""
        said = {"tissue": self.tissue, "min_tissue": self.min_tissue, "max_white": self.max_white}
        return {name: value for name, value in said.items() if value is not None}


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """Windows of `size` × `size` px over an image, of which neighbours share at least the part `overlap`."""

    size: int
    overlap: float = 0.25


@dataclass(frozen=True, slots=True)
class TtaViews:
    """Test-time augmentation: the views of an image, `d4 | flips | hflip | none`, of each window where it has some."""

    views: str = "none"
    tile: SlidingWindow | None = None


@dataclass(frozen=True, slots=True)
class NamedView:
    """Views of one name, of a recipe of kind views.

    Attributes:
        name: under which they come out.
        count: how many; of those that are made `of` others as many as these.
        of: the name of those that its steps go on from; None: the image behind the shared steps.
        steps: in order; each view draws for itself.
    """

    name: str
    count: int = 1
    of: str | None = None
    steps: tuple[Step, ...] = ()


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


_TABLES = json.loads(Path(__file__).with_name("grammar.json").read_text(encoding="utf-8"))


def mapping(properties: Schema, **more: Any) -> Schema:
    """A mapping with these keys and no others."""
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def listing(items: Schema) -> Schema:
    """A list, which may be empty, of things of one kind."""
    return {"type": "array", "items": items, "minItems": 0}


def one_of(words: Any) -> Schema:
    """The words of a Literal."""
    return {"enum": list(get_args(words))}


def _words(table: Schema) -> Schema:
    """A format or a presence stands for the mapping that holds it."""
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
SCENE_KEYS = {"stack": STACK, "targets": TARGETS}  # at the top of a recipe, or in `inputs:`
_inputs = {key: IMAGE["properties"][key] for key in OF_IMAGES} | SCENE_KEYS
_inputs |= {"image": _IMAGE, "mask": _words(_mask), "boxes": _words(BOXES), "keypoints": _words(KEYPOINTS)}
INPUTS = {**mapping(_inputs), "additionalProperties": {"$ref": "#/$defs/pairImage"}}
VIEW = mapping(_TABLES["view"], required=["steps"])
TEXT: Schema = {"type": "string"}
STEPS = listing({"$ref": "#/$defs/step"})
SCALES: Schema = {
    "type": "object", "additionalProperties": {"type": "integer", "minimum": 1, "maximum": 64}, "minProperties": 2,
}  # fmt: skip
RESERVED: dict[str, str] = _TABLES["reserved"]  # keys of later versions, and what they are for
# Keys of samples and of `output:`, which no target may take.
TAKEN = frozenset({*_TABLES["taken"], *OUTPUT["properties"]})

# What may stand for any number of a step: two ways to say how it changes from epoch to epoch.
RAMP = mapping(_TABLES["ramp"], required=["from", "to", "epochs"])
BY_EPOCH = mapping(_TABLES["by_epoch"], required=["by_epoch"])
EITHER: list[Schema] = [{"$ref": "#/$defs/ramp"}, {"$ref": "#/$defs/by_epoch"}]
_HOLDS = {"$ref": "#/$defs/scheduled"}
# A schedule, or a value with one in it.
SCHEDULED = {"anyOf": [
    *EITHER, {"type": "array", "contains": _HOLDS},
    {"type": "object", "not": {"additionalProperties": {"not": _HOLDS}}},
]}  # fmt: skip


def ramped(schema: Mapping[str, Any]) -> Schema:
    """A group's schema, in which a schedule may stand for a number, or for one in a list of them."""
    ways = {"number": EITHER, "integer": EITHER, "array": [_HOLDS]}
    properties = {
        key: {"anyOf": [part, *ways[part["type"]]]} if is_ramped(part) else part
        for key, part in schema["properties"].items()
    }
    return {**schema, "properties": properties}


def is_ramped(schema: Mapping[str, Any]) -> bool:
    """Whether a value is a number, or numbers in a list."""
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
