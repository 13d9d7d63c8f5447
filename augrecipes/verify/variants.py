"""Variants of a recipe that show one thing at a time: what becomes of colours, or of points.

A step that is left out becomes a NoOp with the same label and probability, so that groups choose as before and every
other step draws as before. Rules see NoOps, not the steps they stand for: they may join more than in the recipe itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from augrecipes.ops.capabilities import capability, claims
from augrecipes.ops.groups import NO_OP
from augrecipes.ops.registry import chance, get_class
from augrecipes.recipe.model import Arguments, Boxes, Inputs, Keypoints, Mode, Recipe, Step


def moves_pixels(step: Step) -> bool:
    """Whether a step (no group) puts pixels elsewhere.

    >>> moves_pixels(Step("RandomCrop")), moves_pixels(Step("ColorJitter")), moves_pixels(Step("CoarseDropout"))
    (True, False, False)
    """
    record = capability(step.name)
    if record is not None:
        return record.moves or record.resizes == "target"
    from augrecipes.compat.albumentations import A

    return issubclass(get_class(step.name), A.DualTransform)


def only_colours(recipe: Recipe, mode: Mode) -> Recipe:
    """The recipe without the steps that move pixels; its output stays as it is."""
    return _with(recipe, mode, lambda step: not moves_pixels(step))


def _with(recipe: Recipe, mode: Mode, keeps: Callable[[Step], bool]) -> Recipe:
    """The recipe with those single steps that are kept, for pictures alone."""
    steps = tuple(_kept(step, keeps) for step in recipe.section(mode) or ())
    inputs = replace(recipe.inputs, min_size=None, mask="optional", boxes=None, keypoints=None)
    changed = replace(recipe, inputs=inputs)
    return replace(changed, steps=steps) if mode == "train" else replace(changed, eval=steps)


def only_noise(recipe: Recipe, mode: Mode) -> Recipe:
    """The recipe with the steps alone whose noise the optimiser may make itself; of a pair all steps, since no rule of
    pairs changes a bit otherwise."""
    return recipe if recipe.facts.scales else _with(recipe, mode, lambda step: bool(claims(step.name).own_noise))


def without_noise(recipe: Recipe, mode: Mode) -> Recipe:
    """The recipe without them."""
    return _with(recipe, mode, lambda step: not claims(step.name).own_noise)


def has_colours(recipe: Recipe, mode: Mode) -> bool:
    """Whether some step leaves pixels in their place."""
    steps = [step for top in recipe.section(mode) or () for step in top.walk()]
    return any(not step.steps and step.name != NO_OP and not moves_pixels(step) for step in steps)


def with_free_points(recipe: Recipe) -> Recipe:
    """The recipe with boxes and keypoints declared so that none is dropped or cut."""
    inputs: Inputs = recipe.inputs
    boxes = Boxes(labels="box_labels") if inputs.boxes else None
    keypoints = Keypoints(labels="point_labels", remove_invisible=False) if inputs.keypoints else None
    return replace(recipe, inputs=replace(inputs, boxes=boxes, keypoints=keypoints))


def _kept(step: Step, keeps: Callable[[Step], bool]) -> Step:
    if step.steps:
        return replace(step, steps=tuple(_kept(child, keeps) for child in step.steps))
    return step if keeps(step) else replace(step, name=NO_OP, args=Arguments(), places=Arguments(), p=chance(step))
