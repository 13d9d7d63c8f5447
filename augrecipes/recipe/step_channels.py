"""The key `channels:` of steps: which may have it, and what it says of the steps in a group."""

from __future__ import annotations

from dataclasses import replace

from augrecipes.ops.records import op_record
from augrecipes.ops.registry import effective, is_image_only
from augrecipes.recipe.bands import ChannelError, channel_numbers
from augrecipes.recipe.grammar import STEP_KEYS
from augrecipes.recipe.keys import Context
from augrecipes.recipe.model import Step
from augrecipes.recipe.nodes import Node, Place, plain

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
