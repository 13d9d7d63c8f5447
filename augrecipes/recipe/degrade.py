"""Checks of Degrade: that its target always comes to be, in time, and at its size."""

from __future__ import annotations

from collections.abc import Sequence

from augrecipes.ops import groups
from augrecipes.ops.capabilities import claims
from augrecipes.ops.registry import chance
from augrecipes.recipe.context import Context
from augrecipes.recipe.model import Step
from augrecipes.recipe.nodes import MappingNode, Place, Scalar, describe
from augrecipes.recipe.spelling import near


def check_degrade(context: Context, step: Step, body: MappingNode, place: Place) -> None:
    """Note what keeps one Degrade from making its target."""
    problems = context.problems
    names: dict[str, str] = {}
    for key in ("source", "target"):
        node = body.entries.get(key)
        label = f"Degrade.{key}"
        if node is None:
            problems.add("E312", place, f"{key!r} is required", groups.DEGRADE)
        elif not isinstance(node, Scalar) or not isinstance(node.value, str):
            problems.add("E312", node.place, f"must be the name of one target, got {describe(node)}", label)
        elif context.facts.scales and node.value not in context.scales:
            hint = near(node.value, context.scales)
            problems.add("E314", node.place, f"unknown target {node.value!r}", label, hint)
        else:
            names[key] = node.value
    if step.p is not None and step.p != 1:
        message = f"p is always 1, got {step.p:g}: without it the sample would have no such target"
        problems.add("E312", body.at.get("p", place), message, "Degrade.p")
    if step.at is not None:
        problems.add("E312", body.at.get("at", place), "'at' has no meaning for Degrade", "Degrade.at")
    for child in step.steps:
        for inner in child.walk():
            for key, value in (("target", inner.target), ("at", inner.at), ("share", inner.share)):
                if value:
                    at = inner.places.get(key, inner.position)
                    problems.add("E312", context.place(at), f"{key!r} has no meaning inside Degrade", inner.name)
    if len(names) < 2 or not context.facts.scales or not step.steps:
        return
    source, target = names["source"], names["target"]
    if source == target:
        problems.add("E312", body.entries["target"].place, "source and target are the same", groups.DEGRADE)
    elif not _run(step.steps, at_target=context.scales[source] == context.scales[target]):
        message = (
            f"leaves {target} at another size than its grid's; end its steps in `- ResizeToTarget`, with p: 1 and no "
            "change of size after it"
        )
        problems.add("E312", place, message, groups.DEGRADE)


def _run(steps: Sequence[Step], *, at_target: bool) -> bool:
    """Whether the steps, run one after another, surely end at the target's size."""
    for step in steps:
        if _reaches(step):
            at_target = True
        elif _changes(step):
            at_target = False
    return at_target


def _reaches(step: Step, *, drawn: bool = False) -> bool:
    """Whether the target's size is reached whenever the step's turn comes; `drawn`: its p is a weight, not a gate."""
    if not drawn and chance(step) < 1:
        return False
    if claims(step.name).resizes == "target":
        return True
    match step.name:
        case groups.SEQUENTIAL:
            return _run(step.steps, at_target=False)
        case groups.ONE_OF:
            return all(_reaches(child, drawn=True) for child in step.steps if chance(child) > 0)
        case groups.RANDOM_ORDER | groups.SOME_OF:
            count = step.args.get("n", None if step.name == groups.RANDOM_ORDER else 1)
            if (count is not None and count != len(step.steps)) or step.args.get("replace"):
                return False
            reaching = [child for child in step.steps if _reaches(child)]
            return bool(reaching) and not any(_changes(child) for child in step.steps if child not in reaching)
    return False


def _changes(step: Step) -> bool:
    """Whether the step may leave another size than the target's, given that size."""
    if claims(step.name).resizes == "target" or chance(step) <= 0:
        return False
    if step.steps:
        return not _reaches(step) and any(_changes(child) for child in step.steps)
    return claims(step.name).resizes == "whole" or claims(step.name).action == "window"


def check_order(context: Context, steps: Sequence[Step]) -> None:
    """Note the Degrades of a section whose source is not there yet, and steps limited to targets not made yet."""
    problems = context.problems
    maker: dict[str, Step] = {}
    for step in steps:
        if step.name != groups.DEGRADE:
            continue
        made = step.args.get("target")
        if made in maker:
            first = context.place(maker[made].position).line
            where = context.place(step.places.get("target", step.position))
            problems.add("E312", where, f"{made} is made already by the Degrade in line {first}", "Degrade.target")
        elif isinstance(made, str):
            maker[made] = step
    waiting = dict(maker)
    for step in steps:
        if step.name != groups.DEGRADE:
            _early(context, step, waiting)
            continue
        source = step.args.get("source")
        if source in waiting and source != step.args.get("target"):
            where = context.place(step.places.get("source", step.position))
            line = context.place(waiting[source].position).line
            message = f"{source} is not there yet: the Degrade in line {line} makes it; put that one first"
            problems.add("E312", where, message, "Degrade.source")
        waiting.pop(str(step.args.get("target")), None)


def _early(context: Context, step: Step, waiting: dict[str, Step]) -> None:
    for inner in step.walk():
        for name in inner.target:
            if name in waiting:
                line = context.place(waiting[name].position).line
                message = f"{name} is not there yet: the Degrade in line {line} makes it; put this step after it"
                where = context.place(inner.places.get("target", inner.position))
                context.problems.add("E312", where, message, f"{inner.name}.target")
