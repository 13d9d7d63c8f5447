"""The context in which a recipe is built, and its keys `inputs:`, `scales:`, `bag:` and `tta:`."""

import keyword
import re
from collections.abc import Mapping
from ctypes import c_float
from dataclasses import dataclass, field, replace
from itertools import chain
from math import ceil, gcd, inf
from typing import Any, get_args

from augrecipes.ops.registry import foregrounds
from augrecipes.recipe import arguments, bands, grammar, variants
from augrecipes.recipe.grammar import BAG, IMAGE, INPUTS, SCALES, SCENE_KEYS, TAKEN, TTA, SlidingWindow, TtaViews
from augrecipes.recipe.inputs import DEPTHS, OF_IMAGES, RANGES, MaskLabels, Presence
from augrecipes.recipe.kinds import Facts, Kind, facts
from augrecipes.recipe.model import Arguments, Bag, Boxes, Inputs, Keypoints, Position, Step
from augrecipes.recipe.nodes import MappingNode, Node, Place, describe, plain
from augrecipes.recipe.problems import Problems, near

# The codes may contain no bracket, so that a line of many `[` is matched in linear time.
_IGNORE = re.compile(r"#\s*augrecipes:\s*ignore\[([^\[\]]*)\]")


@dataclass
class Context:
    """The state of building one recipe.

    Attributes:
        problems: collects the problems.
        resolved: its nodes, and the files that they come from.
        kind: the recipe's kind.
        scales: relative grid by target (kind pair).
        max_bytes: bytes of the largest image that a step may make; None: no limit.
        inputs: the recipe's inputs, once they are built.
        ids: the place of each id.
        steps: number of steps so far, groups and their children included.
        translated: it has a name that only older albumentations knows, so it was a pipeline of that.
    """

    problems: Problems
    resolved: variants.Resolved
    kind: Kind = "image"
    scales: dict[str, int] = field(default_factory=dict)
    max_bytes: int | None = None
    inputs: Inputs = field(default_factory=Inputs)
    ids: dict[str, Place] = field(default_factory=dict)
    steps: int = 0
    translated: bool = False
    _ignored: dict[Place, frozenset[str]] = field(default_factory=dict)

    @property
    def facts(self) -> Facts:
        """The facts of the recipe's kind."""
        return facts(self.kind)

    def ignored(self, place: Place) -> frozenset[str]:
        """Lint codes that a comment on the line of `place` silences."""
        line = Place(place.file, place.line)
        if line not in self._ignored:  # many steps may share a long line
            lines = self.resolved.lines.get(place.file, ())
            match = _IGNORE.search(lines[place.line - 1]) if 0 < place.line <= len(lines) else None
            codes = match[1].split(",") if match else ()
            self._ignored[line] = frozenset(code.strip() for code in codes if code.strip())
        return self._ignored[line]

    def value(self, node: Node, schema: arguments.Schema, code: str, name: str) -> bool:
        """Check one value; note its problems under `code`, or under their own codes if that is empty. True if valid."""
        problems = arguments.check_value(schema, node)
        for problem in problems:
            place, label = problem.place, f"{name}{problem.key}"
            self.problems.add(code or problem.code, place, problem.message, label, problem.hint)
        return not problems

    def fields(self, node: Node | None, schema: arguments.Schema, code: str, name: str) -> dict[str, Any]:
        """The values of a mapping; empty where it is missing or a value is invalid."""
        return plain(node) if node is not None and self.value(node, schema, code, name) else {}

    def position(self, place: Place) -> Position:
        """The model's position for a place, in the recipe's own file; for steps of other files that of `extends:`."""
        if place.file == self.resolved.file:
            return Position(place.line, place.col)
        return replace(self.resolved.extends, origin=(place.file, place.line, place.col))

    def place(self, step: Step, key: str = "") -> Place:
        """The place of a step, or of a key of it, in the file that contains it."""
        position = step.places.get(key, step.position)
        return Place(*position.origin) if position.origin else Place(self.resolved.file, position.line, position.col)


_ANNOTATIONS: dict[str, Any] = {"mask": str, "boxes": Boxes, "keypoints": Keypoints}


