"""One transform of any release of albumentations as a line of a recipe, with what changed in a comment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from augrecipes.bring.calls import Call
from augrecipes.bring.concise import saved_of
from augrecipes.bring.configs.forms import positional
from augrecipes.bring.draft import Item, LeftOut, Line, fault_of
from augrecipes.errors import RecipeError
from augrecipes.ops import registry
from augrecipes.ops.constants import to_name
from augrecipes.ops.frozen import Arguments
from augrecipes.ops.groups import COMPOSE, GROUPS, ONE_OR_OTHER
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.step import Step
from augrecipes.recipe import releases
from augrecipes.recipe.history import CLASSES, GONE, IDLE
from augrecipes.recipe.today import ordered, predates, today, unsaid
from augrecipes.recipe.write import flow

ALWAYS = "always_apply"
# What never took always_apply.
_UNTIMED = (*GROUPS, COMPOSE, ONE_OR_OTHER, "BboxParams", "KeypointParams")
UNKNOWN = "no release of albumentations has such an argument: 2.0.8 only warns of it, and does without"


def named(call: Call) -> Iterator[Call]:
    """The call with every argument by its name: as today's class has them by place, and as earlier ones had.

    >>> list(named(Call("GaussNoise", {"_args_": [[50, 200]]})))[1].args
    {'var_limit': [50, 200]}
    """
    takes = [key for key in (registry.arguments(call.name) or {"properties": {}})["properties"] if key != "p"]
    before = releases.PLACES.get(call.name, " ".join(takes)).split()
    if call.name in _UNTIMED:
        orders = [before if "p" in before else [*before, "p"]]
    else:
        orders = [[*takes, "p"], [*before, ALWAYS, "p"]]
    if call.name in OUTPUTS or is_old(call):
        orders.reverse()
    for each in (positional(call, names) for names in orders):
        if isinstance(each.args.get(ALWAYS), bool | None) or each is call:
            yield each


def is_old(call: Call) -> bool:
    """Whether a transform was written for a release before 2.0, by names that are gone."""
    return ALWAYS in call.args or predates(call.name, call.args)


def step(call: Call) -> Item:
    """One transform with the names of today; left out where nothing that the class takes comes of it."""
    left: list[Item] = []
    for each in named(call):
        found = _taken(_line(each)) if not each.unread else LeftOut(call.name, each.unread, call.place)
        if isinstance(found, Line) and not found.lost:
            return found
        left.append(found)
    return next((each for each in left if isinstance(each, Line)), left[0])


def _line(call: Call) -> Line:
    line = Line(CLASSES.get(call.name, call.name), place=call.place)
    gone = call.name in CLASSES
    if gone:
        line.beside.append(f"was {call.name}{_said(call.args)}{_until(call.name)}")
    takes = (registry.arguments(line.name) or {"properties": {}})["properties"]
    was: dict[str, list[str]] = {}  # by the last release with the name
    for key, value in call.args.items():
        said = f"{key}: {flow(value)}"
        until = _until(call.name, key)
        if key == ALWAYS:
            if value is True:
                was.setdefault(until, []).append(said)
        elif (call.name, key) in GONE:
            if not IDLE[call.name, key](value):
                line.lost[key] = value, GONE[call.name, key]
            elif value is not None:
                line.beside.append(f"was {said}{until}, which did nothing")
        elif (new := today(call.name, key, call.args)) is None:
            line.lost[key] = value, UNKNOWN
        else:
            line.args |= new
            if key in takes and new and new != {key: to_name(key, value)}:
                line.beside.append(f"was {said}")
            elif key not in takes and value is not None:
                was.setdefault(until, []).append(said)
    if call.args.get(ALWAYS) is True:
        line.args["p"] = 1.0
    if not gone:
        line.beside[:0] = [f"was {', '.join(items)}{until}" for until, items in was.items()]
    if is_old(call) and (more := unsaid(call.name, line.args, call.args)):
        line.args = ordered(call.name, line.args | more)
        line.beside.append(f"{', '.join(more)} by the defaults of its time")
    return line


def _until(cls: str, name: str = "") -> str:
    """How long it was so, for a comment."""
    release = releases.until(cls, name)
    return f" until {release}" if release else ""


def _said(args: dict[str, Any]) -> str:
    return f": {flow(args)}" if args else ""


def _taken(line: Line) -> Item:
    """The line where its class takes it, if need be with values as the class corrects them; else it is left out."""
    while (fault := fault_of(line)) is not None:
        where = fault.name.removeprefix(line.name).removeprefix(".")
        key = where.partition(".")[0]
        before, after = line.args.get(key), _corrected(line).get(key)
        fewer = Line(line.name, {name: value for name, value in line.args.items() if name != key})
        if before is not None and _corrected(fewer).get(key) == before:  # as the class finds it by itself
            del line.args[key]
            line.beside.append(f"was {key}: {flow(before)}, which the class finds by itself")
            continue
        if before is None or after is None or after == before:
            return LeftOut(line.name, f"{where}: {fault.message}" if where else fault.message, line.place)
        line.args[key] = after
        line.beside.append(f"was {key}: {flow(before)}, which the class takes as {flow(after)}")
    if line.lost:
        handed_on = _corrected(line)  # what a class writes down for its parents, and takes no more
        line.lost = {key: lost for key, lost in line.lost.items() if handed_on.get(key, ...) != lost[0]}
    return line


def _corrected(line: Line) -> dict[str, Any]:
    """The arguments as the class has them once it has corrected what it warns of; empty where it refuses them."""
    args = {key: value for key, value in line.args.items() if key not in registry.RESERVED}
    try:
        made = saved_of(registry.corrected(Step(line.name, Arguments(args), p=line.args.get("p"))))
    except (RecipeError, ValueError, TypeError):
        return {}
    return {key: to_name(key, value) for key, value in made.items()}
