"""Ablation: a recipe without each of its outermost steps in turn. The other steps keep their draws."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from augrecipes.bench.effects import effects
from augrecipes.bench.measure import Work, in_turns, ratio, size_for
from augrecipes.bench.record import Ablated
from augrecipes.bench.sides import Setting, Side, with_pipeline, work_of
from augrecipes.compiler.compile import build
from augrecipes.errors import AugrecipesError
from augrecipes.progress import Progress
from augrecipes.recipe.model import Recipe


def without_each(recipe: Recipe, mode: Any) -> list[tuple[str, Recipe]]:
    """(label of the step that is left out, the recipe without it), in order.

    >>> import augrecipes as ar
    >>> [(label, len(less.steps)) for label, less in without_each(ar.load("folder-128"), "train")]
    [('SmallestMaxSize#1', 2), ('RandomCrop#1', 2), ('HorizontalFlip#1', 2)]
    """
    steps = recipe.section(mode) or ()
    found = []
    for out in steps:
        rest = tuple(step for step in steps if step is not out)
        found.append((out.site, replace(recipe, steps=rest) if mode == "train" else replace(recipe, eval=rest)))
    return found


def ablate(
    side: Side, setting: Setting, batch_size: int, *, seconds: float, samples: int, progress: Progress | None = None
) -> list[Ablated]:
    """Time a side without each step, in turns with the whole, and look at what the recipe does then.

    Args:
        side: a recipe at a setting of the optimiser.
        setting: of it.
        batch_size: samples in a batch.
        seconds: for each variant, roughly.
        samples: that effects are taken from.
        progress: called with (rounds done, rounds).
    """
    variants, refused = [], {}
    for label, less in without_each(side.source, setting.mode):
        # Without lints: a variant may be foolish, and the recipe itself has been checked.
        level: Any = side.optimize
        pipeline = build(less, setting.mode, level, setting.seed, threads=1, resumes=setting.stored)
        part = replace(side, source=less, dataset=with_pipeline(side.dataset, pipeline, less))
        # Without its last crop or resize a recipe may leave pictures of several sizes, which no batch holds.
        work = work_of(part, batch_size, collate="list")
        try:
            next(work.start())
            variants.append((label, less, work, effects(less, setting, samples)))
        except AugrecipesError as error:
            refused[label] = str(error)
    works: list[Work] = [work_of(side, batch_size, collate="list"), *(work for _, _, work, _ in variants)]
    once = in_turns(works, 1, 1)
    size = size_for(seconds * len(works), float(once.wall.sum()), -(-len(side.dataset) // batch_size))
    times = in_turns(works, size.rounds, size.batches, progress).wall
    found = {
        label: Ablated(label, ratio(times[k + 1], times[0]), seen) for k, (label, _, _, seen) in enumerate(variants)
    }
    found |= {label: Ablated(label, None, None, why) for label, why in refused.items()}
    return [found[label] for label, _ in without_each(side.source, setting.mode)]
