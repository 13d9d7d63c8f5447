"""Lints L7xx: differences between a hand-written evaluation and training."""

from collections.abc import Iterable, Iterator

from augrecipes.errors import Fix
from augrecipes.lint.record import REMOVE, Finding, Findings, along, arriving, rule
from augrecipes.ops import groups, ranges, records, registry, sizes
from augrecipes.ops.record import IMAGE_ONLY
from augrecipes.recipe.derive import derive, steps_of
from augrecipes.recipe.model import Recipe, Step

_DERIVED = (Fix("key", "eval: derived"),)


def _written_pairs(recipe: Recipe) -> list[tuple[tuple[Step, ...], tuple[Step, ...]]]:
    """The steps of training and of evaluation, where both are written by hand."""
    return [(recipe.steps, recipe.eval)] if recipe.eval is not None and not recipe.derived else []


def _may_act(steps: Iterable[Step]) -> Iterator[Step]:
    """All steps that may act, groups before their children, without Degrades."""
    for step in steps:
        if registry.chance(step) > 0 and step.name != groups.DEGRADE:
            yield step
            yield from _may_act(step.steps)


@rule("L701", "eval-size")
def eval_size(recipe: Recipe) -> Findings:
    """Find evaluation that ends at another size than training; not for pairs, masks and boxes, which suit any size."""
    inputs = recipe.inputs
    if recipe.facts.scales or inputs.mask == "required" or inputs.boxes or inputs.keypoints:
        return
    for training, evaluation in _written_pairs(recipe):
        (size, _), (other, step) = _final(recipe, training), _final(recipe, evaluation)
        if size.exact and other.exact and size.low != other.low and step is not None:
            evaluated, trained = (f"{bounds.low[0]:g} × {bounds.low[1]:g}" for bounds in (other, size))
            message = f"evaluation ends at {evaluated} px, training at {trained}"
            yield Finding(f"{message}; end both at one size, or write `eval: derived`", step, fixes=_DERIVED)


def _final(recipe: Recipe, steps: tuple[Step, ...]) -> tuple[sizes.SizeBounds, Step | None]:
    """The size after the steps, and the step that decides it."""
    size, decisive = arriving(recipe), None
    for step, before, size in along(recipe, steps):
        decisive = decisive if size == before else step
    return size, decisive


@rule("L703", "eval-interpolation")
def eval_interpolation(recipe: Recipe) -> Findings:
    """Find resizes in evaluation whose interpolation training does not use."""
    for training, evaluation in _written_pairs(recipe):
        known = {name for step in _may_act(training) for name in _interpolations(step)}
        for step in _may_act(evaluation):
            used = _interpolations(step)
            if known and not used <= known:
                evaluated, trained = " and ".join(sorted(used - known)), " and ".join(sorted(known))
                message = f"{step.name} resizes with {evaluated}, and training with {trained}; use one of them in both"
                fixes = (Fix("set", f"interpolation: {trained}"),) if len(known) == 1 else ()
                yield Finding(message, step, "interpolation", fixes)


def _interpolations(step: Step) -> set[str]:
    """The interpolations by which a resize enlarges and reduces; none for other steps."""
    if not records.op_record(step.name).resizes:
        return set()
    values = registry.effective(step)
    return {str(values.get("interpolation")), *(["area"] if values.get("area_for_downscale") else [])}


@rule("L704", "eval-dtype")
def eval_dtype(recipe: Recipe) -> Findings:
    """Find changes of dtype in one section only; `eval: []` is compared, too."""
    for training, evaluation in _written_pairs(recipe):
        # Only training steps that act on every image count: evaluation may be like the other images.
        certain = steps_of(derive(training, recipe.scales.plain()))
        for steps, others, section in ((certain, evaluation, "evaluation"), (evaluation, training, "training")):
            changers = [step for step in _may_act(steps) if records.op_record(step.name).changes_dtype]
            if changers and not any(records.op_record(step.name).changes_dtype for step in _may_act(others)):
                message = f"{changers[0].name} changes the dtype, and {section} has no such step; put it into both"
                yield Finding(message, changers[0], fixes=_DERIVED)


@rule("L705", "eval-step")
def eval_step(recipe: Recipe) -> Findings:
    """Find training steps that `eval: derived` would keep, and evaluation steps that training never runs."""
    for training, evaluation in _written_pairs(recipe):
        tested = {step.name for step in _may_act(evaluation)}
        for row in derive(training, recipe.scales.plain()):
            names = [step.name for step in row.becomes if _repaints(step)]
            # Any step of a OneOf group will do.
            likely = tested & {step.name for step in _may_act((row.step,))}
            for name in names if not likely else [name for name in names if row.inner and name not in tested]:
                message = f"{name} acts on every image in training, and evaluation has no {name}"
                yield Finding(f"{message}; add it to `eval:`, or write `eval: derived`", row.step, fixes=_DERIVED)
        trained = {step.name for step in _may_act(training)}
        for step in _may_act(evaluation):
            certain = registry.chance(step) >= 1 and not ranges.makes_draws(step)  # L101 reports others
            if certain and _repaints(step) and step.name not in trained:
                message = f"{step.name} changes every image in evaluation, and training has no {step.name}"
                yield Finding(f"{message}; put it into `steps:` too, or leave it out", step, fixes=REMOVE)


def _repaints(step: Step) -> bool:
    """Whether a step changes the values of pixels and nothing else."""
    record = records.op_record(step.name)
    if not record.is_known or record.action == "identity" or record.changes_dtype or record.resizes:
        return False
    return record.targets == IMAGE_ONLY and not ranges.is_neutral(step)
