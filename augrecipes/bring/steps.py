"""Transforms of any release of albumentations as lines of a recipe, with what changed in a comment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from augrecipes.bring.calls import Call
from augrecipes.bring.draft import Item, LeftOut, Line, RecipeDraft
from augrecipes.ops import groups, registry
from augrecipes.ops.constants import to_name
from augrecipes.ops.groups import GROUPS
from augrecipes.ops.refused import REFUSED
from augrecipes.recipe.history import CLASSES, GONE, instead, step_today
from augrecipes.recipe.write import flow

ALWAYS = "always_apply"


def lines(calls: Sequence[Call], draft: RecipeDraft) -> list[Item]:
    """The calls as lines; what no recipe can hold is among them as left out."""
    found: list[Item] = []
    for call in calls:
        found += _lines(call, draft)
    return found


def _lines(call: Call, draft: RecipeDraft) -> list[Item]:
    if call.name in GROUPS:
        return [_group(call, draft)]
    if call.name == groups.COMPOSE:
        return _nested(call, draft)
    if call.name in REFUSED:
        return [LeftOut(call.name, REFUSED[call.name], call.place)]
    if call.name not in CLASSES and registry.arguments(call.name) is None:
        return [LeftOut(call.name, _unknown(call), call.place)]
    return [step(call)]


def _unknown(call: Call) -> str:
    where = f" of {call.package}" if call.package else ""
    return (
        f"no class{where} that augrecipes knows: make it known with augrecipes.register(cls), in a module that runs "
        "first, or as an entry point of the group augrecipes.ops"
    )


def step(call: Call) -> Line:
    """One transform with the names of today."""
    line = Line(call.name, place=call.place)
    if call.name in CLASSES and (today := step_today(call.name, call.args)) is not None:
        line.name, line.args = CLASSES[call.name], _named(today)
        line.beside.append(f"was {call.name}{_said(call.args)}")
        return line
    takes = (registry.arguments(call.name) or {"properties": {}})["properties"]
    was: list[str] = []
    for key, value in call.args.items():
        if key in takes:
            line.args[key] = to_name(key, value)
        elif key == ALWAYS:
            if value is True:
                was.append(f"{ALWAYS}: true")
        elif (call.name, key) in GONE:
            line.beside.append(f"{key}: {flow(value)}: {GONE[call.name, key]}")
        elif (new := instead(call.name, key, call.args)) is not None:
            line.args |= _named(new)
            if new:
                was.append(f"{key}: {flow(value)}")
        else:
            line.args[key] = value  # the check of the draft names it
    if call.args.get(ALWAYS) is True:
        line.args["p"] = 1.0
    if was:
        line.beside.insert(0, f"was {', '.join(was)}")
    return line


def _named(args: dict[str, Any]) -> dict[str, Any]:
    return {key: to_name(key, value) for key, value in args.items()}


def _said(args: dict[str, Any]) -> str:
    return f": {flow(args)}" if args else ""


# What albumentations' groups do where nothing is said, and ours do not.
_GROUP_P = {groups.ONE_OF: 0.5, groups.SEQUENTIAL: 0.5}


def _group(call: Call, draft: RecipeDraft) -> Item:
    line = Line(call.name, place=call.place, steps=lines(call.children or (), draft))
    args = {key: value for key, value in call.args.items() if key != ALWAYS}
    if call.args.get(ALWAYS) is True:
        args["p"] = 1.0
    if "p" not in args and call.name in _GROUP_P:
        args["p"] = _GROUP_P[call.name]
        line.beside.append("its p where none was written")
    if call.name == groups.RANDOM_ORDER and "n" not in args:
        args["n"] = 1
        line.beside.append("its n where none was written")
    if call.name == groups.RANDOM_ORDER and args.get("replace") is False:
        del args["replace"]  # what recipes do
    line.args = args
    return line


def _nested(call: Call, draft: RecipeDraft) -> list[Item]:
    """A Compose among the steps: a Sequential, which is opened where it always acts."""
    p = call.args.get("p", 1.0)
    inside = lines(call.children or (), draft)
    if p == 1:
        return inside
    return [Line(groups.SEQUENTIAL, {"p": p}, call.place, inside, ["was a Compose"])]
