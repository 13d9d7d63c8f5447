"""Borders: how much of what a step leaves was never in the picture, but filled in because a turn or a shift ran out.

A second copy of the recipe carries a mask of labels through the same draws. Every step that treats borders is told to
fill the mask with zero, whatever it does to the picture (`reflect_101`, `replicate`, a colour), so a zero is a pixel
that the step filled; it gets the step's number, which later crops and turns carry along. Masks are sampled by nearest
neighbour, so a share is exact to the pixels along an edge. What dropouts and noise write over pictures is no border.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.bench.sides import Setting
from augrecipes.compiler.compile import pipeline_of
from augrecipes.compiler.rewrite import ARRIVALS, Compiled, Plan
from augrecipes.compiler.run.instrument import instrument
from augrecipes.ops.frozen import Arguments
from augrecipes.ops.registry import effective
from augrecipes.recipe.model import Recipe, Step
from augrecipes.sources.sample import Sample

SOURCE = 255  # the label of what was in the picture
_MOST_STEPS = 250


class Borders:
    """The label masks of one recipe's samples, by the outermost step that they were left by.

    Args:
        recipe: of kind image or bag.
        setting: section and seed.
    """

    def __init__(self, recipe: Recipe, setting: Setting) -> None:
        steps = tuple(map(_filling_with_zero, recipe.section(setting.mode) or ()))
        probe = replace(recipe, inputs=replace(recipe.inputs, mask="optional"))
        self._pipeline = plainly(probe, steps, setting)
        self._number = {step.site: k + 1 for k, step in enumerate(steps[:_MOST_STEPS])}
        self._masks: dict[str, NDArray[np.uint8]] = {}
        instrument(self._pipeline, self._step)

    def of(self, sample: Sample, epoch: int = 0) -> dict[str, NDArray[np.uint8]]:
        """By label of each outermost step: H×W, `SOURCE`, or the number of the step that filled the pixel."""
        self._masks = {}
        height, width = sample.images["image"].shape[:2]
        sample.run(self._pipeline, epoch, mask=np.full((height, width), SOURCE, np.uint8))
        return self._masks

    def number(self, label: str) -> int:
        """Of a step, from 1."""
        return self._number.get(label, 0)

    def _step(self, label: str, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        done = step(*args, **kwargs)
        if label in self._number:
            mask = np.array(done["mask"])
            mask[mask == 0] = self._number[label]
            done["mask"] = mask
            self._masks[label] = mask[..., 0] if mask.ndim == 3 else mask
        return done


def plainly(recipe: Recipe, steps: tuple[Step, ...], setting: Setting) -> Any:
    """Steps of a recipe as they are, unoptimised and without lints: a pipeline that tells the draws it made."""
    plans = dict.fromkeys(ARRIVALS, Plan(steps))
    compiled = Compiled(recipe, setting.mode, "none", setting.seed, True, plans, 1, resumes=setting.stored)
    return pipeline_of(compiled)


def _filling_with_zero(step: Step) -> Step:
    """The step, and those inside it, with borders that show in a mask."""
    if step.is_group:
        return replace(step, steps=tuple(map(_filling_with_zero, step.steps)))
    known = effective(step)
    shown = {"border_mode": "constant", "fill_mask": 0, "mask_interpolation": "nearest"}
    changed = {name: value for name, value in shown.items() if name in known}
    return replace(step, args=Arguments({**step.args.plain(), **changed})) if "border_mode" in known else step
