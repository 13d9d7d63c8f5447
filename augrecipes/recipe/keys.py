"""`inputs:` and `output:`: what arrives at the first step, and what leaves the last one.

`normalize` speaks of the channels that leave. Lists are in the output's order: with `color: bgr` the first number is
blue's. `imagenet` names the statistics of red, green and blue, whatever their order, so with `color: bgr` they are
reversed; with `y` and `gray`, one channel, they mean nothing and are an error.
"""

from __future__ import annotations

from math import ceil, gcd
from typing import Any, get_args

from augrecipes.recipe.context import Context
from augrecipes.recipe.grammar import IMAGE, INPUTS, OUTPUT
from augrecipes.recipe.model import Boxes, Inputs, Keypoints, Normalize, Output, Presence
from augrecipes.recipe.nodes import MappingNode, Node, Scalar, describe, plain
from augrecipes.recipe.problems import near


def build_inputs(context: Context, node: Node | None) -> Inputs:
    """The inputs of a recipe.

    Kind pair: `image` speaks of every target, its `min_size` in pixels of the coarsest one; a target's own mapping
    counts in its own pixels. Pairs and bags have no mask, boxes or keypoints.
    """
    if node is None:
        return Inputs()
    if not isinstance(node, MappingNode):
        context.problems.add("E402", node.place, f"must be a mapping, got {describe(node)}", "inputs")
        return Inputs()
    context.keys(node, (*INPUTS["properties"], *context.scales), "E402", "inputs")
    entries = node.entries
    given = _image(context, entries)
    if not context.facts.annotated:
        for key in ("mask", "boxes", "keypoints"):
            value = entries.get(key)
            if value is not None and not (isinstance(value, Scalar) and value.value == "absent"):
                message = f"recipes of kind {context.kind} have images only; leave it out"
                context.problems.add("E402", node.at[key], message, f"inputs.{key}")
    mask = entries.get("mask")
    boxes = _optional(context, entries.get("boxes"), "boxes")
    keypoints = _optional(context, entries.get("keypoints"), "keypoints")
    if mask is not None and context.value(mask, INPUTS["properties"]["mask"], "E402", "inputs.mask"):
        given["mask"] = plain(mask)
    return Inputs(
        boxes=None if boxes is None else Boxes(**boxes),
        keypoints=None if keypoints is None else Keypoints(**keypoints),
        **given,
    )


def _image(context: Context, entries: dict[str, Node]) -> dict[str, Any]:
    """Channels and least size, those of single targets in pixels of the coarsest one."""
    found = context.fields(entries.get("image"), IMAGE, "E402", "inputs.image")
    least = [found["min_size"]] if "min_size" in found else []
    units = {name: scale // gcd(*context.scales.values()) for name, scale in context.scales.items()}
    for target, unit in units.items():
        own = context.fields(entries.get(target), IMAGE, "E402", f"inputs.{target}")
        if "min_size" in own:
            least.append([ceil(size / unit) * min(units.values()) for size in own["min_size"]])
        if own.get("channels", found.get("channels")) != found.setdefault("channels", own.get("channels")):
            message = f"all targets have as many channels, and others have {found['channels']}"
            context.problems.add("E402", entries[target].place, message, f"inputs.{target}.channels")
    if least:
        found["min_size"] = (int(max(size[0] for size in least)), int(max(size[1] for size in least)))
    return found


def _optional(context: Context, node: Node | None, key: str) -> dict[str, Any] | None:
    """The fields of boxes or keypoints: a mapping, a bare format, or a bare presence; None for `absent`."""
    if node is None:
        return None
    said = context.word_or_fields(node, INPUTS["properties"][key], "E402", f"inputs.{key}")
    if isinstance(said, str):
        said = {"presence" if said in get_args(Presence) else "format": said}
    return None if said is None or said.get("presence") == "absent" else said


# Of photographs in 0..1: mean and standard deviation of ImageNet's training images, RGB.
_IMAGENET = Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))

KEYS = tuple(OUTPUT["properties"])


def imagenet(color: str) -> Normalize:
    """What `normalize: imagenet` stands for, in the order in which channels leave.

    >>> imagenet("bgr").mean
    (0.406, 0.456, 0.485)
    """
    return Normalize(_IMAGENET.mean[::-1], _IMAGENET.std[::-1]) if color == "bgr" else _IMAGENET


