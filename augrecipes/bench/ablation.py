"""Ablation: a recipe without each of its outermost steps in turn. The other steps keep their random parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from augrecipes.bench.effects import Effects, effects
from augrecipes.bench.sides import Setting, Side, with_pipeline, work_of
from augrecipes.bench.timing import Ratio, fitting, in_turns, ratio
from augrecipes.compiler.compile import build
from augrecipes.errors import AugrecipesError
from augrecipes.progress import Progress
from augrecipes.recipe.model import Recipe


@dataclass(frozen=True, slots=True)
class Ablated:
    """A recipe without one of its steps.

    Attributes:
        step: the label of the step that was left out.
        ratio: the time without it over the time of the whole recipe; None: it cannot run so.
        effects: without it; None: it cannot run so.
        why: it cannot; else empty.
    """

    step: str
    ratio: Ratio | None
    effects: Effects | None
    why: str = ""


def without_each(recipe: Recipe, mode: Any) -> list[tuple[str, Recipe]]:
    """(label of the step that is left out, the recipe without it), in order.

    >>> import augrecipes as ar
    >>> [(label, len(less.steps)) for label, less in without_each(ar.load("folder-128"), "train")]
    [('SmallestMaxSize#1', 2), ('RandomCrop#1', 2), ('HorizontalFlip#1', 2)]
    """
    steps, key = recipe.section(mode) or (), "steps" if mode == "train" else "eval"
    less: Any = [{key: tuple(step for step in steps if step is not out)} for out in steps]
    return [(out.site, replace(recipe, **changes)) for out, changes in zip(steps, less, strict=True)]


def ablate(
    side: Side, setting: Setting, batch_size: int, *, seconds: float, samples: int, progress: Progress | None = None
) -> list[Ablated]:
    """Time a side without each step, in turns with the whole, and see what the recipe does then.

    Args:
        side: a recipe at a setting of the optimiser.
        setting: of it.
        batch_size: samples in a batch.
        seconds: for each variant, roughly.
        samples: that effects are taken from.
        progress: called with (rounds done, rounds).
    """
    # Without its last crop or resize a recipe may leave images of several sizes, which no batch holds: lists do.
    works, found = [work_of(side, batch_size, "list")], []
    for label, less in without_each(side.source, setting.mode):
        # Without lints: a variant may be foolish, and the recipe itself has been checked.
        level: Any = side.optimize
        pipeline = build(less, setting.mode, level, setting.seed, threads=1, resumes=setting.stored)
        work = work_of(
            replace(side, source=less, dataset=with_pipeline(side.dataset, pipeline, less)), batch_size, "list"
        )
        try:
            next(work.start())
            found.append(Ablated(label, None, effects(less, setting, samples)))
            works.append(work)
        except AugrecipesError as error:
            found.append(Ablated(label, None, None, str(error)))
    size = fitting(works, seconds, -(-len(side.dataset) // batch_size))
    whole, *times = in_turns(works, *size, progress)[0]
    left = iter(times)
    return [one if one.effects is None else replace(one, ratio=ratio(next(left), whole)) for one in found]
