"""Conversion of transforms of any albumentations release to lines of a recipe, with comments on what changed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from augrecipes.errors import RecipeError
from augrecipes.interop.draft import Call, Item, LeftOut, Line, argument_schemas, line_problem
from augrecipes.ops import groups, registry
from augrecipes.ops.constants import to_name
from augrecipes.ops.groups import COMPOSE, GROUPS
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.records import op_record
from augrecipes.ops.refused import OWN_CODE, REFUSED
from augrecipes.ops.step import Arguments, Step
from augrecipes.recipe import grammar, history, write

_CLASS = "__class_fullname__"
ALWAYS = "always_apply"
_REFERENCES = "reference_images"
# Classes that never took always_apply.
_WITHOUT_ALWAYS = (*GROUPS, COMPOSE, "BboxParams", "KeypointParams")
UNKNOWN = "no release of albumentations has such an argument: 2.0.8 only warns of it, and does without"


def saved_arguments(transform: Any) -> dict[str, Any]:
    """The arguments that albumentations saves of a transform, and those that it omits because they are empty.

    >>> from augrecipes.compat.albumentations import A
    >>> saved_arguments(A.Blur(blur_limit=3, p=0.2))
    {'p': 0.2, 'blur_limit': [3, 3]}
    """
    takes = argument_schemas(type(transform).__name__)
    if hasattr(transform, _REFERENCES):  # albumentations does not save them
        known = {key: getattr(transform, key) for key in (*takes, _REFERENCES) if hasattr(transform, key)}
        images = known[_REFERENCES] or ()
        known[_REFERENCES] = images if all(isinstance(image, str) for image in images) else ()
        return Arguments(known).plain()
    result = {key: value for key, value in transform.to_dict_private().items() if key != _CLASS}
    empty: dict[str, Any] = {
        key: [] for key in takes if key not in result and getattr(transform, key, None) in ((), [])
    }
    return Arguments(result | empty).plain()


def resolved_arguments(make: Callable[[Step], Any], name: str, args: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments that albumentations saves of a step built with `args`; None if its class refuses them."""
    own = {key: value for key, value in args.items() if key not in registry.RESERVED}
    try:
        transform = saved_arguments(make(Step(name, Arguments(own), p=args.get("p"))))
    except (RecipeError, TypeError, ValueError):
        return None
    return {key: to_name(key, value) for key, value in transform.items()}


def calls_by_name(call: Call) -> Iterator[Call]:
    """Yield the call with its positional arguments named: by the order of today's class, and of earlier releases.

    >>> list(calls_by_name(Call("GaussNoise", {"_args_": [[50, 200]]})))[1].args
    {'var_limit': [50, 200]}
    """
    takes = [key for key in argument_schemas(call.name) if key != "p"]
    before = history.PLACES.get(call.name, " ".join(takes)).split()
    orders = [[*takes, "p"], [*before, ALWAYS, "p"]]
    if call.name in _WITHOUT_ALWAYS:
        orders = [[*dict.fromkeys([*before, "p"])]]
    if call.name in OUTPUTS or is_old(call):
        orders.reverse()
    for each in (call.by_name(names) for names in orders):
        if isinstance(each.args.get(ALWAYS), bool | None) or each is call:
            yield each


def is_old(call: Call) -> bool:
    """Whether a transform was written for a release before 2.0, by arguments that were removed."""
    return ALWAYS in call.args or history.predates(call.name, call.args)


def _step(call: Call) -> Item:
    """A transform as a line with today's names; a LeftOut if no reading of it gives valid arguments."""
    left: list[Item] = []
    for each in calls_by_name(call):
        result = LeftOut(call.name, each.unread, call.place) if each.unread else _check_line(_line(each))
        if isinstance(result, Line) and not result.unsupported:
            return result
        left.append(result)
    return next((each for each in left if isinstance(each, Line)), left[0])