def build_output(context: Context, node: Node | None) -> tuple[Output, dict[str, Output]]:
    """The output of all targets, and of each target that is named (kind pair)."""
    if node is None:
        return Output(), {}
    if not isinstance(node, MappingNode):
        context.problems.add(
            "E401", node.place, f"must be a mapping of {', '.join(KEYS)}; got {describe(node)}", "output"
        )
        return Output(), {}
    named: dict[str, MappingNode] = {}
    own = MappingNode({}, node.place)
    for key, place, value in node.pairs():
        if key in KEYS:
            own.entries[key], own.at[key] = value, place
        elif context.facts.scales and isinstance(value, MappingNode):
            if key in context.scales:
                named[key] = value
            else:
                hint = near(key, context.scales)
                context.problems.add("E314", place, f"unknown target {key!r}", "output", hint)
        else:
            message = f"unknown key {key!r}; it takes {', '.join(KEYS)}"
            context.problems.add("E401", place, message, "output", near(key, KEYS))
    by_target = {key: _one(context, _inherited(own, value), f"output.{key}") for key, value in named.items()}
    return _one(context, own, "output"), by_target


def _inherited(own: MappingNode, of_target: MappingNode) -> MappingNode:
    """What a target says, and what is said for all; of what contradicts, what the target says."""
    merged = MappingNode(dict(of_target.entries), of_target.place, dict(of_target.at))
    scaled = {"normalize", "range"}
    dtype = of_target.entries.get("dtype")
    unscaled = isinstance(dtype, Scalar) and dtype.value == "uint8"
    for key, value in own.entries.items():
        if key in scaled and (unscaled or not scaled.isdisjoint(of_target.entries)):
            continue
        if key not in of_target.entries:
            merged.entries[key], merged.at[key] = value, own.at[key]
    return merged


def _one(context: Context, node: MappingNode, name: str) -> Output:
    normalize = node.entries.get("normalize")
    others = {key: value for key, value in node.entries.items() if key != "normalize"}
    values = context.fields(MappingNode(others, node.place, node.at), OUTPUT, "E401", name)
    if "range" in values:
        values["range"] = tuple(map(float, values["range"]))
    if normalize is not None:
        values["normalize"] = _normalize(context, normalize, values.get("color", "rgb"), f"{name}.normalize")
    output = Output(**values)
    _check_together(context, node, output, name)
    return output


def _check_together(context: Context, node: MappingNode, output: Output, name: str) -> None:
    """Keys that contradict one another."""
    normalize = output.normalize
    if normalize is not None and "range" in node.entries:
        message = "normalize decides the range; leave one of them out"
        context.problems.add("E401", node.at["range"], message, f"{name}.range")
    if output.dtype == "uint8":
        if normalize is not None:
            where = "; where: device alone lets uint8 leave the loader" if output.where == "device" else ""
            message = f"uint8 cannot hold normalised values; use dtype: float32{where}"
            context.problems.add("E401", node.at["normalize"], message, f"{name}.normalize")
        elif "range" in node.entries and output.range != (0.0, 255.0):
            message = "uint8 has the range [0, 255]; use dtype: float32 for another"
            context.problems.add("E401", node.at["range"], message, f"{name}.range")
    if normalize is not None and output.color in ("y", "gray") and max(map(len, (normalize.mean, normalize.std))) > 1:
        count = max(len(normalize.mean), len(normalize.std))
        message = f"color: {output.color} has one channel, normalize has {count}; give one mean and one std"
        context.problems.add("E401", node.at["normalize"], message, f"{name}.normalize")


def _normalize(context: Context, node: Node, color: str, label: str) -> Normalize | None:
    said = context.word_or_fields(node, OUTPUT["properties"]["normalize"], "E401", label)
    if said == "imagenet":
        return imagenet(color)
    if not isinstance(said, dict) or len(said) < 2:
        return None
    lists = (value if isinstance(value, list) else [value] for value in (said["mean"], said["std"]))
    mean, std = (tuple(map(float, value)) for value in lists)
    if len(mean) != len(std) and 1 not in (len(mean), len(std)):
        message = f"mean has {len(mean)} numbers and std has {len(std)}"
        context.problems.add("E401", node.entries["std"].place, message, label)  # type: ignore[union-attr]
    return Normalize(mean, std)
