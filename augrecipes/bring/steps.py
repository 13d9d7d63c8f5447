"""Transforms of any release of albumentations as lines of a recipe, with what changed in a comment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from augrecipes.bring.calls import Call
from augrecipes.bring.draft import Item, LeftOut, Line, fault_of
from augrecipes.bring.step import ALWAYS, UNKNOWN, named, step
from augrecipes.ops import groups, registry
from augrecipes.ops.groups import GROUPS
from augrecipes.ops.refused import REFUSED
from augrecipes.recipe import releases
from augrecipes.recipe.grammar import GROUPS as GROUP_KEYS
from augrecipes.recipe.history import CLASSES, FLIP, FLIPS


def lines(calls: Sequence[Call]) -> list[Item]:
    """The calls as lines, one after another; what no recipe can hold is among them as left out."""
    found: list[Item] = []
    for call in calls:
        item = _line(call)
        always = isinstance(item, Line) and call.name == groups.COMPOSE and item.args["p"] == 1
        found += (item.steps or []) if isinstance(item, Line) and always else [item]
    return found


def _line(call: Call) -> Item:
    if call.unread:
        return LeftOut(call.name, call.unread, call.place)
    if call.name in (*GROUPS, groups.ONE_OR_OTHER, FLIP):
        call = next(named(call), call)
    if call.name == groups.COMPOSE:
        return _whole_or_less(
            Line(groups.SEQUENTIAL, {"p": call.args.get("p", 1.0)}, call.place, lines(call.children or ()))
        )
    if call.name == groups.ONE_OR_OTHER:
        return _one_or_other(call)
    if call.name in GROUPS:
        return _group(call)
    if call.name == FLIP:
        return _flip(call)
    if call.name in REFUSED:
        return LeftOut(call.name, REFUSED[call.name], call.place)
    if not _is_known(call):
        return LeftOut(call.name, _unknown(call), call.place)
    return step(call)


def _is_known(call: Call) -> bool:
    """Whether a step of the class's name is that class."""
    if call.name in CLASSES:
        return True
    if registry.arguments(call.name) is None:
        return False
    ours = call.package.partition(".")[0] in ("", "albumentations", "augrecipes")
    return ours or registry.get_class(call.name).__module__ == call.package


def _unknown(call: Call) -> str:
    where = f" of {call.package}" if call.package else ""
    return (
        f"no class{where} that augrecipes knows: make it known with augrecipes.register(cls), in a module that runs "
        "first, or in a plugin that is named here: augrecipes --plugin FILE.py import ..."
    )


def _flip(call: Call) -> Item:
    """One of the two flips, or both at once, each as likely."""
    p = 1.0 if call.args.get(ALWAYS) is True else call.args.get("p", 0.5)
    each = [Line(name, {"p": 1.0}, call.place) for name in FLIPS]
    both = Line(groups.SEQUENTIAL, {"p": 1.0}, call.place, [Line(name, {"p": 1.0}, call.place) for name in FLIPS])
    line = Line(groups.ONE_OF, {"p": p}, call.place, [*each, both], [f"was {call.name} until {releases.until(FLIP)}"])
    line.lost = {key: (value, UNKNOWN) for key, value in call.args.items() if key not in ("p", ALWAYS)}
    return _whole_or_less(line)


# What albumentations' groups do where nothing is said, and ours do not.
_DEFAULTS: dict[str, tuple[str, Any]] = {
    groups.ONE_OF: ("p", 0.5),
    groups.SEQUENTIAL: ("p", 0.5),
    groups.RANDOM_ORDER: ("n", 1),
}
# Groups that look at their own p once more where OneOf has picked them by it.
_GATED = (groups.SOME_OF, groups.RANDOM_ORDER)


def _group(call: Call) -> Item:
    children = call.children or ()
    inside = lines(children) if call.name == groups.SEQUENTIAL else [_line(child) for child in children]
    line = Line(call.name, place=call.place, steps=inside)
    for key, value in call.args.items():
        if key in ("p", *GROUP_KEYS[call.name]["properties"]):
            line.args |= {} if value is None else {key: value}
        elif value is not None and key != ALWAYS and not (key == "replace" and value is False):
            line.lost[key] = value, "no argument of a group: take it out"
    if call.args.get(ALWAYS) is True:
        line.args["p"] = 1.0
    if call.name in _DEFAULTS:
        key, usual = _DEFAULTS[call.name]
        if key not in line.args:
            line.args[key] = usual
            line.beside.append(f"the {key} of albumentations, where none is written")
    if call.name in _GATED and line.args.get("replace") is False:
        del line.args["replace"]  # as recipes have it
    count = sum(isinstance(item, Line) for item in inside)
    n = line.args.get("n")
    if isinstance(n, int) and n > count > 0 and not line.args.get("replace"):
        line.args["n"] = count
        line.beside.append(f"was n: {n}, of the steps that are left")
    if call.name == groups.ONE_OF:
        line.steps = [_gated(child) if isinstance(child, Line) else child for child in inside]
    return _whole_or_less(line)


def _gated(child: Line) -> Line:
    """A step of OneOf; one that acts less often than it is picked has a group around it with its weight."""
    p = child.args.get("p", 1.0)
    if child.name not in _GATED or p == 1:
        return child
    child.beside.append("once picked, it acts with its p")
    return Line(groups.SEQUENTIAL, {"p": p}, child.place, [child])


def _one_or_other(call: Call) -> Item:
    """The first of two with probability p, else the second: OneOf, whose weights are the p of its steps."""
    p = call.args.get("p", 0.5)
    if not isinstance(p, int | float):
        return LeftOut(call.name, f"p: {p} is no number", call.place)
    inside = [_line(child) for child in call.children or ()]
    for child, weight in zip(inside, (p, 1 - p), strict=False):
        if isinstance(child, Line):
            child.args["p"] = weight
    return _whole_or_less(Line(groups.ONE_OF, {"p": 1.0}, call.place, inside, [f"was {call.name}"]))


def _whole_or_less(line: Line) -> Item:
    """A group; one of which nothing is left is left out with it."""
    if any(isinstance(child, Line) for child in line.steps or ()):
        fault = fault_of(line)
        return line if fault is None else LeftOut(line.name, f"{fault.name}: {fault.message}", line.place)
    names = ", ".join(child.name for child in line.steps or ()) or "nothing"
    why = f"holds {names}" + (f": {line.steps[0].why}" if line.steps and isinstance(line.steps[0], LeftOut) else "")
    return LeftOut(line.name, why, line.place)
