"""Lowering: steps become albumentations objects, and each object is given the label that keys its draws."""

from __future__ import annotations

from typing import Any

import albumentations as A

from augrecipes.compiler.kernels.joined import Joined
from augrecipes.compiler.rewrite.rule import INTO_SINK, JOINED, kind_of
from augrecipes.ops.registry import construct
from augrecipes.recipe.model import Step

# What follows a step's drawing: (object, label).
Sites = list[tuple[Any, str]]


def lower(steps: tuple[Step, ...]) -> tuple[list[Any], Sites]:
    """The transforms of `steps`, and every object that draws with its label.

    Keys are assigned later, object by object: building a Compose or a group reseeds its children.
    """
    sites: Sites = []
    return [_lower(step, sites) for step in steps], sites


def _lower(step: Step, sites: Sites) -> Any:
    if step.name in JOINED:
        children = [_lower(child, sites) for child in step.steps]
        return Joined(children, tuple(kind_of(child) for child in step.steps), to_sink=step.name == INTO_SINK)
    made = _group(step, sites) if step.is_group else construct(step)
    sites.append((made, step.site))
    return made


def _group(step: Step, sites: Sites) -> Any:
    """An albumentations group with our defaults: p 1, and RandomOrder runs all of its steps."""
    children = [_lower(child, sites) for child in step.steps]
    p = 1.0 if step.p is None else step.p
    match step.name:
        case "OneOf":
            made = A.OneOf(children, p=p)
            for child in children:
                # Here a child's p is its weight, already read. SomeOf and RandomOrder would gate by it once more.
                if isinstance(child, A.BaseCompose):
                    child.p = 1.0
            return made
        case "SomeOf":
            return A.SomeOf(children, n=step.args.get("n", 1), replace=step.args.get("replace", False), p=p)
        case "RandomOrder":
            return A.RandomOrder(children, n=step.args.get("n", len(children)), p=p)
        case _:
            return A.Sequential(children, p=p)
