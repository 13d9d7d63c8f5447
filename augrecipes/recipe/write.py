"""Write a recipe as YAML that loads to an equal recipe."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import chain
from typing import Any

import yaml

from augrecipes.errors import Diagnostic, RecipeError, harmless
from augrecipes.ops import policies
from augrecipes.ops.step import Arguments
from augrecipes.recipe import derive, grammar, nodes, outputs, targets
from augrecipes.recipe.inputs import DEPTHS
from augrecipes.recipe.model import DERIVED, KEYS, Inputs, Output, Recipe, Step, canonical


@dataclass(frozen=True, slots=True)
class Remark:
    """Comments on a line of a recipe: lines `above` it, and text `beside` it."""

    above: tuple[str, ...] = ()
    beside: str = ""


# The line of a recipe: `()` is the head, `("output",)` a key, `("steps", 0, 2)` the third child of the group that is
# the first step, `("steps", 0, 3)` the place behind its last child.
At = tuple[str | int, ...]
Remarks = Mapping[At, Remark]


def to_yaml(recipe: Recipe, remarks: Remarks | None = None) -> str:
    """The recipe as YAML: variants resolved, comments gone but for `remarks`, defaults left out.

    >>> from augrecipes.recipe.model import Recipe, Step
    >>> print(to_yaml(Recipe("tiny", steps=(Step("HorizontalFlip", p=0.2),))), end="")
    version: 1
    recipe: tiny
    steps:
      - HorizontalFlip: {p: 0.2}
    """
    if names := recipe.inputs.channel_names:
        views = tuple(replace(view, steps=_by_name(view.steps, names)) for view in recipe.views)
        eval_ = None if recipe.eval is None else _by_name(recipe.eval, names)
        recipe = replace(recipe, steps=_by_name(recipe.steps, names), eval=eval_, views=views)
    comments, lines = remarks or {}, []
    for at, indent, text in _lines(recipe):
        remark = comments.get(at, Remark()) if at is not None else Remark()
        lines += [f"{indent}# {harmless(above)}".rstrip() for above in remark.above]
        behind = f"  # {harmless(remark.beside)}" if remark.beside else ""
        lines += [f"{indent}{text}{behind}"] if text else []
    return "\n".join(lines) + "\n"


# Lines: position for remarks, if it can have some, indent, and text.
Lines = Iterator[tuple[At | None, str, str]]


def _lines(recipe: Recipe) -> Lines:
    yield (), "", ""
    for name, key in KEYS.items():
        value = getattr(recipe, key.field) if key.field else None
        if name in _WRITERS:
            yield from _WRITERS[name](recipe)
        elif key.field and value != getattr(_DEFAULT, key.field):
            yield (name,), "", f"{name}: {flow(value)}"


def _mapping(name: str, value: dict[str, Any] | None) -> Lines:
    """A key with a mapping; nothing for an empty one."""
    if value:
        yield (name,), "", f"{name}: {flow(value)}"


def _targets(recipe: Recipe) -> Lines:
    if recipe.targets:
        yield ("targets",), "", "targets:"
    for name, target in recipe.targets.items():
        keys = {"like": target.like, **_changes(target, targets.Target(target.like))}
        yield None, "  ", f"{name}: {flow(keys)}"


def _steps(recipe: Recipe) -> Lines:
    if recipe.steps or not recipe.views:
        name = "shared" if recipe.views else "steps"
        yield from _step_lines(name, recipe.steps, (name,))


def _views(recipe: Recipe) -> Lines:
    if recipe.views:
        yield ("views",), "", "views:"
    for view in recipe.views:
        yield None, "  ", f"{view.name}:"
        yield None, "    ", f"count: {view.count}" if view.of is None else f"of: {view.of}"
        yield from _step_lines("steps", view.steps, ("views", view.name), "    ")


def _eval(recipe: Recipe) -> Lines:
    trained = (*recipe.steps, *(recipe.views[0].steps if recipe.views else ()))
    if recipe.derived and recipe.eval == derive.steps_of(derive.derive(trained, recipe.scales.plain())):
        yield ("eval",), "", f"eval: {DERIVED}"
    elif recipe.eval is not None:
        yield from _step_lines("eval", recipe.eval, ("eval",))


def _outputs(recipe: Recipe) -> Lines:
    names = recipe.inputs.channel_names
    own = {target: _output(output, names) for target, output in recipe.outputs.items()}
    output = {**_output(recipe.output, names), **own}
    yield ("output",), "", f"output: {flow(output)}" if output else ""


_DEFAULT = Recipe("")
# Keys that are not one plain value.
_WRITERS: dict[str, Callable[[Recipe], Lines]] = {
    "version": lambda _: iter([(("version",), "", "version: 1")]),
    "bag": lambda recipe: _mapping("bag", canonical(recipe.bag) if recipe.bag else None),
    "tta": lambda recipe: _mapping("tta", views_of(recipe.tta) if recipe.tta else None),
    "inputs": lambda recipe: chain(_mapping("inputs", _inputs(recipe.inputs)), _targets(recipe)),
    "targets": lambda _: iter(()),
    "steps": _steps,
    "views": _views,
    "eval": _eval,
    "batch": lambda recipe: _step_lines("batch", recipe.batch, ("batch",)) if recipe.batch else iter(()),
    "output": _outputs,
}


def _step_lines(key: str, steps: tuple[Step, ...], at: At, indent: str = "") -> Lines:
    """A key with its steps."""
    yield at if at == (key,) else None, indent, f"{key}:" if steps else f"{key}: []"
    for place, step in enumerate(steps):
        yield from _step(step, (*at, place), indent + "  ")
    yield (*at, len(steps)), indent + "  ", ""


def body_of(step: Step) -> dict[str, Any]:
    """A step's mapping as written: its arguments, and the keys that any step may have."""
    keys = {"channels": list(step.channels), "target": list(step.target)}
    keys |= {"at": step.at, "share": step.share, "id": step.id, "p": step.p}
    body = {key: value for key, value in keys.items() if value or value == 0}
    return step.args.plain() | body | step.schedule.plain()


