"""Makes variants of recipes that isolate colours, or random numbers.

A step that is left out becomes a NoOp with the same label and probability, so that groups choose as before and every
other step draws as before. The optimiser plans a variant anew, and may merge more steps than in the recipe.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from augrecipes.ops.groups import DEGRADE, NO_OP, SEQUENTIAL
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import chance, effective, get_class
from augrecipes.recipe.model import Arguments, Mode, Recipe, Step

# Returns the replacement of a single step; None: a NoOp.
Change = Callable[[Step], Step | None]
_RUN_ALL = (SEQUENTIAL, DEGRADE)  # groups that run all their steps in order


def moves_pixels(step: Step) -> bool:
    """Whether a single step, no group, moves pixels.

    >>> moves_pixels(Step("RandomCrop")), moves_pixels(Step("ColorJitter")), moves_pixels(Step("CoarseDropout"))
    (True, False, False)
    """
    record = op_record(step.name)
    if record.is_known:
        return record.moves or record.resizes == "target"
    from augrecipes.compat.albumentations import A

    return issubclass(get_class(step.name), A.DualTransform)


def only_colours(recipe: Recipe, mode: Mode) -> Recipe:
    """The recipe without the steps that move pixels, with the same output."""
    return with_steps(recipe, mode, lambda step: None if moves_pixels(step) else step)


def only_random(recipe: Recipe, mode: Mode) -> Recipe:
    """The recipe with only the steps whose random numbers the optimiser may make itself; a pair keeps all steps, since
    no other rule changes a bit of a pair."""
    own: Change = lambda step: step if op_record(step.name).own_noise else None  # noqa: E731
    return recipe if recipe.facts.scales else with_steps(recipe, mode, own)


def without_random(recipe: Recipe, mode: Mode) -> Recipe:
    """The recipe without the steps whose random numbers the optimiser may make itself."""
    return with_steps(recipe, mode, lambda step: None if op_record(step.name).own_noise else step)


def does_something(recipe: Recipe, mode: Mode) -> bool:
    """Whether a section has a step other than NoOp."""
    return any(not step.steps and step.name != NO_OP for top in recipe.section(mode) or () for step in top.walk())


def fills(recipe: Recipe, mode: Mode) -> set[float]:
    """The labels with which steps may fill borders of masks."""
    labels = {0.0}
    for step in (step for top in recipe.section(mode) or () for step in top.walk() if not step.steps):
        fill: Any = effective(step).get("fill_mask")
        labels.update(float(value) for value in np.ravel(fill).tolist() if isinstance(value, int | float))
    return labels


def with_steps(recipe: Recipe, mode: Mode, change: Change) -> Recipe:
    """The recipe with its single steps changed, and images as its only inputs."""
    steps = changed(recipe.section(mode) or (), change)
    inputs = replace(
        recipe.inputs, dtype=None, min_size=None, mask="optional", boxes=None, keypoints=None, targets=Arguments()
    )
    variant = replace(recipe, inputs=inputs)
    return replace(variant, steps=steps) if mode == "train" else replace(variant, eval=steps)


def changed(steps: Sequence[Step], change: Change) -> tuple[Step, ...]:
    """Replace each single step, also inside groups."""
    return tuple(
        replace(step, steps=changed(step.steps, change)) if step.steps else change(step) or idle(step) for step in steps
    )


def fill_borders(step: Step) -> Step:
    """A single step with constant borders of mask value 0, so that they show in a mask."""
    known = effective(step)
    shown = {"border_mode": "constant", "fill_mask": 0, "mask_interpolation": "nearest"}
    arguments = {name: value for name, value in shown.items() if name in known}
    return replace(step, args=Arguments({**step.args.plain(), **arguments})) if "border_mode" in known else step


def idle(step: Step) -> Step:
    """A NoOp with the label and probability of a step."""
    return Step(NO_OP, p=chance(step), target=step.target, share=step.share, site=step.site)


def without_step(recipe: Recipe, mode: Mode, out: Step, instead: Sequence[Step] = ()) -> Recipe:
    """The recipe without one step of a section; in training also of views and batches.

    Other steps keep the labels that key their draws. A NoOp replaces the step in a group that chooses; elsewhere the
    steps of `instead` do.
    """

    def without(steps: tuple[Step, ...], *, choose: bool = False) -> tuple[Step, ...]:
        result: list[Step] = []
        for step in steps:
            children = without(step.steps, choose=step.name not in _RUN_ALL)
            kept = () if step is out else (replace(step, steps=children),)
            result += kept or ([idle(step)] if choose else instead)
        return tuple(result)

    if mode == "eval":
        return replace(recipe, eval=recipe.eval and without(recipe.eval))
    views = tuple(replace(view, steps=without(view.steps)) for view in recipe.views)
    return replace(recipe, steps=without(recipe.steps), views=views, batch=without(recipe.batch))
