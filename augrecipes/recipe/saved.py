"""Pipelines that albumentations saved (`A.save`, `A.to_dict`): recognised, so that the message says what they are."""

from __future__ import annotations

from augrecipes.ops.constants import to_name
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Scalar, plain
from augrecipes.recipe.problems import Problems
from augrecipes.recipe.write import flow

_CLASS = "__class_fullname__"
# What `A.save` writes beside a class's arguments, and no recipe needs.
_NOT_ARGUMENTS = frozenset({_CLASS, "always_apply"})


def refuse_saved(top: MappingNode, problems: Problems) -> None:
    """Note what a saved pipeline is, and how it becomes a recipe.

    Raises:
        Stop: `top` is one.
    """
    pipeline = top.entries.get("transform", top)
    if not isinstance(pipeline, MappingNode) or _CLASS not in pipeline.entries:
        return
    said = top.entries.get("__version__")
    version = f"albumentations {said.value}" if isinstance(said, Scalar) else "albumentations"
    steps = pipeline.entries.get("transforms")
    listed = steps.items if isinstance(steps, ListNode) else []
    first = next((text for text in map(_written, listed) if text), "HorizontalFlip: {p: 0.5}")
    message = (
        f"{version} saved this pipeline of {len(listed)} transforms, which is no recipe: list them under `steps:`, "
        f"each as `- {first}`; `check` then says what has changed since"
    )
    raise problems.stop("E117", top.place, message, "A.save")


def _written(node: Node) -> str:
    """One saved transform as a step; empty for a group, and for what has no name."""
    if not isinstance(node, MappingNode) or "transforms" in node.entries:
        return ""
    said = node.entries.get(_CLASS)
    if not isinstance(said, Scalar) or not isinstance(said.value, str):
        return ""
    given = {key: plain(value) for key, value in node.entries.items() if key not in _NOT_ARGUMENTS}
    arguments = {key: to_name(key, value) for key, value in given.items() if value is not None}
    return f"{said.value.rsplit('.', 1)[-1]}: {flow(arguments)}"