def _line(call: Call) -> Line:
    line = Line(history.CLASSES.get(call.name, call.name), place=call.place)
    gone, takes = call.name in history.CLASSES, argument_schemas(line.name)
    if gone:
        line.comments.append(f"was {call.name}: {write.flow(call.args)}" if call.args else f"was {call.name}")
    was: list[str] = []
    for key, value in call.args.items():
        text = f"{key}: {write.flow(value)}"
        if key == ALWAYS:
            was += [text] if value is True else []
        elif (call.name, key) in history.REMOVED:
            if not history.is_idle(call.name, key, value):
                line.unsupported[key] = value, history.REMOVED[call.name, key]
            elif value is not None:
                line.comments.append(f"was {text}, which did nothing")
        elif (new := history.current_arguments(call.name, key, call.args)) is None:
            line.unsupported[key] = value, UNKNOWN
        else:
            line.args |= new
            if key in takes and new and new != {key: to_name(key, value)}:
                line.comments.append(f"was {text}")
            elif key not in takes and value is not None:
                was.append(text)
    if call.args.get(ALWAYS) is True:
        line.args["p"] = 1.0
    if was and not gone:
        line.comments.insert(0, f"was {', '.join(was)}")
    if is_old(call) and (more := history.old_defaults(call.name, line.args, call.args)):
        line.args = history.in_order(call.name, line.args | more)
        line.comments.append(f"{', '.join(more)} by the defaults of its time")
    return line


def _check_line(line: Line) -> Item:
    """The line if its class accepts it, perhaps with values as the class corrects them; else a LeftOut."""
    while (fault := line_problem(line)) is not None:
        where = fault.name.removeprefix(line.name).removeprefix(".")
        key = where.partition(".")[0]
        before, after = line.args.get(key), _corrections(line.name, line.args).get(key)
        fewer = {name: value for name, value in line.args.items() if name != key}
        if before is not None and _corrections(line.name, fewer).get(key) == before:
            line.args = fewer
            line.comments.append(f"was {key}: {write.flow(before)}, which the class finds by itself")
            continue
        if before is None or after is None or after == before:
            return LeftOut(line.name, f"{where}: {fault.message}" if where else fault.message, line.place)
        line.args[key] = after
        line.comments.append(f"was {key}: {write.flow(before)}, which the class takes as {write.flow(after)}")
    if line.unsupported:  # saved arguments that the class derives from the others need no mention
        derived = _corrections(line.name, line.args)
        line.unsupported = {
            key: problem for key, problem in line.unsupported.items() if derived.get(key, ...) != problem[0]
        }
    return line


