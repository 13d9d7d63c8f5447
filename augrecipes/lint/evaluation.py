"""L7: what sets an evaluation that was written by hand apart from training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from augrecipes.errors import Fix
from augrecipes.lint.record import REMOVE, Finding, Findings, along, arriving, rule
from augrecipes.ops import groups, ranges, records, registry, sizes
from augrecipes.ops.record import IMAGE_ONLY
from augrecipes.recipe.derive import derive, steps_of
from augrecipes.recipe.model import Recipe, Step

_DERIVED = (Fix("key", "eval: derived"),)


def _both(recipe: Recipe) -> list[tuple[tuple[Step, ...], tuple[Step, ...]]]:
    """The steps of training and of evaluation, where both were written."""
    return [(recipe.steps, recipe.eval)] if recipe.eval is not None and not recipe.derived else []


def _able(steps: Iterable[Step]) -> Iterator[Step]:
    """Every step that may act, groups before their children; what makes a target in Degrade is no part of it."""
    for step in steps:
        if registry.chance(step) > 0 and step.name != groups.DEGRADE:
            yield step
            yield from _able(step.steps)


@rule("L701", "eval-size")
def eval_size(recipe: Recipe) -> Findings:
    """The step that gives evaluation another size; where a network takes any size (pairs, masks, boxes), nothing."""
    inputs = recipe.inputs
    if recipe.facts.scales or inputs.mask == "required" or inputs.boxes or inputs.keypoints:
        return
    for training, evaluation in _both(recipe):
        (size, _), (other, step) = _final(recipe, training), _final(recipe, evaluation)
        if size.exact and other.exact and size.low != other.low and step is not None:
            there, here = (f"{bounds.low[0]:g} × {bounds.low[1]:g}" for bounds in (other, size))
            message = f"evaluation ends at {there} px, training at {here}"
            yield Finding(f"{message}; end both at one size, or write `eval: derived`", step, fixes=_DERIVED)


def _final(recipe: Recipe, steps: tuple[Step, ...]) -> tuple[sizes.SizeBounds, Step | None]:
    """The size behind the steps, and the step that decides it."""
    size, decides = arriving(recipe), None
    for step, before, then in along(recipe, steps):
        size, decides = then, decides if then == before else step
    return size, decides


@rule("L703", "eval-interpolation")
def eval_interpolation(recipe: Recipe) -> Findings:
    """Resizes of evaluation with an interpolation that training does not use."""
    for training, evaluation in _both(recipe):
        known = {name for step in _able(training) for name in _interpolations(step)}
        for step in _able(evaluation):
            used = _interpolations(step)
            if known and not used <= known:
                here, there = " and ".join(sorted(used - known)), " and ".join(sorted(known))
                message = f"{step.name} resizes with {here}, and training with {there}; use one of them in both"
                fixes = (Fix("set", f"interpolation: {there}"),) if len(known) == 1 else ()
                yield Finding(message, step, "interpolation", fixes)


def _interpolations(step: Step) -> set[str]:
    """The interpolations that a resize uses, to smaller and to larger; none of other steps."""
    if not records.op_record(step.name).resizes:
        return set()
    values = registry.effective(step)
    return {str(values.get("interpolation")), *(["area"] if values.get("area_for_downscale") else [])}


@rule("L704", "eval-dtype")
def eval_dtype(recipe: Recipe) -> Findings:
    """A change of dtype that stands in one section only; `eval: []` is compared too."""
    for training, evaluation in _both(recipe):
        # Of training what acts on every image: some images without it are what evaluation may be like.
        certain = steps_of(derive(training, recipe.scales.plain()))
        for here, there, where in ((certain, evaluation, "evaluation"), (evaluation, training, "training")):
            changers = [step for step in _able(here) if records.op_record(step.name).changes_dtype]
            if changers and not any(records.op_record(step.name).changes_dtype for step in _able(there)):
                message = f"{changers[0].name} changes the dtype, and {where} has no such step; put it into both"
                yield Finding(message, changers[0], fixes=_DERIVED)


@rule("L705", "eval-step")
def eval_step(recipe: Recipe) -> Findings:
    """Steps of training that `eval: derived` would keep, and steps of evaluation that training never runs."""
    for training, evaluation in _both(recipe):
        tested = {step.name for step in _able(evaluation)}
        for row in derive(training, recipe.scales.plain()):
            names = [step.name for step in row.becomes if _repaints(step)]
            # Of a group that samples one of several any will do.
            likely = tested & {step.name for step in _able((row.step,))}
            for name in names if not likely else [name for name in names if row.inner and name not in tested]:
                message = f"{name} acts on every image in training, and evaluation has no {name}"
                yield Finding(f"{message}; add it to `eval:`, or write `eval: derived`", row.step, fixes=_DERIVED)
        trained = {step.name for step in _able(training)}
        for step in _able(evaluation):
            certain = registry.chance(step) >= 1 and not ranges.makes_draws(step)  # of others L101 speaks
            if certain and _repaints(step) and step.name not in trained:
                message = f"{step.name} changes every image in evaluation, and training has no {step.name}"
                yield Finding(f"{message}; put it into `steps:` too, or leave it out", step, fixes=REMOVE)


def _repaints(step: Step) -> bool:
    """Whether the step changes the values of pixels and nothing else."""
    record = records.op_record(step.name)
    if not record.is_known or record.action == "identity" or record.changes_dtype or record.resizes:
        return False
    return record.targets == IMAGE_ONLY and not ranges.is_neutral(step)
