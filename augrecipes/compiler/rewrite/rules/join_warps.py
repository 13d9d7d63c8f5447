"""Windows, turns and warps in a row are one map between grids: resample once instead of at every step."""

from __future__ import annotations

from functools import reduce
from typing import TypeGuard

from augrecipes.compiler.rewrite.contracts import held_from
from augrecipes.compiler.rewrite.nodes import Fused, Node, Nodes, Steps, action_of, after, is_single
from augrecipes.compiler.rewrite.rule import Edit, Rule, runs
from augrecipes.flow import Flow
from augrecipes.ops.capabilities import capability, claims
from augrecipes.ops.registry import effective
from augrecipes.ops.sizes import UNKNOWN, SizeBounds
from augrecipes.recipe.model import Step

_STILL = ("identity", "window", "dihedral")


def joins(step: Step) -> bool:
    """Whether a step, or every step of a group, maps grids: images linearly, masks by nearest, or neither."""
    if step.is_group:
        return all(joins(child) for child in step.steps)
    action = action_of(step)
    if action in _STILL:
        return True
    if action != "warp":
        return False
    return not effective(step).get("area_for_downscale") and _is_linear(step)


def _is_linear(step: Step) -> bool:
    arguments = effective(step)
    interpolations = arguments.get("interpolation", "linear"), arguments.get("mask_interpolation", "nearest")
    return interpolations == ("linear", "nearest")


def _pays(run: Steps, size: SizeBounds, flow: Flow) -> bool:
    """Whether pixels are saved: something is resampled, and afterwards scaled or cut.

    A rotation or its kin looks beyond its image nearly always, and must then be carried out on it as it is.
    OpenCV's resize is so much quicker than its warp that where images are resized and then cut, that pays only where
    most of what was resized is cut off, or where the decoder is spared what is cut off. `size` is what is known of the
    images before the run.
    """
    leaves = [leaf for step in run for leaf in step.walk() if not leaf.is_group]
    actions = [action_of(leaf) for leaf in leaves]
    if "warp" not in actions or not any(map(_leaves_less, leaves[actions.index("warp") + 1 :])):
        return False
    if flow.encoded or any(step.is_group for step in run) or not all(map(_only_scales, leaves)):
        return True
    places = [place for place, action in enumerate(actions) if action == "warp"]
    return any(_is_resize(leaves[place]) for place in places[1:]) or _cuts_most(run, size)


def _samples(run: Steps, flow: Flow) -> bool:
    """Whether a job samples images in less time than the steps one by one: all that are not only scaled."""
    leaves = [leaf for step in run for leaf in step.walk() if not leaf.is_group]
    return flow.dtype == "uint8" and not all(map(_only_scales, leaves))


def _bends(step: Node) -> TypeGuard[Step]:
    """Whether it is a field that jobs sample: it is joined with no other."""
    if not is_single(step) or (record := capability(step.name)) is None:
        return False
    return record.native == "warps:grid" and _is_linear(step)


def recolours(step: Step) -> bool:
    """Whether a step, or every step of a group, changes colours by little more than a matrix."""
    if step.is_group:
        return all(map(recolours, step.steps))
    return claims(step.name).recolours_for(effective(step))


def arriving(flow: Flow) -> SizeBounds:
    """What is known of the images where the steps begin."""
    return UNKNOWN if flow.least is None else SizeBounds(flow.least, declared=True)


def _leaves_less(step: Step) -> bool:
    """Whether a step cuts, or scales what it is given or a window of it."""
    return action_of(step) == "window" or claims(step.name).resizes is not None


def _only_scales(step: Step) -> bool:
    return action_of(step) in _STILL or _leaves_less(step)


def _is_resize(step: Step) -> bool:
    """Whether a step resizes the whole image: of a window that was scaled before, that makes one resize of both."""
    return claims(step.name).resizes == "whole"


def _cuts_most(run: Steps, size: SizeBounds) -> bool:
    """Whether a window is known to leave no more than an eighth of what was resized before it."""
    resized = None
    for step in run:
        size = after(step, size)
        if action_of(step) == "warp":
            resized = size
        elif resized is not None and 8 * size.high[0] * size.high[1] <= resized.low[0] * resized.low[1]:
            return True
    return False


def _rewrite(steps: Nodes, flow: Flow) -> list[Edit]:
    behind = held_from(steps, flow, "GEOMETRY")
    edits = [
        Edit(place, place + 1, (Fused("JoinedWarps", (step,)),), levels=2)
        for place, step in enumerate(steps)
        if _bends(step) and flow.dtype == "uint8" and behind[place + 1] is None
    ]
    place, size = 0, arriving(flow)
    for start, run in runs(steps, joins):
        stop = start + len(run)
        place, size = start, reduce(lambda size, step: after(step, size), steps[place:start], size)
        if behind[stop] is None and (_pays(run, size, flow) or _samples(run, flow)):
            edits.append(Edit(start, stop, (Fused("JoinedWarps", run),)))
            place, size = stop, UNKNOWN
    return sorted(edits, key=lambda edit: edit.start)


RULE = Rule(
    name="join_warps",
    equation="Warp(A) · Warp(B) = Warp(A·B)   one resampling; no border, hidden part or coarser grid comes between",
    contract="GEOMETRY",
    fires="[{Rotate: {limit: 20, p: 1.0}}, {RandomResizedCrop: {size: [20, 20]}}, HorizontalFlip]",
    leaves="[{RandomResizedCrop: {size: [20, 20]}}, HorizontalFlip, Blur, {Rotate: {interpolation: cubic}}]",
    rewrite=_rewrite,
)