def _plain(step: Step) -> dict[str, Any]:
    """A step with its children as plain values."""
    return {step.name: body_of(step) | ({"steps": [_plain(child) for child in step.steps]} if step.steps else {})}


def _as_written(step: Step) -> Step:
    """The policy that a group was written as, if the group is still the policy's; otherwise the group, whose channels
    its steps do not repeat."""
    if step.channels and step.steps:
        step = replace(step, steps=tuple(_without_channels(child, step.channels) for child in step.steps))
    if step.written is None:
        return step
    scheduled = step.written.schedule.plain()
    ((_, group),) = policies.group_in_epochs(step.written.name, step.written.args.plain(), scheduled).items()
    schedule = Arguments({**scheduled, **step.schedule.plain()})
    keys: dict[str, Any] = {"p": step.p, "target": step.target, "share": step.share, "channels": step.channels}
    written = replace(step.written, schedule=schedule, **keys)
    return written if canonical(group["steps"]) == canonical(_plain(step)[step.name]["steps"]) else step


def _without_channels(step: Step, channels: tuple[int, ...]) -> Step:
    """Remove the channels that a step shares with the group around it."""
    steps = tuple(_without_channels(child, channels) for child in step.steps)
    return replace(step, steps=steps, channels=() if step.channels == channels else step.channels)


def _by_name(steps: tuple[Step, ...], names: Sequence[Any]) -> tuple[Step, ...]:
    """Replace the numbers of steps' channels by names, where channels have names."""
    name = dict(enumerate(names))
    return tuple(
        replace(step, channels=tuple(name.get(k, k) for k in step.channels), steps=_by_name(step.steps, names))
        for step in steps
    )


def _step(step: Step, at: At, indent: str) -> Lines:
    step = _as_written(step)
    arguments = body_of(step)
    if not step.steps:
        yield at, indent, f"- {flow(step.name)}: {flow(arguments)}" if arguments else f"- {flow(step.name)}"
        return
    yield at, indent, f"- {step.name}:"
    for key, value in arguments.items():
        yield None, indent + "    ", f"{flow(key)}: {flow(value)}"
    yield from _step_lines("steps", step.steps, at, indent + "    ")


