"""Checks of groups and of Degrade: they need steps, and a chance to run them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.ops import registry
from augrecipes.recipe import suggest
from augrecipes.recipe.context import Context
from augrecipes.recipe.model import Step
from augrecipes.recipe.nodes import Items, Place, Scalar, Table, describe

_COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 1}


def check_group(context: Context, step: Step, body: Table, place: Place) -> None:
    """Note what keeps a group, or a Degrade, from running."""
    listed = body.entries.get("steps")
    problems = context.problems
    if listed is None:
        problems.add("E310", place, f"needs steps, such as {step.name}: {{steps: [...]}}", step.name)
    elif isinstance(listed, Items) and not listed.items:
        problems.add("E310", listed.place, "has no steps", step.name)
    match step.name:
        case "OneOf":
            _weights(context, step, place)
        case "SomeOf" | "RandomOrder":
            _counts(context, step, body, len(listed.items) if isinstance(listed, Items) else 0)
        case "Degrade":
            _degrade(context, step, body, place)


def _weights(context: Context, step: Step, place: Place) -> None:
    weights = [registry.default_p(child.name) if child.p is None else child.p for child in step.steps]
    if weights and not any(weights):
        context.problems.add("E310", place, "every step has weight p: 0, so none can be drawn", step.name)


def _counts(context: Context, step: Step, body: Table, size: int) -> None:
    replace = body.entries.get("replace")
    if replace is not None:
        context.value(replace, {"type": "boolean"}, "E310", f"{step.name}.replace")
    count = body.entries.get("n")
    if count is None or not context.value(count, _COUNT, "E310", f"{step.name}.n"):
        return
    again = isinstance(replace, Scalar) and replace.value is True
    if isinstance(count, Scalar) and size and count.value > size and not again:
        message = f"cannot draw {count.value} of {size} steps" + (
            " without replace: true" if step.name == "SomeOf" else ""
        )
        context.problems.add("E310", count.place, message, f"{step.name}.n")


def _degrade(context: Context, step: Step, body: Table, place: Place) -> None:
    names: dict[str, str] = {}
    for key in ("source", "target"):
        node = body.entries.get(key)
        label = f"Degrade.{key}"
        if node is None:
            context.problems.add("E312", place, f"{key!r} is required", "Degrade")
        elif not isinstance(node, Scalar) or not isinstance(node.value, str):
            context.problems.add("E312", node.place, f"must be the name of one target, got {describe(node)}", label)
        elif context.kind == "pair" and node.value not in context.scales:
            hint = suggest.hint(node.value, context.scales)
            context.problems.add("E314", node.place, f"unknown target {node.value!r}{hint}", label)
        else:
            names[key] = node.value
    if len(names) == 2 and names["source"] == names["target"]:
        context.problems.add("E312", body.entries["target"].place, "source and target are the same", "Degrade")
    for child in step.steps:
        for inner in child.walk():
            for key, value in (("target", inner.target), ("at", inner.at), ("share", inner.share)):
                if value:
                    at = inner.places.get(key, inner.position)
                    context.problems.add(
                        "E312", context.place(at), f"{key!r} has no meaning inside Degrade", inner.name
                    )
