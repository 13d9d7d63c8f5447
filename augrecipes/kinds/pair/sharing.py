"""How the targets of a pair share a step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from augrecipes.errors import RecipeError
from augrecipes.kinds.pair.grid import Factors, scale_factors
from augrecipes.ops import groups
from augrecipes.ops.records import op_record, rescalable
from augrecipes.ops.registry import record_of
from augrecipes.recipe.model import Recipe, Step

How = Literal["window", "dihedral", "resampled", "plain"]


def how_to_share(step: Step) -> How:
    """How a step is carried out on several targets.

    Raises:
        RecipeError: it resamples in a way that cannot be carried from one grid to another.
    """
    record = op_record(step.name)
    if not record.is_known:
        return "plain"
    action = record_of(step).action
    if action in ("window", "dihedral"):
        return action
    if record.resamples_targets:
        if step.name not in rescalable():
            which = ", ".join(rescalable())
            raise refusal(step, f"cannot be shared by targets of different scale; of those that resample, {which} can")
        return "resampled"
    return "plain"


def refusal(step: Step, message: str) -> RecipeError:
    """An error that names the step and its line."""
    return RecipeError(f"{step.site} (line {step.position.line}): {message}")


def sharing(recipe: Recipe, steps: tuple[Step, ...]) -> Iterator[tuple[str, str]]:
    """(label, who takes part in its draws) of each step."""
    scales: dict[str, int] = dict(recipe.scales)
    for step in steps:
        yield from _of_pair(step, tuple(scales), scale_factors(scales))


def _of_pair(step: Step, targets: tuple[str, ...], factors: Factors) -> Iterator[tuple[str, str]]:
    if step.name == groups.DEGRADE:
        yield step.site, f"makes {step.args['target']} out of {step.args['source']}"
        return
    targets = step.target or targets
    names = ", ".join(targets)
    if step.is_group:
        yield step.site, f"one choice for {names}"
        for child in step.steps:
            yield from _of_pair(child, targets, factors)
    elif len(targets) == 1:
        yield step.site, f"{names} alone"
    else:
        cell = " : ".join(str(factors[name]) for name in targets)
        how = {
            "window": f"one window for {names}, whole cells of {cell} px",
            "dihedral": f"one draw for {names}",
            "resampled": f"one geometry for {names}, scaled {cell}",
            "plain": f"one draw for {names}, the same parameters",
        }[how_to_share(step)]
        coarsest = f"{min(targets, key=factors.__getitem__)}, the coarsest, because it has no `at`"
        counted = f"; its numbers count pixels of {step.at or coarsest}" if op_record(step.name).pixels else ""
        yield step.site, how + counted