def _corrections(name: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments after the class's own corrections, of which it warns; empty if it refuses them."""
    return resolved_arguments(registry.corrected, name, args) or {}


def lines(calls: Sequence[Call]) -> list[Item]:
    """The calls as lines in order; a LeftOut stands for a call that no recipe can hold."""
    result: list[Item] = []
    for call in calls:
        item = _item(call)
        always = isinstance(item, Line) and call.name == COMPOSE and item.args["p"] == 1
        result += (item.steps or []) if isinstance(item, Line) and always else [item]
    return result


def _item(call: Call) -> Item:
    if call.unread:
        return LeftOut(call.name, REFUSED["Lambda"] if call.name == "Lambda" else call.unread, call.place)
    if call.name in (*GROUPS, history.FLIP):
        call = next(calls_by_name(call), call)
    if call.name == COMPOSE:
        inside = lines(call.children or ())
        return _checked_group(Line(groups.SEQUENTIAL, {"p": call.args.get("p", 1.0)}, call.place, inside))
    if call.name in GROUPS:
        return _group(call)
    if call.name == history.FLIP:
        return _flip(call)
    if op_record(call.name).reads == "references":
        call = _with_references(call)
    if call.name in REFUSED:
        return LeftOut(call.name, REFUSED[call.name], call.place)
    ours = call.package.partition(".")[0] in ("", "albumentations", "augrecipes")
    known = registry.arguments(call.name) is not None
    if call.name in history.CLASSES or (known and (ours or registry.get_class(call.name).__module__ == call.package)):
        return _step(call)
    where = f" of {call.package}" if call.package else ""
    why = (
        f"no class{where} that augrecipes knows: {OWN_CODE}, in a module that runs first, or in a plugin that is named "
        "here: augrecipes --plugin FILE.py import ..."
    )
    return LeftOut(call.name, why, call.place)


def _with_references(call: Call) -> Call:
    """The call with its paths of reference images renamed to `references`."""
    args = {key: value for key, value in call.args.items() if key not in ("read_fn", "metadata_key", _REFERENCES)}
    args |= {"references": call.args[_REFERENCES]} if _REFERENCES in call.args else {}
    is_read = args.get("references") or "_args_" in args
    unread = call.unread or ("" if is_read else "has no paths of reference images: `references: FOLDER`")
    return replace(call, args=args, unread=unread)


def _flip(call: Call) -> Item:
    """The former Flip as OneOf: a horizontal flip, a vertical flip, or both, equally likely."""
    p = 1.0 if call.args.get(ALWAYS) is True else call.args.get("p", 0.5)
    each, both = ([Line(name, {"p": 1.0}, call.place) for name in history.FLIPS] for _ in range(2))
    inside: list[Item] = [*each, Line(groups.SEQUENTIAL, {"p": 1.0}, call.place, [*both])]
    line = Line(groups.ONE_OF, {"p": p}, call.place, inside, [f"was {call.name}"])
    line.unsupported = {key: (value, UNKNOWN) for key, value in call.args.items() if key not in ("p", ALWAYS)}
    return _checked_group(line)


# Defaults of albumentations' groups that differ from ours.
_DEFAULTS: dict[str, tuple[str, Any]] = {
    groups.ONE_OF: ("p", 0.5),
    groups.SEQUENTIAL: ("p", 0.5),
    groups.RANDOM_ORDER: ("n", 1),
}


def _group(call: Call) -> Item:
    children = call.children or ()
    inside = lines(children) if call.name == groups.SEQUENTIAL else [_item(child) for child in children]
    line = Line(call.name, place=call.place, steps=inside)
    for key, value in call.args.items():
        if key in ("p", *grammar.GROUPS[call.name]["properties"]):
            line.args |= {} if value is None else {key: value}
        elif value is not None and key != ALWAYS and not (key == "replace" and value is False):
            line.unsupported[key] = value, "no argument of a group: take it out"
    if call.args.get(ALWAYS) is True:
        line.args["p"] = 1.0
    key, usual = _DEFAULTS.get(call.name, ("", None))
    if key and key not in line.args:
        line.args[key] = usual
        line.comments.append(f"the {key} of albumentations, where none is written")
    if call.name in groups.GATED and line.args.get("replace") is False:
        del line.args["replace"]  # as recipes have it
    count, n = sum(isinstance(item, Line) for item in inside), line.args.get("n")
    if isinstance(n, int) and n > count > 0 and not line.args.get("replace"):
        line.args["n"] = count
        line.comments.append(f"was n: {n}, of the steps that are left")
    if call.name == groups.ONE_OF:
        line.steps = [_gate(child) if isinstance(child, Line) else child for child in inside]
    return _checked_group(line)


def _gate(child: Line) -> Line:
    """A step of OneOf; a step with p below 1 gets a group around it that carries p as its weight."""
    p = child.args.get("p", 1.0)
    if child.name not in groups.GATED or p == 1:
        return child
    child.comments.append("once picked, it acts with its p")
    return Line(groups.SEQUENTIAL, {"p": p}, child.place, [child])


def _checked_group(line: Line) -> Item:
    """The group, checked; a LeftOut if no step of it is left, or it is not valid."""
    if any(isinstance(child, Line) for child in line.steps or ()):
        fault = line_problem(line)
        return line if fault is None else LeftOut(line.name, f"{fault.name}: {fault.message}", line.place)
    names = ", ".join(child.name for child in line.steps or ()) or "nothing"
    why = f"holds {names}" + (f": {line.steps[0].why}" if line.steps and isinstance(line.steps[0], LeftOut) else "")
    return LeftOut(line.name, why, line.place)