def views_of(views: grammar.TtaViews) -> dict[str, Any]:
    """The mapping under `tta:`."""
    return {key: value for key, value in asdict(views).items() if value is not None}


def _inputs(inputs: Inputs) -> dict[str, Any]:
    changed = _changes(inputs)
    changed.pop("targets", None)
    changed |= {name: {"real": share} for name, share in changed.pop("real", {}).items()}
    if (bands := changed.pop("bands", None)) is not None:
        changed["channels"] = bands.written()
    image: dict[str, Any] = {
        key: changed.pop(key) for key in ("channels", "dtype", "range", "nodata", "icc", "min_size") if key in changed
    }
    if (dtype := image.pop("dtype", None)) is not None:
        image["depth"] = next(depth for depth, name in DEPTHS.items() if name == dtype)
    for key in changed.keys() & {"boxes", "keypoints"}:
        changed[key] = _changes(changed[key]) or {"format": changed[key].format}
    if labels := changed.pop("mask_labels", None):
        presence = {"presence": changed["mask"]} if "mask" in changed else {}
        changed["mask"] = {**labels.written(), **presence}
    return {"image": image, **changed} if image else changed


def _changes(value: Any, default: Any = None) -> dict[str, Any]:
    default = default or type(value)()
    return {f.name: getattr(value, f.name) for f in fields(value) if getattr(value, f.name) != getattr(default, f.name)}


def _output(output: Output, names: Sequence[str]) -> dict[str, Any]:
    changed = _changes(output)
    normalize = changed.pop("normalize", None)
    if "range" in changed:
        changed["range"] = [int(bound) for bound in changed.pop("range")]
    if normalize is not None:
        changed["normalize"] = (
            "imagenet" if not names and normalize == outputs.imagenet(output.color) else asdict(normalize)
        )
    return changed


def text_of(document: Mapping[str, Any]) -> str:
    """Write a document of Python values as YAML text, with a line for each key and each step.

    Raises:
        RecipeError: a value has a type that no recipe can hold.

    >>> print(text_of({"recipe": "tiny", "steps": ["D4", {"Blur": {"p": 0.5}}]}), end="")
    recipe: tiny
    steps:
      - D4
      - {Blur: {p: 0.5}}
    """
    try:
        nodes.from_value(document, nodes.Place())
    except (TypeError, RecursionError) as error:
        what = "nested without end" if isinstance(error, RecursionError) else str(error)
        raise RecipeError(problems=[Diagnostic(what, 1, 1, "E507", "recipe", "<recipe>")]) from None
    lines = []
    for key, value in document.items():
        items = value if isinstance(value, list | tuple) else ()
        lines += [f"{flow(str(key))}:{'' if items else f' {flow(value)}'}", *(f"  - {flow(item)}" for item in items)]
    return "".join(f"{line}\n" for line in lines)


def flow(value: Any) -> str:
    """Write a value on one line, as YAML 1.2 reads it back.

    >>> flow({"size": [224, 224], "fill": None})
    '{size: [224, 224], fill: null}'
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return int.__repr__(value)
        case float():
            return float.__repr__(value)
        case str():
            return _text(value)
        case Mapping():
            return "{" + ", ".join(f"{flow(key)}: {flow(item)}" for key, item in value.items()) + "}"
        case _:
            return "[" + ", ".join(flow(item) for item in value) + "]"


def _text(text: str) -> str:
    """Write text bare where that is safe, otherwise in double quotes."""
    try:
        bare = nodes.resolve(text) == text and isinstance(nodes.resolve(text), str)
    except nodes.NumberError:
        bare = False
    safe = text and all(c.isascii() and (c.isalnum() or c in "_-./ ") for c in text) and text[0].isalnum()
    if bare and safe and text[-1] != " " and "  " not in text:
        return text
    quoted = yaml.dump(text, default_style='"', width=float("inf"), allow_unicode=True)
    return quoted.rstrip("\n")