def build_inputs(context: Context, node: Node | None) -> Inputs:
    """Build the inputs of a recipe.

    For pairs `image` applies to every target, with `min_size` in pixels of the coarsest; a target's own mapping counts
    in its own pixels. Pairs and bags have no mask, boxes or keypoints.
    """
    images = {"image": IMAGE, **dict.fromkeys(context.scales, grammar.PAIR_IMAGE)}
    others = {key: part for key, part in INPUTS["properties"].items() if key not in SCENE_KEYS}
    schema = {**INPUTS, "properties": {**others, **images}, "additionalProperties": False}
    values = context.fields(node, schema, "E402", "inputs")
    if not isinstance(node, MappingNode) or not values:
        return Inputs()
    inputs = _image(context, node, values)
    by_target = {name: values.get(name, {}) for name in context.scales}
    inputs["real"] = Arguments({name: float(own["real"]) for name, own in by_target.items() if "real" in own})
    if isinstance(mask := values.get("mask"), dict):
        inputs["mask_labels"] = _mask_labels(context, node.entries["mask"], mask)
        values["mask"] = mask.get("presence", "optional")
    for key, cls in _ANNOTATIONS.items():
        if (value := values.get(key)) is None:
            continue
        if value != "absent" and not context.facts.annotated:
            message = f"recipes of kind {context.kind} have images only; leave it out"
            context.problems.add("E402", node.at[key], message, f"inputs.{key}")
        if isinstance(value, str) and cls is not str:
            value = {"presence" if value in get_args(Presence) else "format": value}
        if cls is str or value.get("presence") != "absent":
            if cls is Keypoints and value.get("flip_pairs") is not None:
                value = {**value, "flip_pairs": tuple(map(tuple, value["flip_pairs"]))}
            inputs[key] = value if cls is str else cls(**value)
    points = inputs.get("keypoints", Keypoints())
    partners = [*chain(*points.flip_pairs or ())]
    kinds, at = {*map(type, partners)}, getattr(node.entries.get("keypoints"), "at", {})
    if points.of is not None and "boxes" not in inputs:
        message = "the recipe declares no boxes for them to belong to; declare `boxes:`, or leave `of` out"
        context.problems.add("E402", at["of"], message, "inputs.keypoints.of")
    if len({*partners}) < len(partners) or len(kinds) > 1 or (str in kinds and not points.labels):
        message = "all are positions in an object (0, 1, ...), or all are labels under the key of `labels:`; each once"
        context.problems.add("E402", at["flip_pairs"], message, "inputs.keypoints.flip_pairs")
    return Inputs(**inputs)


def _mask_labels(context: Context, node: Any, mask: Mapping[str, Any]) -> MaskLabels | None:
    """Build the labels of stored mask values; None where the recipe declares none."""
    if "values" in mask and "threshold" in mask:
        message = "`values` and `threshold` both say what labels are; leave one out"
        context.problems.add("E402", node.at["threshold"], message, "inputs.mask.threshold")
    values = tuple((int(stored), int(label)) for stored, label in mask.get("values", {}).items())
    return MaskLabels(values, mask.get("threshold")) if values or "threshold" in mask else None


