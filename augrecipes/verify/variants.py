"""Variants of recipes that show one thing at a time: what becomes of colours, or of random numbers.

A step that is left out becomes a NoOp with the same label and probability, so that groups choose as before and every
other step draws as before. The optimiser makes a plan of its own of a variant, in which it may join more than in the
recipe's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from augrecipes.ops.groups import DEGRADE, NO_OP, SEQUENTIAL
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import chance, effective, get_class
from augrecipes.recipe.model import Arguments, Mode, Recipe, Step

# What stands in the place of a single step; None: a step that does nothing.
Change = Callable[[Step], Step | None]
_RUN_ALL = (SEQUENTIAL, DEGRADE)  # in the order that they stand in


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


def only_colours(recipe: Recipe, mode: Mode) -> Recipe:
    """The recipe without the steps that move pixels; its output stays as it is."""
    return with_steps(recipe, mode, lambda step: None if moves_pixels(step) else step)


def only_random(recipe: Recipe, mode: Mode) -> Recipe:
    """The recipe with the steps alone whose random numbers the optimiser may make itself; of a pair all steps, since no
    rule of pairs changes a bit otherwise."""
    own: Change = lambda step: step if op_record(step.name).own_noise else None  # noqa: E731
    return recipe if recipe.facts.scales else with_steps(recipe, mode, own)


def without_random(recipe: Recipe, mode: Mode) -> Recipe:
    """The recipe without these steps."""
    return with_steps(recipe, mode, lambda step: None if op_record(step.name).own_noise else step)


def does_something(recipe: Recipe, mode: Mode) -> bool:
    """Whether a variant has any step left."""
    return any(not step.steps and step.name != NO_OP for top in recipe.section(mode) or () for step in top.walk())


def fills(recipe: Recipe, mode: Mode) -> set[float]:
    """The labels that borders may be filled with."""
    labels = {0.0}
    for step in (step for top in recipe.section(mode) or () for step in top.walk() if not step.steps):
        fill: Any = effective(step).get("fill_mask")
        labels.update(float(value) for value in np.ravel(fill).tolist() if isinstance(value, int | float))
    return labels


def with_steps(recipe: Recipe, mode: Mode, change: Change) -> Recipe:
    """The recipe with its single steps changed, for images alone."""
    steps = changed(recipe.section(mode) or (), change)
    inputs = replace(
        recipe.inputs, dtype=None, min_size=None, mask="optional", boxes=None, keypoints=None, targets=Arguments()
    )
    variant = replace(recipe, inputs=inputs)
    return replace(variant, steps=steps) if mode == "train" else replace(variant, eval=steps)


def changed(steps: Sequence[Step], change: Change) -> tuple[Step, ...]:
    """The steps, and those inside groups, with another in the place of each single one."""
    return tuple(
        replace(step, steps=changed(step.steps, change)) if step.steps else change(step) or idle(step) for step in steps
    )


def fill_borders(step: Step) -> Step:
    """A single step with borders that show in a mask: what lies outside of the image is filled."""
    known = effective(step)
    shown = {"border_mode": "constant", "fill_mask": 0, "mask_interpolation": "nearest"}
    arguments = {name: value for name, value in shown.items() if name in known}
    return replace(step, args=Arguments({**step.args.plain(), **arguments})) if "border_mode" in known else step


def idle(step: Step) -> Step:
    """A step that does nothing, with the label and probability of another."""
    return Step(NO_OP, p=chance(step), target=step.target, share=step.share, site=step.site)


def without_step(recipe: Recipe, mode: Mode, out: Step, instead: Sequence[Step] = ()) -> Recipe:
    """The recipe without one step of a section; of training, those of views and of batches count.

    The others keep the labels that key their draws. In a group that chooses, a step that does nothing stands for it;
    elsewhere what stands `instead`.
    """

    def rest(steps: tuple[Step, ...], *, choose: bool = False) -> tuple[Step, ...]:
        result: list[Step] = []
        for step in steps:
            children = rest(step.steps, choose=step.name not in _RUN_ALL)
            stay = () if step is out else (replace(step, steps=children),)
            result += stay or ([idle(step)] if choose else instead)
        return tuple(result)

    if mode == "eval":
        return replace(recipe, eval=recipe.eval and rest(recipe.eval))
    views = tuple(replace(view, steps=rest(view.steps)) for view in recipe.views)
    return replace(recipe, steps=rest(recipe.steps), views=views, batch=rest(recipe.batch))
