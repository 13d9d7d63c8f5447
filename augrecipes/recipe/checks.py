"""Checks of steps in context: groups, the targets of pairs and their common grid, and what `tta:` can undo."""

from collections.abc import Iterable, Iterator, Sequence
from math import gcd
from typing import Any

from augrecipes.errors import Fix, counted
from augrecipes.ops import groups, ranges, records, registry
from augrecipes.ops.registry import chance, record_of
from augrecipes.recipe.grammar import GROUPS
from augrecipes.recipe.keys import Context
from augrecipes.recipe.model import Recipe, Step
from augrecipes.recipe.nodes import ListNode, MappingNode, Place, describe, plain
from augrecipes.recipe.problems import near

# Messages of lint L504, which `document` notes for recipes with names from older albumentations.
_P = "always acts where no p is written; albumentations' {0} has p: 0.5 then: write `p: 0.5` for that"
_N = "runs all of its steps where no n is written; albumentations' {0} runs one then: write `n: 1` for that"
_DRAWN_BY = ("n", "replace", "keep_order")  # keys that decide how a group draws


def check_group(context: Context, step: Step, body: MappingNode, place: Place) -> None:
    """Note why a group or a Degrade cannot run."""
    listed = body.entries.get("steps")
    problems = context.problems
    if listed is None:
        problems.add("E310", place, f"needs steps, such as {step.name}: {{steps: [...]}}", step.name)
    elif isinstance(listed, ListNode) and not listed.items:
        problems.add("E310", listed.place, "has no steps; add some, or leave it out", step.name)
    if step.name == groups.DEGRADE:
        _check_degrade(context, step, body, place)
    takes = GROUPS.get(step.name, {}).get("properties", {})
    checked = {
        key: plain(node)
        for key, node in body.entries.items()
        if key in _DRAWN_BY and key in takes and context.value(node, takes[key], "E310", f"{step.name}.{key}")
    }
    size, ids = len(listed.items) if isinstance(listed, ListNode) else 0, [child.id for child in step.steps if child.id]
    for name in checked.get("keep_order", ()):
        if name not in ids:
            message = f"no step in it has the id {name!r}"
            problems.add("E310", body.entries["keep_order"].place, message, f"{step.name}.keep_order", near(name, ids))
    if size and checked.get("n", 0) > size and not checked.get("replace"):
        message = f"cannot draw {checked['n']} of {counted(size, 'step')}"
        message += " without replace: true" if step.name == groups.SOME_OF else ""
        problems.add("E310", body.entries["n"].place, message, f"{step.name}.n")
    if _alternates_by_chance(step, checked.get("n", size), size):
        message = "does not run every step in every epoch; move steps with `draws: alternate` out of it"
        problems.add("E310", place, message, step.name)


def _alternates_by_chance(step: Step, n: int, size: int) -> bool:
    """Whether a step alternates in a group that does not run all of its steps in every epoch."""
    by_chance = step.name in (groups.ONE_OF, groups.SOME_OF) or n < size or chance(step) < 1
    return by_chance and chance(step) > 0 and any(registry.draw_period(leaf) > 1 for leaf in step.walk())


def other_default(recipe: Recipe) -> tuple[Step, str, Fix] | None:
    """The first group whose defaults differ from albumentations': the step, how, and the fix that restores these."""
    for step in recipe.walk():
        if step.name in (groups.ONE_OF, groups.SEQUENTIAL) and step.p is None:
            return step, f"{step.name} {_P.format(step.name)}", Fix("set", "p: 0.5")
        if step.name == groups.RANDOM_ORDER and "n" not in step.args:
            return step, f"{step.name} {_N.format(step.name)}", Fix("set", "n: 1")
    return None


def _check_degrade(context: Context, step: Step, body: MappingNode, place: Place) -> None:
    problems = context.problems
    names: dict[str, str] = {}
    for key in ("source", "target"):
        node = body.entries.get(key)
        label = f"Degrade.{key}"
        if node is None:
            problems.add("E312", place, f"{key!r} is required", groups.DEGRADE)
        elif not isinstance(name := plain(node), str):
            problems.add("E312", node.place, f"must be the name of one target, got {describe(node)}", label)
        elif context.facts.scales and name not in context.scales:
            problems.add("E314", node.place, f"unknown target {name!r}", label, near(name, context.scales))
        else:
            names[key] = name
    if step.p is not None and step.p != 1:
        message = f"p is always 1, got {step.p:g}: without it the sample would have no such target"
        problems.add("E312", body.at.get("p", place), message, "Degrade.p")
    if step.at is not None:
        problems.add("E312", body.at.get("at", place), "'at' has no meaning for Degrade", "Degrade.at")
    for child in step.steps:
        for inner in child.walk():
            for key, value in (("target", inner.target), ("at", inner.at), ("share", inner.share)):
                if value:
                    message = f"{key!r} has no meaning inside Degrade"
                    problems.add("E312", context.place(inner, key), message, inner.name)
    if len(names) < 2 or not context.facts.scales or not step.steps:
        return
    source, target = names["source"], names["target"]
    if source == target:
        problems.add("E312", body.entries["target"].place, "source and target are the same; name two", groups.DEGRADE)
    elif not _run(step.steps, at_target=context.scales[source] == context.scales[target]):
        cure = "end its steps in `- ResizeToTarget`, with p: 1 and no change of size after it"
        problems.add("E312", place, f"leaves {target} at another size than its grid's; {cure}", groups.DEGRADE)


def _run(steps: Sequence[Step], *, at_target: bool) -> bool:
    """Whether the steps, run in order, always end at the target's size."""
    for step in steps:
        if _reaches(step):
            at_target = True
        elif _changes(step):
            at_target = False
    return at_target