def _image(context: Context, node: MappingNode, values: Mapping[str, Any]) -> dict[str, Any]:
    """Build the declarations of images; those of single targets are converted to pixels of the coarsest."""
    image, at = dict(values.get("image", {})), {**node.at, **getattr(node.entries.get("image"), "at", {})}
    for key in OF_IMAGES:
        if key in values and image.setdefault(key, values[key]) != values[key]:
            message = f"`image:` says {image[key]}; leave one of them out"
            context.problems.add("E402", node.at[key], message, f"inputs.{key}")
    _check_image(context, at, image)
    least = [image["min_size"]] if "min_size" in image else []
    units = {name: scale // gcd(*context.scales.values()) for name, scale in context.scales.items()}
    for target, unit in units.items():
        own = dict(values.get(target, {}))
        _check_image(context, getattr(node.entries.get(target), "at", {}), own, image.get("dtype"))
        if "min_size" in own:
            least.append([ceil(size / unit) * min(units.values()) for size in own["min_size"]])
        for key in ("channels", "bands", "dtype", "range", "nodata", "icc"):
            if own.get(key, image.get(key)) != image.setdefault(key, own.get(key)):
                message = f"all targets have the same {key}, and others have {image[key]}"
                context.problems.add("E402", node.entries[target].place, message, f"inputs.{target}.{key}")
    if least:
        image["min_size"] = tuple(int(max(sizes)) for sizes in zip(*least, strict=True))
    return image


def _check_image(
    context: Context, at: Mapping[str, Place], image: dict[str, Any], common_dtype: str | None = None
) -> None:
    """Replace `channels` and `depth` in `image` by the model's fields, and check the keys that depend on them."""
    channels, wrong = image.pop("channels", None), dict[str, str]()
    try:
        image |= {"bands": bands.read_bands(channels)} if isinstance(channels, dict) else {}
        image |= {"channels": image["bands"].seen.count if "bands" in image else int(channels)} if channels else {}
    except bands.ChannelError as error:
        key = f"inputs.channels.{error.key}".rstrip(".")
        context.problems.add("E402", at["channels"], str(error), key, error.hint)
    depth, dtype = DEPTHS.get(image.pop("depth", None)), image.get("dtype")
    if depth and dtype not in (None, depth):
        wrong["dtype"] = f"the depth says {depth}; leave one of them out"
    if dtype := depth or dtype or common_dtype:
        image["dtype"] = dtype
    if "range" in image:
        low, high = image["range"] = tuple(map(float, image["range"]))
        if dtype not in ("uint16", "float32"):
            wrong["range"] = "goes with `depth: 16` or `depth: float32`; 8 bits have the range [0, 255]"
        elif not low < high or (dtype == "uint16" and not 0 <= low < high <= RANGES[dtype]):
            bounds = ", of depth 16 both in 0 to 65535" if dtype == "uint16" else ""
            wrong["range"] = f"its first number is below its second{bounds}"
        elif not 0 < c_float(c_float(high).value - c_float(low).value).value < inf:
            wrong["range"] = "its ends are the same or infinite in float32, in which images are scaled"
    nodata, most = image.get("nodata", 0), RANGES[dtype or "uint8"]
    if dtype != "float32" and (nodata == "nan" or not 0 <= nodata <= most or nodata != int(nodata)):
        wrong["nodata"] = f"no image of {dtype or 'uint8'} holds {nodata}; floats do, with `depth: float32`"
    for key, message in wrong.items():
        image.pop(key)
        context.problems.add("E402", at[key], message, f"inputs.{key}")


def build_scales(context: Context, top: MappingNode) -> dict[str, int]:
    """Build the relative grid of each target."""
    node = top.entries.get("scales")
    problems = context.problems
    if node is None:
        if context.facts.scales:
            problems.add("E403", top.at.get("kind", top.place), "a pair needs scales, such as {lr: 1, hr: 4}", "scales")
        return {}
    if not isinstance(node, MappingNode):
        problems.add("E403", node.place, f"must be a mapping such as {{lr: 1, hr: 4}}, got {describe(node)}", "scales")
        return {}
    scales: dict[str, int] = {}
    for key, place, value in node.pairs():
        if not key.isidentifier():
            problems.add("E403", place, f"a target's name is a Python name, got {key!r}", "scales")
        elif isinstance(value, MappingNode):
            message = f"must be a whole number; what is said of the images of {key} stands in `inputs: {{{key}: ...}}`"
            problems.add("E403", value.place, message, f"scales.{key}")
        elif key in TAKEN or keyword.iskeyword(key):
            problems.add("E403", place, f"{key!r} means something else in a sample; choose another name", "scales")
        elif context.value(value, SCALES["additionalProperties"], "E403", f"scales.{key}"):
            scales[key] = int(plain(value))
    if context.facts.scales and len(node.entries) < SCALES["minProperties"]:
        problems.add("E403", node.place, "a pair has at least two targets, such as {lr: 1, hr: 4}", "scales")
    return scales


def build_bag(context: Context, node: Node | None) -> Bag | None:
    """Build the picking of a bag's tiles; None where the recipe declares none."""
    if node is None:
        return None
    bag = Bag(**context.fields(node, BAG, "E404", "bag"))
    if isinstance(node, MappingNode) and bag.max_tiles is not None and bag.min_tiles > bag.max_tiles:
        message = f"min_tiles ({bag.min_tiles}) may not exceed max_tiles ({bag.max_tiles})"
        context.problems.add("E404", node.at["min_tiles"], message, "bag")
    known = ("otsu", "none", *foregrounds())
    if isinstance(node, MappingNode) and isinstance(bag.tissue, str) and bag.tissue not in known:
        message = f"no function of this name was registered (ar.register); there are {', '.join(known)}"
        context.problems.add("E404", node.entries["tissue"].place, message, "bag.tissue", near(bag.tissue, known))
    return bag


def build_tta(context: Context, node: Node | None) -> TtaViews | None:
    """Build the views of test-time augmentation; None where the recipe declares none."""
    if node is None:
        return None
    values = context.fields(node, TTA, "E405", "tta")
    return TtaViews(**values | {"tile": SlidingWindow(**values["tile"])} if "tile" in values else values)
