"""A pipeline as it is in an epoch: steps whose numbers are the same are shared, and the others are made again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from augrecipes.compat.albumentations import A
from augrecipes.compiler.kernels import fast_apply
from augrecipes.compiler.lowering.lower import relower, transforms_of
from augrecipes.compiler.rewrite import UNOPTIMIZED_INPUTS
from augrecipes.compiler.run.as_compose import is_kept
from augrecipes.compiler.run.output_size_guard import guard


def epoch_copy(pipeline: Any, epoch: int, others: Iterable[Any]) -> Any:
    """A copy of a pipeline, for the same thread, whose steps have the numbers of an epoch.

    Args:
        pipeline: with the numbers of the last epoch.
        epoch: from 0.
        others: copies of other epochs, one of which may have the same numbers.
    """
    compiled = pipeline.compiled.in_epoch(epoch)
    for copy in others:
        if copy.compiled.recipe == compiled.recipe:
            return copy
    if pipeline.dressed is not None:
        return pipeline.again(compiled)
    copy, instead = object.__new__(type(pipeline)), dict[int, Any]()
    copy.__dict__ |= pipeline.__dict__
    copy.renew(compiled)
    copy.whole, copy._epoch = pipeline, epoch
    pairs = zip(pipeline._lowered, compiled.plans[pipeline.arrival].steps, strict=True)
    copy._lowered = tuple(relower(was, node, pipeline.rebuild, instead) for was, node in pairs)
    for name in ("_labels", "cells"):
        by_id = getattr(pipeline, name)
        setattr(copy, name, by_id | {id(now): by_id[was] for was, now in instead.items() if was in by_id})
    copy.sites = [(instead.get(id(step), step), label, shared) for step, label, shared in pipeline.sites]
    fresh = [site for site in copy.sites if isinstance(site[0], A.BasicTransform) and not is_kept(site[0])]
    if compiled.optimize != "none" and pipeline.arrival not in UNOPTIMIZED_INPUTS:
        fast_apply.attach(step for step, _, _ in fresh)
    for step, label, shared in fresh:
        step.add_targets(pipeline.additional_targets)
        step.set_processors(pipeline.processors)
        step.random_generator, step.py_random = pipeline.draws.add(label, shared=shared)
    guard(fresh, compiled.recipe.max_bytes, copy.cells)
    pipeline.keep(fresh)
    copy.run_through([*transforms_of(copy._lowered)])
    return copy
