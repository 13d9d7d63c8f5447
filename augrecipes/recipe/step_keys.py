"""Keys of steps that hold more than values: schedules, the channels that a step acts on, and files that it names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from augrecipes.errors import NO_HINT
from augrecipes.ops.frozen import Arguments
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import effective, is_image_only
from augrecipes.ops.schedule import is_schedule, is_whole, last_epoch, schedules_in, value_in
from augrecipes.paths import images_in
from augrecipes.recipe import limits
from augrecipes.recipe.bands import ChannelError, channel_numbers
from augrecipes.recipe.grammar import BY_EPOCH, RAMP, STEP_KEYS
from augrecipes.recipe.keys import Context
from augrecipes.recipe.model import Step
from augrecipes.recipe.nodes import MappingNode, Node, Place, from_value, plain, walk
from augrecipes.recipe.problems import near

_MOST = 64  # epochs in which a ramp is looked at


def bodies(
    context: Context, name: str, body: MappingNode, keys: Collection[str] | None = None
) -> tuple[Arguments, list[MappingNode]]:
    """What is scheduled of a step, as written, and its body as it is in the epochs to be checked, the last one last.

    A schedule that is none is noted as a problem, and its argument left out of the bodies.

    Args:
        context: of the recipe.
        name: of the step's class.
        body: its arguments, and the keys that any step may have.
        keys: that may have schedules; None: all.
    """
    may = [key for key in body.entries if key != "steps" and (keys is None or key in keys)]
    written = {key: value for key in may if schedules_in(value := plain(body.entries[key]))}
    if not written:
        return Arguments(), [body]
    schedules = {key: value for key, value in written.items() if _is_fine(context, f"{name}.{key}", body.entries[key])}
    others = {key: node for key, node in body.entries.items() if key not in written}

    def in_epoch(epoch: int) -> MappingNode:
        now = {
            key: from_value(value_in(value, epoch, whole=is_whole(name, key)), body.entries[key].place)
            for key, value in schedules.items()
        }
        every = {**others, **now}
        return replace(body, entries={key: every[key] for key in body.entries if key in every})

    return Arguments(schedules), [in_epoch(epoch) for epoch in epochs_of(schedules)]


def epochs_of(written: Mapping[str, Any]) -> list[int]:
    """The epochs in which a step is looked at, the last one last: of many those of new numbers, and some of ramps.

    >>> epochs_of({"p": {"by_epoch": [0.5, 0.5, 1]}}), len(epochs_of({"p": {"from": 0, "to": 1, "epochs": 999}}))
    ([0, 2], 65)
    """
    last, epochs = last_epoch(written), set[int]()
    for each in schedules_in(written):
        listed = each.get("by_epoch")
        if listed is None:
            epochs.update(int(each["epochs"]) * k // _MOST for k in range(_MOST + 1))
        else:
            epochs.update(listed.index(value) for value in set(listed))
    return [*sorted(epochs - {last}), last]


def _is_fine(context: Context, label: str, node: Node) -> bool:
    """Whether the schedules in an argument are some; what is wrong with others is noted."""
    is_fine = True
    for each in walk(node):
        if isinstance(each, MappingNode) and is_schedule(each.entries):
            is_fine &= context.value(each, BY_EPOCH if "by_epoch" in each.entries else RAMP, "E315", label)
    return is_fine


_CURE = "leave `channels` out"


def step_channels(context: Context, node: Node, label: str) -> tuple[int, ...]:
    """The numbers of a step's channels; what is wrong is noted."""
    if context.value(node, STEP_KEYS["channels"], "E309", label):
        try:
            return channel_numbers(plain(node), context.inputs.channel_names)
        except ChannelError as error:
            context.problems.add("E309", node.place, str(error), label, error.hint)
    return ()


def limited(context: Context, step: Step, place: Place) -> Step:
    """A step that acts on its `channels` alone; of a group, the steps in it that change values and name none."""
    if not step.channels:
        return step
    named = _with_channels(replace(step, channels=()), step.channels)
    if not (any(leaf.channels for leaf in named.walk() if not leaf.is_group) or (step.is_group and not step.steps)):
        none = "no step in it changes the values of these channels alone"
        why = none if step.is_group else f"{step.name} {_why_all(step)}"
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
    """Why a step acts on all channels at once; empty for one that can do without some."""
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
    """A step's arguments and its files: images are listed, and what a YAML or JSON file holds stands in its place."""
    files, key = reference_files(context, name, body), op_record(name).reads
    for file in files.get("files", ()):
        if file.endswith(_VALUES) and context.resolved.read is not None:
            path = str(Path(files["folder"], file))
            data = limits.read_bytes(path, path, context.problems)
            node, _ = context.resolved.read(data, path, context.problems)
            return replace(body, entries={**body.entries, key: node}), {}
    return body, files


def reference_files(context: Context, name: str, body: MappingNode) -> dict[str, Any]:
    """The files that a step reads, listed, and the folder that they are counted from."""
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
