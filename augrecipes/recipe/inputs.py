"""`inputs:`: what arrives at the first step."""

from __future__ import annotations

from math import ceil, gcd
from typing import Any, get_args

from augrecipes.recipe.context import Context
from augrecipes.recipe.grammar import IMAGE, INPUTS
from augrecipes.recipe.model import Boxes, Inputs, Keypoints, Presence
from augrecipes.recipe.nodes import MappingNode, Node, Scalar, describe, plain


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
