"""Pipelines that albumentations saved (`A.save`, `A.to_dict`): recognised, so that the message says what they are."""

from __future__ import annotations

from augrecipes.errors import counted
from augrecipes.recipe.nodes import ListNode, MappingNode, Scalar
from augrecipes.recipe.problems import Problems

CLASS = "__class_fullname__"


def pipeline_of(top: MappingNode) -> MappingNode | None:
    """The outermost transform of a saved pipeline, with its class; None: `top` is none."""
    pipeline = top.entries.get("transform", top)
    return pipeline if isinstance(pipeline, MappingNode) and CLASS in pipeline.entries else None


def refuse_saved(top: MappingNode, problems: Problems) -> None:
    """Note what a saved pipeline is, and how it becomes a recipe.

    Raises:
        Stop: `top` is one.
    """
    pipeline = pipeline_of(top)
    if pipeline is None:
        return
    said = top.entries.get("__version__")
    version = f"albumentations {said.value}" if isinstance(said, Scalar) else "albumentations"
    steps = pipeline.entries.get("transforms")
    count = len(steps.items) if isinstance(steps, ListNode) else 1
    file = top.place.file
    way = f"`augrecipes import {file} -o recipe.yaml`"
    if file.startswith("<"):  # a text or a mapping of the caller's
        way = "ar.from_albumentations, or `augrecipes import FILE -o recipe.yaml`,"
    message = f"{version} saved this pipeline of {counted(count, 'transform')}, which is no recipe: {way} makes it one"
    raise problems.stop("E117", top.place, message, "A.save")