def _reaches(step: Step, *, drawn: bool = False) -> bool:
    """Whether the step always leaves the target's size; `drawn`: its p is a weight, not a probability to act."""
    if not drawn and chance(step) < 1:
        return False
    if record_of(step).resizes == "target":
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
    """Whether the step may change the target's size to another."""
    if record_of(step).resizes == "target" or chance(step) <= 0:
        return False
    if step.steps:
        return not _reaches(step) and any(_changes(child) for child in step.steps)
    return record_of(step).resizes == "whole" or records.op_record(step.name).action == "window"


def _check_order(context: Context, steps: Sequence[Step]) -> None:
    """Note Degrades whose source is made later, and steps limited to targets that are made later."""
    makers: dict[Any, Step] = {}
    for step in steps:
        target = step.args.get("target") if step.name == groups.DEGRADE else None
        if target in makers:
            message = f"{target} is made already by the Degrade in line {context.place(makers[target]).line}"
            context.problems.add("E312", context.place(step, "target"), message, "Degrade.target")
        elif isinstance(target, str):
            makers[target] = step
    waiting = dict(makers)
    for step in steps:
        degrades = step.name == groups.DEGRADE
        source, target = step.args.get("source"), step.args.get("target")
        needed = [(step, "source", source)] if degrades and source != target else []
        if not degrades:
            needed = [(inner, "target", name) for inner in step.walk() for name in inner.target]
        for inner, key, name in needed:
            if name in waiting:
                line, this = context.place(waiting[name]).line, "that one first" if degrades else "this step after it"
                message = f"{name} is not there yet: the Degrade in line {line} makes it; put {this}"
                context.problems.add("E312", context.place(inner, key), message, f"{inner.name}.{key}")
        if degrades:
            waiting.pop(target, None)


def check_steps(context: Context, recipe: Recipe) -> None:
    """Note what is wrong with the targets of steps: crops off the common grid, targets outside their group's, ..."""
    if len(context.scales) < 2:
        return
    for section in (recipe.steps, recipe.eval or ()):
        _check_order(context, section)
        for step in section:
            if step.name != groups.DEGRADE:  # its steps run on one target
                _check_step(context, step, ())


def _check_step(context: Context, step: Step, inherited: tuple[str, ...]) -> None:
    foreign = [name for name in step.target if inherited and name not in inherited]
    if foreign:
        message = f"names {', '.join(foreign)}, but the group around it is limited to {', '.join(inherited)}"
        context.problems.add("E309", context.place(step, "target"), message, f"{step.name}.target")
    target = step.target or inherited
    for child in step.steps:
        _check_step(context, child, target)
    pixels = records.op_record(step.name).pixels
    if step.at is not None and not pixels:
        where = "on the steps inside" if step.is_group else f"on a step that counts pixels; {step.name} does not"
        context.problems.add("E309", context.place(step, "at"), f"'at' stands {where}", f"{step.name}.at")
        return
    shared = target or tuple(context.scales)
    at = step.at or min(shared, key=context.scales.__getitem__)
    if len(shared) > 1 or at not in shared:
        values = registry.effective(step) if pixels else {}
        for argument in pixels:
            _check_numbers(context, step, argument, values.get(argument), at)


def _check_numbers(context: Context, step: Step, argument: str, value: Any, at: str) -> None:
    """Note numbers of pixels that are not whole cells of the coarsest grid that all targets share."""
    if isinstance(value, list | tuple):
        for item in value:
            _check_numbers(context, step, argument, item, at)
        return
    scales = context.scales
    unit = scales[at] // gcd(*scales.values())
    if isinstance(value, bool) or not isinstance(value, int) or value % unit == 0:
        return
    target = next(name for name, scale in scales.items() if value * scale % scales[at])
    lower = value // unit * unit
    near = f"{lower} or {lower + unit}" if lower else f"{unit}"
    there = f"{value * scales[target] / scales[at]:g} px of {target}"
    message = f"{value} px of {at} are {there}; use a multiple of {unit}, such as {near}"
    context.problems.add("E313", context.place(step, argument), message, f"{step.name}.{argument}")


def obstacles(steps: Iterable[Step]) -> Iterator[tuple[Step, str]]:
    """The steps that move pixels by chance, or by no matrix, so that they cannot be undone; and why.

    >>> [(step.name, why) for step, why in obstacles([Step("Transpose", p=1), Step("ElasticTransform", p=1)])]
    [('ElasticTransform', 'draws where pixels go')]
    """
    for step in steps:
        if step.name == groups.SEQUENTIAL and chance(step) == 1:
            yield from obstacles(step.steps)
        elif step.name != groups.DEGRADE and chance(step) > 0 and any(map(_moves_pixels, step.walk())):
            yield from ((step, why) for why in [_why_not_undone(step)] if why)


def _moves_pixels(step: Step) -> bool:
    """Whether the step may move pixels; a registered class may if it acts on masks."""
    record = records.op_record(step.name)
    return record.moves if record.is_known else not step.is_group and "mask" in registry.plain(step).targets


def _why_not_undone(step: Step) -> str:
    record = records.op_record(step.name)
    if step.is_group:
        return "leaves to chance whether steps in it move pixels"
    if not record.is_known:
        return "is a class of your own: nothing is known of where it puts pixels"
    if chance(step) < 1:
        return "moves pixels in some samples only"
    if ranges.makes_draws(step):
        return "draws where pixels go"
    known = record_of(step).action != "opaque" or record.effect == "padding"
    return "" if known else "bends the image by no matrix"
