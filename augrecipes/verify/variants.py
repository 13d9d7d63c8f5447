"""Variants of recipes and plans that show one thing at a time: where pixels come from, what becomes of colours, or of
points.

A step that is left out becomes a NoOp with the same label and probability, so that groups choose as before and every
other step draws as before. Of a variant of a recipe the optimiser makes a plan of its own, in which it may join more
than in the recipe's; `only_moves` is the plan itself, with the joins that it has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from augrecipes.compiler.rewrite import Plan
from augrecipes.compiler.rewrite.nodes import Fused, Steps, is_single, singles
from augrecipes.flow import Dtype
from augrecipes.ops.groups import NO_OP
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import chance, effective, get_class
from augrecipes.recipe.model import Arguments, Mode, Output, Recipe, Step

# What stands in the place of a single step; None: a step that does nothing.
Change = Callable[[Step], Step | None]


def moves_pixels(step: Step) -> bool:
    """Whether a step (no group) puts pixels elsewhere.

    >>> moves_pixels(Step("RandomCrop")), moves_pixels(Step("ColorJitter")), moves_pixels(Step("CoarseDropout"))
    (True, False, False)
    """
    record = op_record(step.name)
    if record.is_known:
        return record.moves or record.resizes == "target"
    from augrecipes.compat.albumentations import A

    return issubclass(get_class(step.name), A.DualTransform)


def smoothly(step: Step) -> Step | None:
    """A step that moves pixels, as one that keeps neighbours side by side; None of one that does not.

    What distorts or shuffles images is None: no rule merges it, and it keeps sizes. What takes the nearest pixel, or
    overshoots, is told to interpolate linearly: no rule merges that either, and it may change sizes.

    >>> smoothly(Step("RandomCrop")) == Step("RandomCrop"), smoothly(Step("GridDistortion"))
    (True, None)
    """
    record = op_record(step.name)
    if not moves_pixels(step):
        return None
    if record.is_known and record.action == "opaque" and record.size is None and record.resizes is None:
        return None
    if effective(step).get("interpolation", "linear") == "linear":
        return step
    return replace(step, args=Arguments({**step.args.plain(), "interpolation": "linear"}))


def only_moves(pipeline: Any, plan: Dtype, image: Dtype) -> Any:
    """A pipeline that runs of one of its plans only what moves pixels smoothly.

    Args:
        pipeline: compiled; it stays as it is.
        plan: for images of which dtype.
        image: dtype of the images that come out, H×W×C; they should come in as such.
    """
    compiled = pipeline.compiled
    kept = Plan(_kept(compiled.plans[plan].steps, smoothly))
    recipe = replace(compiled.recipe, output=Output(image, "hwc"), outputs=Arguments())
    return pipeline.again(replace(compiled, recipe=recipe, plans=dict.fromkeys(compiled.plans, kept)))


def order(pipeline: Any, plan: Dtype) -> set[tuple[str, str]]:
    """Labels of steps that move pixels, the earlier one first, of each two that no rule may swap: one distorts."""
    steps = [one for node in pipeline.compiled.plans[plan].steps for one in singles(node) if moves_pixels(one)]
    return {(a.site, b.site) for a, b in combinations(steps, 2) if smoothly(a) is None or smoothly(b) is None}


def not_merged(recipe: Recipe, mode: Mode) -> Recipe:
    """The recipe without the steps that move pixels smoothly; its output stays as it is."""
    return _with(recipe, mode, lambda step: None if smoothly(step) else step)


def only_noise(recipe: Recipe, mode: Mode) -> Recipe:
    """The recipe with the steps alone whose noise the optimiser may make itself; of a pair all steps, since no rule of
    pairs changes a bit otherwise."""
    noisy: Change = lambda step: step if op_record(step.name).own_noise and not moves_pixels(step) else None  # noqa: E731
    return recipe if recipe.facts.scales else _with(recipe, mode, noisy)


def without_noise(recipe: Recipe, mode: Mode) -> Recipe:
    """The recipe without these steps, and those of `only_fields`."""
    return _with(recipe, mode, lambda step: None if op_record(step.name).own_noise else step)


def only_fields(recipe: Recipe, mode: Mode) -> Recipe:
    """The recipe with the steps alone whose fields of displacements the optimiser may draw itself, in levels: beyond
    its borders an image goes on as it ends, so that a pixel shows from how far away it was taken."""

    def bends(step: Step) -> Step | None:
        arguments = Arguments({**step.args.plain(), "border_mode": "replicate", "interpolation": "linear"})
        return replace(step, args=arguments) if op_record(step.name).own_noise and moves_pixels(step) else None

    return replace(_with(recipe, mode, bends), output=Output("uint8", "hwc"), outputs=Arguments())


def does_something(recipe: Recipe, mode: Mode) -> bool:
    """Whether a variant has any step left."""
    return any(not step.steps and step.name != NO_OP for top in recipe.section(mode) or () for step in top.walk())


def fills(recipe: Recipe, mode: Mode) -> set[float]:
    """The labels that borders may be filled with."""
    found = {0.0}
    for top in recipe.section(mode) or ():
        for step in top.walk():
            if not step.steps:
                fill: Any = effective(step).get("fill_mask")
                found.update(float(value) for value in np.ravel(fill).tolist() if isinstance(value, int | float))
    return found


def _with(recipe: Recipe, mode: Mode, change: Change) -> Recipe:
    """The recipe with its single steps changed, for images alone."""
    steps: Any = _kept(recipe.section(mode) or (), change)
    inputs = replace(recipe.inputs, dtype=None, min_size=None, mask="optional", boxes=None, keypoints=None)
    changed = replace(recipe, inputs=inputs)
    return replace(changed, steps=steps) if mode == "train" else replace(changed, eval=steps)


def _kept(nodes: Steps, change: Change) -> Steps:
    """The nodes with their single steps changed; what rules have fused goes where none of it is left."""
    made: list[Step] = []
    for node in nodes:
        if is_single(node):
            nothing = Step(NO_OP, p=chance(node), target=node.target, share=node.share, site=node.site)
            made.append(change(node) or nothing)
        elif not isinstance(node, Fused) or any(map(change, singles(node))):
            made.append(replace(node, steps=_kept(node.steps, change)))
    return tuple(made)
