"""Keys of steps that need more than a schema: schedules, channels, and files."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from augrecipes.errors import NO_HINT
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import effective, is_image_only
from augrecipes.ops.schedule import is_schedule, is_whole, last_epoch, schedules_in, value_in
from augrecipes.ops.step import Arguments
from augrecipes.paths import images_in
from augrecipes.recipe import limits
from augrecipes.recipe.bands import ChannelError, channel_numbers
from augrecipes.recipe.grammar import BY_EPOCH, RAMP, STEP_KEYS
from augrecipes.recipe.keys import Context
from augrecipes.recipe.model import Step
from augrecipes.recipe.nodes import MappingNode, Node, Place, from_value, plain, walk
from augrecipes.recipe.problems import near

_MOST = 64  # epochs in which a ramp is checked


def bodies(
    context: Context, name: str, body: MappingNode, keys: Collection[str] | None = None
) -> tuple[Arguments, list[MappingNode]]:
    """The schedules of a step as written, and its body in each epoch to check, the last epoch last.

    An invalid schedule is noted, and its argument left out of the bodies.

    Args:
        context: the recipe's context.
        name: the step's class.
        body: its arguments, and the keys that any step may have.
        keys: the keys that may have schedules; None: all.
    """
    allowed = [key for key in body.entries if key != "steps" and (keys is None or key in keys)]
    written = {key: value for key in allowed if schedules_in(value := plain(body.entries[key]))}
    if not written:
        return Arguments(), [body]
    schedules = {key: value for key, value in written.items() if _is_fine(context, f"{name}.{key}", body.entries[key])}
    others = {key: node for key, node in body.entries.items() if key not in written}

    def in_epoch(epoch: int) -> MappingNode:
        scheduled = {
            key: from_value(value_in(value, epoch, whole=is_whole(name, key)), body.entries[key].place)
            for key, value in schedules.items()
        }
        entries = {**others, **scheduled}
        return replace(body, entries={key: entries[key] for key in body.entries if key in entries})

    return Arguments(schedules), [in_epoch(epoch) for epoch in epochs_of(schedules)]


def epochs_of(written: Mapping[str, Any]) -> list[int]:
    """The epochs in which a step is checked, the last one last: those with new values, and samples of ramps.

    >>> epochs_of({"p": {"by_epoch": [0.5, 0.5, 1]}}), len(epochs_of({"p": {"from": 0, "to": 1, "epochs": 999}}))
    ([0, 2], 65)
    """
    last, epochs = last_epoch(written), set[int]()
    for schedule in schedules_in(written):
        listed = schedule.get("by_epoch")
        if listed is None:
            epochs.update(int(schedule["epochs"]) * k // _MOST for k in range(_MOST + 1))
        else:
            epochs.update(listed.index(value) for value in set(listed))
    return [*sorted(epochs - {last}), last]


def _is_fine(context: Context, label: str, node: Node) -> bool:
    """Whether all schedules in an argument are valid; problems are noted."""
    is_fine = True
    for part in walk(node):
        if isinstance(part, MappingNode) and is_schedule(part.entries):
            is_fine &= context.value(part, BY_EPOCH if "by_epoch" in part.entries else RAMP, "E315", label)
    return is_fine


_CURE = "leave `channels` out"


def step_channels(context: Context, node: Node, label: str) -> tuple[int, ...]:
    """The numbers of a step's channels; problems are noted."""
    if context.value(node, STEP_KEYS["channels"], "E309", label):
        try:
            return channel_numbers(plain(node), context.inputs.channel_names)
        except ChannelError as error:
            context.problems.add("E309", node.place, str(error), label, error.hint)
    return ()


def limited(context: Context, step: Step, place: Place) -> Step:
    """Limit a step to its `channels`; in a group, limit the steps that change values and name no channels."""
    if not step.channels:
        return step
    named = _with_channels(replace(step, channels=()), step.channels)
    if not (any(leaf.channels for leaf in named.walk() if not leaf.is_group) or (step.is_group and not step.steps)):
        nothing = "no step in it changes the values of these channels alone"
        why = nothing if step.is_group else f"{step.name} {_why_all(step)}"
        context.problems.add("E309", place, f"{why}: {_CURE}", f"{step.name}.channels")
    return named


def _with_channels(step: Step, channels: tuple[int, ...]) -> Step:
    if step.channels:
        return step
    if step.is_group:
        steps = tuple(_with_channels(child, channels) for child in step.steps)
        return replace(step, steps=steps, channels=channels)
    named = replace(step, channels=channels)
    return step if _why_all(named) else named


def _why_all(step: Step) -> str:
    """Why a step must act on all channels; empty where it can be limited to some."""
    record, count = op_record(step.name), len(step.channels)
    if not record.is_known:
        return "" if is_image_only(step.name) else "may move pixels, and all channels move with them"
    if record.moves:
        return "moves pixels, and all channels move with them"
    if record.changes_dtype:
        return "changes the dtype of the image"
    if record.channels_after is not None and (after := record.channels_after(effective(step))) != count:
        return f"makes {after} of {count} channels"
    return ""


_VALUES = (".yaml", ".yml", ".json")


def step_files(context: Context, name: str, body: MappingNode) -> tuple[MappingNode, dict[str, Any]]:
    """A step's arguments and files: images are listed; a YAML or JSON file is replaced by its contents."""
    files, key = reference_files(context, name, body), op_record(name).reads
    for file in files.get("files", ()):
        if file.endswith(_VALUES) and context.resolved.read is not None:
            path = str(Path(files["folder"], file))
            data = limits.read_bytes(path, path, context.problems)
            node, _ = context.resolved.read(data, path, context.problems)
            return replace(body, entries={**body.entries, key: node}), {}
    return body, files


def reference_files(context: Context, name: str, body: MappingNode) -> dict[str, Any]:
    """The files that a step reads, and the folder to which their paths are relative."""
    argument, names = op_record(name).reads, op_record(name).reference_names
    node = body.entries.get(argument)
    paths = [] if node is None else [value] if isinstance(value := plain(node), str) else value
    if node is None or not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        return {}
    if paths and paths[0] in names:
        return {}
    folder, files, message = str(Path(node.place.file).parent.resolve()), list[str](), "there is no image in it"
    outside = [path for path in paths if Path(path).is_absolute() or ".." in Path(path).parts]
    try:
        if outside and not context.resolved.runs_plugins:  # text of strangers
            message = f"{outside[0]!r} lies outside of the recipe's folder, and nobody asked for this text"
        else:
            files = images_in(folder, paths)
    except (OSError, ValueError) as error:
        message = f"{getattr(error, 'filename', None) or paths}: {getattr(error, 'strerror', None) or error}"
    if not files:
        message += f"; the names are {', '.join(names)}" if names else ""
        context.problems.add(
            "E308", node.place, message, f"{name}.{argument}", near(paths[0], names) if paths else NO_HINT
        )
    return {"files": tuple(files), "folder": folder}
