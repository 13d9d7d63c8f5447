"""`inputs:`: what arrives at the first step."""

from __future__ import annotations

from math import ceil, gcd
from typing import Any

from augrecipes.recipe.context import Context
from augrecipes.recipe.model import Boxes, Inputs, Keypoints
from augrecipes.recipe.nodes import Node, Scalar, Table, describe, plain

_PRESENCE = ("absent", "optional", "required")
BOX_FORMATS = ("pascal_voc", "coco", "yolo", "albumentations")
POINT_FORMATS = ("xy", "yx", "xya", "xys", "xyas", "xysa", "xyz")

_FLAG = {"type": "boolean"}
_TEXT = {"anyOf": [{"type": "string"}, {"type": "null"}]}
_AT_LEAST_0 = {"type": "number", "minimum": 0}
_SIZE = {"type": "integer", "minimum": 1}
_BOXES: dict[str, Any] = {
    "format": {"enum": list(BOX_FORMATS)},
    "labels": _TEXT,
    "min_area": _AT_LEAST_0,
    "min_visibility": {**_AT_LEAST_0, "maximum": 1},
    "min_width": _AT_LEAST_0,
    "min_height": _AT_LEAST_0,
    "clip": _FLAG,
    "presence": {"enum": list(_PRESENCE)},
}
_KEYPOINTS: dict[str, Any] = {
    "format": {"enum": list(POINT_FORMATS)},
    "labels": _TEXT,
    "remove_invisible": _FLAG,
    "presence": {"enum": list(_PRESENCE)},
}
_IMAGE: dict[str, Any] = {
    "channels": _SIZE,
    "min_size": {"type": "array", "prefixItems": [_SIZE, _SIZE], "minItems": 2, "maxItems": 2},
}


def build_inputs(context: Context, node: Node | None) -> Inputs:
    """The inputs of a recipe.

    Kind pair: `image` speaks of every target, its `min_size` in pixels of the coarsest one; a target's own mapping
    counts in its own pixels. Pairs and bags have no mask, boxes or keypoints.
    """
    if node is None:
        return Inputs()
    if not isinstance(node, Table):
        context.problems.add("E402", node.place, f"must be a mapping, got {describe(node)}", "inputs")
        return Inputs()
    beside = ("mask", "boxes", "keypoints")
    context.keys(node, ("image", *beside, *context.scales), "E402", "inputs")
    entries = node.entries
    given = _image(context, entries)
    if context.kind != "image":
        for key in beside:
            value = entries.get(key)
            if value is not None and not (isinstance(value, Scalar) and value.value == "absent"):
                message = f"recipes of kind {context.kind} have images only; leave it out"
                context.problems.add("E402", node.at[key], message, f"inputs.{key}")
    mask = entries.get("mask")
    boxes = _optional(context, entries.get("boxes"), _BOXES, BOX_FORMATS, "inputs.boxes")
    keypoints = _optional(context, entries.get("keypoints"), _KEYPOINTS, POINT_FORMATS, "inputs.keypoints")
    if mask is not None and context.value(mask, {"enum": list(_PRESENCE)}, "E402", "inputs.mask"):
        given["mask"] = plain(mask)
    return Inputs(
        boxes=None if boxes is None else Boxes(**boxes),
        keypoints=None if keypoints is None else Keypoints(**keypoints),
        **given,
    )


def _image(context: Context, entries: dict[str, Node]) -> dict[str, Any]:
    """Channels and least size, those of single targets in pixels of the coarsest one."""
    found = _fields(context, entries.get("image"), _IMAGE, "inputs.image")
    least = [found["min_size"]] if "min_size" in found else []
    units = {name: scale // gcd(*context.scales.values()) for name, scale in context.scales.items()}
    for target, unit in units.items():
        own = _fields(context, entries.get(target), _IMAGE, f"inputs.{target}")
        if "min_size" in own:
            least.append([ceil(size / unit) * min(units.values()) for size in own["min_size"]])
        if own.get("channels", found.get("channels")) != found.setdefault("channels", own.get("channels")):
            message = f"all targets have as many channels, and others have {found['channels']}"
            context.problems.add("E402", entries[target].place, message, f"inputs.{target}.channels")
    if least:
        found["min_size"] = (int(max(size[0] for size in least)), int(max(size[1] for size in least)))
    return found


def _fields(context: Context, node: Node | None, schemas: dict[str, Any], name: str) -> dict[str, Any]:
    """The values of a mapping that are fine."""
    if node is None:
        return {}
    if not isinstance(node, Table):
        context.problems.add(
            "E402", node.place, f"must be a mapping of {', '.join(schemas)}; got {describe(node)}", name
        )
        return {}
    context.keys(node, tuple(schemas), "E402", name)
    return {
        key: plain(value)
        for key, _, value in node.pairs()
        if key in schemas and context.value(value, schemas[key], "E402", f"{name}.{key}")
    }


def _optional(
    context: Context, node: Node | None, schemas: dict[str, Any], formats: tuple[str, ...], name: str
) -> dict[str, Any] | None:
    """The fields of boxes or keypoints: a mapping, a bare format, or a bare presence; None for `absent`."""
    if node is None:
        return None
    if isinstance(node, Scalar):
        if not context.value(node, {"enum": [*formats, *_PRESENCE]}, "E402", name) or node.value == "absent":
            return None
        return {"presence" if node.value in _PRESENCE else "format": node.value}
    fields = _fields(context, node, schemas, name)
    return None if fields.get("presence") == "absent" else fields
