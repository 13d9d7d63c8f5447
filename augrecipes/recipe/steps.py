"""Build steps and groups from nodes, with all checks that need no other part of the recipe."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from augrecipes.errors import NO_HINT, Fix, Hint
from augrecipes.ops import bounds, catalog, groups, policies, records, refused, registry, schedule
from augrecipes.ops.registry import chance
from augrecipes.recipe import checks, grammar, history, kinds, limits, step_keys, suggest
from augrecipes.recipe.arguments import check_value
from augrecipes.recipe.grammar import STEP_KEYS, P
from augrecipes.recipe.keys import Context
from augrecipes.recipe.model import GROUPS, Arguments, Step
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Place, Scalar, describe, from_value, plain
from augrecipes.recipe.problems import near
from augrecipes.recipe.step_keys import limited, step_channels, step_files

RESERVED = ("p", *STEP_KEYS)
_GROUPS = {name: catalog.own_part(schema) for name, schema in (grammar.GROUPS | grammar.POLICIES).items()}
# Lints that authors of a policy cannot heed: it follows a crop, and a published table orders its steps.
_PUBLISHED = frozenset({"L103", "L301", "L503"})
_ID = re.compile(STEP_KEYS["id"]["pattern"])


def build_steps(context: Context, node: Node, key: str = "steps", inside: tuple[str, ...] = ()) -> tuple[Step, ...]:
    """Build the steps of a list node; invalid ones are noted and left out.

    Args:
        context: the recipe's context.
        node: the list.
        key: its key, for messages.
        inside: the names of the groups around it.
    """
    return build_items(context, node, key, lambda item: _build(context, item, inside))


def build_items(context: Context, node: Node, key: str, build: Callable[[Node], Step | None]) -> tuple[Step, ...]:
    """Build the items of a list node by `build`, without those for which it returns None."""
    if not isinstance(node, ListNode):
        context.problems.add("E204", node.place, f"must be a list of steps, got {describe(node)}", key)
        return ()
    built = map(build, node.items)
    return tuple(step for step in built if step is not None)


def _build(context: Context, node: Node, inside: tuple[str, ...], label: str = "") -> Step | None:
    """Build one step; `label`: its name in messages, where that differs."""
    place, name, body = shape_of(context, node)
    context.steps += 1
    if context.steps > limits.MAX_STEPS:
        raise context.problems.stop("E118", place, f"a recipe holds at most {limits.MAX_STEPS:,} steps", "steps")
    if not name or not _usable_name(context, name, place, body, inside):
        return None
    body = MappingNode({}, place) if body is None else body
    if name == groups.AUTO_AUGMENT and isinstance(body, Scalar):
        body = MappingNode({"policy": body}, body.place)
    if not isinstance(body, MappingNode):
        message = f"arguments are given by name, such as {name}: {{argument: value}}; got {describe(body)}"
        context.problems.add("E301", body.place, message, name)
        return None
    if name in groups.POLICIES:
        return _policy(context, name, body, place, inside)
    before = len(context.problems)
    scheduled, (*earlier, body) = step_keys.bodies(context, name, body)
    reserved = _keys(context, label or name, body)
    takes_steps = name in GROUPS or name == groups.DEGRADE
    children: tuple[Step, ...] = ()
    if takes_steps and "steps" in body.entries:
        children = build_steps(context, body.entries["steps"], f"{name}.steps", (*inside, name))
    body, files = step_files(context, name, body)
    arguments, more = _arguments(context, name, body, place), reserved | files
    step = placed_step(context, name, body, place, arguments, steps=children, schedule=scheduled, **more)
    _check_step(context, step, body, place, before)
    for other in earlier:
        if len(context.problems) == before:
            args = Arguments(_arguments(context, name, other, place))
            p = _keys(context, name, MappingNode({"p": other.entries["p"]}, place)) if "p" in other.entries else {}
            _check_step(context, replace(step, args=args, **p), other, place, before)
    return limited(context, step, body.at.get("channels", place))


def placed_step(
    context: Context, name: str, body: MappingNode, place: Place, arguments: Mapping[str, Any], **more: Any
) -> Step:
    """A step with its place, those of its arguments, and the lints that its line silences."""
    places = Arguments({key: context.position(body.at.get(key, body.place)) for key in body.entries})
    position, ignored = context.position(place), context.ignored(place)
    return Step(name, Arguments(arguments), position=position, places=places, ignored=ignored, **more)


def _check_step(context: Context, step: Step, body: MappingNode, place: Place, before: int) -> None:
    """Check a step as a whole; `before`: the number of problems before it was read."""
    name = step.name
    if name in GROUPS or name == groups.DEGRADE:
        check_children(context, step, body, place, before)
    elif len(context.problems) == before and name not in groups.PAIR_STEPS:
        refusal = bounds.verdict(step, context.max_bytes)
        if refusal is not None:
            argument = body.entries.get(refusal.argument)
            where = body.at.get(refusal.argument, place) if argument is None else argument.place
            label = f"{name}.{refusal.argument}" if refusal.argument else name
            context.problems.add("E308", where, refusal.message, label)


def check_children(context: Context, step: Step, body: MappingNode, place: Place, before: int) -> None:
    """Check a group's steps in all epochs; `before`: the number of problems before, as no check follows a problem."""
    draws = step.name == groups.ONE_OF and step.steps and step.p != 0 and len(context.problems) == before
    if draws and not any(
        any(map(chance, schedule.in_epoch(step, epoch).steps)) for epoch in (0, *schedule.ends(step.steps))
    ):
        context.problems.add("E310", place, "every step has weight p: 0, so none can be drawn", step.name)
    for epoch in step_keys.epochs_of({str(k): node.schedule for k, node in enumerate((step, *step.steps))}):
        if len(context.problems) == before:
            checks.check_group(context, schedule.in_epoch(step, epoch), body, place)


