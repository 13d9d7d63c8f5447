"""Pipelines as plain lists: each transform `[class, arguments, [what is in it]]`, alone or under `body:`.

Tables of pipelines are written so. Border modes and interpolations may stand there by name.
"""

from __future__ import annotations

from typing import Any

from augrecipes.bring.calls import Call
from augrecipes.bring.compose import fill
from augrecipes.bring.dialect import Dialect
from augrecipes.bring.draft import RecipeDraft
from augrecipes.bring.naming import name_of
from augrecipes.bring.reading import Document
from augrecipes.ops.groups import COMPOSE
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Scalar, plain

_BODY = "body"
# Of boxes and points, beside a body: the format, and what is dropped.
_BOXES, _POINTS = "bbox", "keypoints"
_DROPS = ("min_area", "min_visibility", "min_width", "min_height")


def owns(document: Document) -> bool:
    """Whether it is a list of `[class, arguments, ...]`, or holds one under `body`."""
    return _body(document.top) is not None


def draft(document: Document) -> RecipeDraft:
    """What the list does, as a recipe."""
    top = document.top
    given = {key: plain(value) for key, value in top.entries.items()} if isinstance(top, MappingNode) else {}
    name = str(given.get("id") or given.get("name") or document.file)
    made = RecipeDraft(name_of(name), "a list of transforms", document.place)
    body = _body(top)
    args: dict[str, Any] = {}
    if given.get(_BOXES):
        drops = {key: given[key] for key in _DROPS if given.get(key) is not None}
        args["bbox_params"] = {"format": given[_BOXES], "label_fields": ["box_labels"], **drops}
    if given.get(_POINTS):
        args["keypoint_params"] = {"format": given[_POINTS]}
    fill(made, Call(COMPOSE, args, tuple(map(_call, body.items if body else ())), document.place))
    if isinstance(given.get("output"), dict):
        made.keys["output"] = given["output"]
    if given.get("mask") is True:
        made.keys["inputs"] = {**made.keys.get("inputs", {}), "mask": "required"}
    return made


def _body(top: Node | None) -> ListNode | None:
    node = top.entries.get(_BODY) if isinstance(top, MappingNode) else top
    return node if isinstance(node, ListNode) and node.items and all(map(_is_triple, node.items)) else None


def _is_triple(node: Node) -> bool:
    if not isinstance(node, ListNode) or not 1 <= len(node.items) <= 3:
        return False
    name, *rest = node.items
    shapes = (MappingNode, ListNode)
    named = isinstance(name, Scalar) and isinstance(name.value, str)
    return named and all(isinstance(part, shape) for part, shape in zip(rest, shapes, strict=False))


def _call(node: Node) -> Call:
    """One transform; what is in it are such lists again."""
    parts = node.items if isinstance(node, ListNode) else []
    inside = parts[2].items if len(parts) > 2 and isinstance(parts[2], ListNode) else []
    args = plain(parts[1]) if len(parts) > 1 else {}
    children = tuple(_call(each) for each in inside if _is_triple(each)) or None
    return Call(str(plain(parts[0])), args, children, node.place)


DIALECT = Dialect("a list of [class, arguments, children]", owns, draft)
