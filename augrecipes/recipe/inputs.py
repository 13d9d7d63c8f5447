"""`inputs:`: what arrives at the first step."""

from __future__ import annotations

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
    """The inputs of a recipe; for pairs one image-like mapping may be given by target."""
    if node is None:
        return Inputs()
    if not isinstance(node, Table):
        context.problems.add("E402", node.place, f"must be a mapping, got {describe(node)}", "inputs")
        return Inputs()
    targets = tuple(context.scales)
    context.keys(node, ("image", "mask", "boxes", "keypoints", *targets), "E402", "inputs")
    entries = node.entries
    image = _fields(context, entries.get("image"), _IMAGE, "inputs.image")
    for target in targets:
        found = _fields(context, entries.get(target), _IMAGE, f"inputs.{target}")
        image = {**found, **image}
    mask = entries.get("mask")
    boxes = _optional(context, entries.get("boxes"), _BOXES, BOX_FORMATS, "inputs.boxes")
    keypoints = _optional(context, entries.get("keypoints"), _KEYPOINTS, POINT_FORMATS, "inputs.keypoints")
    given: dict[str, Any] = dict(image)
    if mask is not None and context.value(mask, {"enum": list(_PRESENCE)}, "E402", "inputs.mask"):
        given["mask"] = plain(mask)
    if "min_size" in given:
        given["min_size"] = tuple(int(size) for size in given["min_size"])
    return Inputs(
        boxes=None if boxes is None else Boxes(**boxes),
        keypoints=None if keypoints is None else Keypoints(**keypoints),
        **given,
    )


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