def _policy(context: Context, name: str, body: MappingNode, place: Place, inside: tuple[str, ...]) -> Step | None:
    """The group that a policy stands for, with an id that begins with its name; `written` keeps the policy."""
    before, properties = len(context.problems), _GROUPS[name]["properties"]
    numbers = {key for key, part in properties.items() if key not in RESERVED and grammar.is_ramped(part)}
    scheduled, bodies = step_keys.bodies(context, name, body, numbers)
    arguments: dict[str, Any] = {}
    for state in bodies:
        if len(context.problems) == before:
            arguments = _arguments(context, name, state, place)
    if len(context.problems) > before:
        return None
    reserved = {key: body.entries[key] for key in RESERVED if key in body.entries}
    ids = (name, *(f"{name}-{number}" for number in range(2, len(context.ids) + 2)))
    id_ = Scalar(next(name for name in ids if name not in context.ids), place)
    ((kind, group),) = policies.group_of(name, arguments).items()
    entries = {key: from_value(value, place) for key, value in group.items()} | {"id": id_} | reserved
    at = {key: body.at.get(key, place) for key in reserved}
    step = _build(context, MappingNode({kind: MappingNode(entries, place, at)}, place), inside, name)
    if step is None:
        return None
    try:
        step = _with_schedules(step, policies.group_in_epochs(name, arguments, scheduled)[kind])
    except ValueError as error:
        key = next(iter(scheduled))
        context.problems.add("E315", body.entries[key].place, str(error), f"{name}.{key}")
    own_id = step.id if "id" in reserved else None
    written = replace(step, name=name, args=Arguments(arguments), id=own_id, steps=(), schedule=scheduled)
    return replace(_silent(step), written=written)


def _with_schedules(step: Step, body: Mapping[str, Any]) -> Step:
    """Add the schedules of a body as written to a step built for the last epoch, and to its children."""
    written = {key: value for key, value in body.items() if key != "steps" and schedule.schedules_in(value)}
    bodies = [inner for child in body.get("steps", ()) for inner in child.values()]
    steps = tuple(map(_with_schedules, step.steps, bodies))
    return replace(step, steps=steps, schedule=Arguments({**step.schedule.plain(), **written}))


def _silent(step: Step) -> Step:
    return replace(step, ignored=step.ignored | _PUBLISHED, steps=tuple(map(_silent, step.steps)))


def shape_of(context: Context, node: Node) -> tuple[Place, str, Node | None]:
    """Place, name and arguments of a step; an empty name, with the problem noted, where it is no step."""
    if isinstance(node, Scalar) and isinstance(node.value, str) and node.value:
        return node.place, node.value, None
    if not isinstance(node, MappingNode) or not node.entries:
        message = f"a step is a name or one `Name: {{arguments}}`, got {describe(node)}"
        context.problems.add("E301", node.place, message, "step")
        return node.place, "", None
    name, place, body = next(node.pairs())
    is_empty = isinstance(body, Scalar) and body.value is None
    if name and len(node.entries) == 1:
        return place, name, None if is_empty else body
    if not name:
        message = "the name of the step is empty; write the name of a class"
    elif is_empty:
        others = ", ".join(list(node.entries)[1:4])
        message = f"a step has one key; indent its arguments ({others}) further than {name!r}"
    else:
        message = f"a step has one key, got {len(node.entries)}; start each step with its own `- `"
    context.problems.add("E301", place, message, name or "step")
    return place, "", None


def _usable_name(context: Context, name: str, place: Place, body: Node | None, inside: tuple[str, ...]) -> bool:
    problems = context.problems
    if name == groups.DEGRADE:
        if not context.facts.scales:
            message = f"makes one target from another, which only recipes of kind {kinds.owners('scales')} have"
            problems.add("E207", place, message, name)
        elif groups.DEGRADE in inside:
            problems.add("E312", place, "a Degrade cannot stand inside a Degrade", name)
        elif inside:
            message = f"stands at the top of its list, not inside {inside[-1]}: its target is made for every sample"
            problems.add("E312", place, message, name)
    if name in (*GROUPS, *groups.POLICIES) or name == groups.DEGRADE:
        return True
    if records.op_record(name).resizes == "target" and groups.DEGRADE not in inside:
        problems.add("E312", place, "works inside Degrade only, where it resizes to the target; use Resize", name)
        return True
    if registry.arguments(name) is not None:
        return True
    if name in refused.REFUSED:
        problems.add("E303", place, refused.REFUSED[name], name)
    elif "." in name:
        message = "steps are class names, never dotted paths; register your own with augrecipes.register(cls)"
        last = name.rsplit(".", 1)[1]
        hint = Hint(f"; write {last!r}", (Fix("word", last),)) if last in registry.names() else NO_HINT
        problems.add("E302", place, message, name, hint)
    else:
        valid = (*registry.names(), *GROUPS, *groups.POLICIES)
        arguments = {} if body is None else plain(body)
        context.translated = context.translated or name in history.CLASSES
        problems.add("E302", place, "unknown step", name, suggest.step(name, arguments, valid))
    return False


def _keys(context: Context, name: str, body: MappingNode) -> dict[str, Any]:
    """The reserved keys of a step as keyword arguments of the model."""
    values: dict[str, Any] = {}
    for key in RESERVED:
        node = body.entries.get(key)
        if node is None or (name == groups.DEGRADE and key == "target"):
            continue
        label = f"{name}.{key}"
        if key not in context.facts.keys and (owner := kinds.owners(key)):
            place, message = body.at.get(key, node.place), f"belongs to recipes of kind {owner}"
            context.problems.add("E207", place, message, label)
            continue
        if key in ("target", "at"):
            names = _targets(context, node, label, one=key == "at")
            values |= {key: names[0] if key == "at" else names} if names else {}
        elif key == "channels":
            values[key] = step_channels(context, node, label)
        elif key == "id":
            check_id(context, node, label)
            values["id"] = str(plain(node))
        elif context.value(node, STEP_KEYS.get(key, P), "E309", label):
            values[key] = float(plain(node)) if key == "p" else plain(node)
    return values


def check_id(context: Context, node: Node, label: str) -> None:
    """Check an id and register it, or note why it is invalid."""
    value = plain(node)
    problems = context.problems
    if not isinstance(value, str) or not _ID.fullmatch(value):
        problems.add("E311", node.place, "an id starts with a letter and holds letters, digits, - and _", label)
    elif value in GROUPS or value in refused.REFUSED or value in registry.names():
        problems.add("E311", node.place, f"{value!r} is the name of a class; choose another id", label)
    elif value in context.ids:
        line = context.ids[value].line
        problems.add("E311", node.place, f"id {value!r} is taken by the step in line {line}", label)
    else:
        context.ids[value] = node.place


def _targets(context: Context, node: Node, label: str, *, one: bool) -> tuple[str, ...]:
    items = [node] if isinstance(node, Scalar) else node.items if isinstance(node, ListNode) and not one else []
    names: list[str] = []
    if not items:
        wanted = "the name of one target" if one else "a target's name or a list of them"
        context.problems.add("E309", node.place, f"must be {wanted}, got {describe(node)}", label)
    for item in items:
        value = plain(item)
        if not isinstance(value, str):
            context.problems.add("E309", item.place, f"must be a target's name, got {describe(item)}", label)
        elif value not in context.scales:
            message = f"unknown target {value!r}; `scales:` has {', '.join(context.scales) or 'none'}"
            context.problems.add("E314", item.place, message, label, near(value, context.scales))
        elif value in names:
            context.problems.add("E309", item.place, f"target {value!r} is named twice", label)
        else:
            names.append(value)
    return tuple(names)


def _arguments(context: Context, name: str, body: MappingNode, place: Place) -> dict[str, Any]:
    """The arguments without reserved keys, checked against the class's schema."""
    schema = _GROUPS.get(name) or registry.arguments(name) or {"properties": {}}
    properties: Mapping[str, Any] = schema["properties"]
    inner = ("steps",) if name in GROUPS else ("steps", "target") if name == groups.DEGRADE else ()
    valid = [key for key in properties if key != "p"]
    open_ended = schema.get("additionalProperties", True) is True
    arguments: dict[str, Any] = {}
    for key, at, node in body.pairs():
        if key == "target" and key in inner:
            arguments[key] = plain(node)
        elif key in inner or key in RESERVED:
            continue
        elif key in properties:
            for problem in () if name in GROUPS else check_value(properties[key], node):
                hint = suggest.value(name, key, problem.code, plain(node)) or problem.hint
                context.problems.add(problem.code, problem.place, problem.message, f"{name}.{key}", hint)
            arguments[key] = plain(node)
        elif key in schema.get("x-python", ()) and (name, key) not in history.REMOVED:
            context.problems.add("E304", at, f"{key!r} takes a Python object, which a recipe cannot hold", name)
        elif not open_ended:
            written = plain(body)
            context.translated = context.translated or history.is_old(name, key, written)
            hint = suggest.argument(name, key, written, [*valid, *inner, *RESERVED[:2]])
            takes = "" if hint.text else f"; it takes {', '.join([*valid, *inner, 'p'])}"
            context.problems.add("E304", at, f"unknown argument {key!r}{takes}", name, hint)
    for key in () if name in GROUPS or name == groups.DEGRADE else schema.get("required", ()):
        if key not in body.entries:
            context.problems.add("E305", place, f"{key!r} is required", name)
    return arguments
