"""Colour steps in a row are matrices: a few passes over the image instead of several for each."""

from collections.abc import Iterator
from itertools import pairwise
from math import ceil

from augrecipes.compiler.rewrite.contracts import ALL, obstacles_from
from augrecipes.compiler.rewrite.nodes import Steps, action_of, fuse, singles
from augrecipes.compiler.rewrite.rule import Edit, rule, runs
from augrecipes.compiler.rewrite.rules.join_warps import recolours
from augrecipes.flow import Flow
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import record_of
from augrecipes.recipe.model import Step


def joins(step: Step) -> bool:
    """Whether a step, or every step of a group, changes colours by little more than a matrix."""
    if step.is_group:
        return all(joins(child) and not _is_steep(child) for child in step.steps)
    return recolours(step)  # otherwise it may read the image to draw


def _is_steep(step: Step) -> bool:
    """Whether it makes many levels of one, and so only joins what comes behind it."""
    return not step.is_group and op_record(step.name).gain is None


def levels(run: Steps) -> int:
    """What joined steps may change: what each of them may, times later gains."""
    total, gains = 0.0, 1.0
    for leaf in (leaf for step in run for leaf in singles(step)):
        off, gain = record_of(leaf).joined_error
        total, gains = total + off, gains * gain
    return ceil(min(total * gains, ALL))


def _is_slow(step: Step) -> bool:
    """Whether it takes longer by itself than joined, with nothing to join: it has no native pass of its own."""
    return action_of(step) == "opaque" or (_is_steep(step) and not op_record(step.name).native)


def _pays(run: Steps, before: Step | None) -> bool:
    leaves = [leaf for step in run for leaf in singles(step)]
    # Alone, what is no more than one pass is quick as it is, but behind warps it needs no pass of its own.
    warped = before is not None and before.name in ("JoinedWarps", "JoinedColours")
    if not warped and all(action_of(step) == "lookup" for step in run):
        return False  # one table of several is quicker than a matrix, and changes no bit
    return len(leaves) > 1 or warped or any(map(_is_slow, leaves))


def _parts(steps: Steps) -> Iterator[tuple[int, Steps]]:
    """Where steps begin that may be joined, and these steps."""
    for start, run in runs(steps, joins):
        cuts = [0, *(k for k, step in enumerate(run) if k and _is_steep(step)), len(run)]
        for first, stop in pairwise(cuts):
            yield start + first, run[first:stop]


@rule(
    "LEVELS",
    fires="[{ColorJitter: {brightness: 0.2, contrast: 0.1, saturation: 0.1, hue: 0, p: 1.0}}, ToGray]",
    leaves="[ToGray, Blur, RandomGamma, {RandomBrightnessContrast: {p: 1.0}}]",
)
def join_colours(steps: Steps, flow: Flow) -> Iterator[Edit]:
    """Colour(A) · Colour(B) = Colour(B·A)   where nothing saturates between them; hue through HSV"""
    if flow.dtype is None:
        return
    behind = obstacles_from(steps, flow, "LEVELS")
    joined: Step | None = None
    end = 0
    for start, run in _parts(steps):
        stop = start + len(run)
        before = joined if end == start else steps[start - 1] if start else None
        if behind[stop] is None and _pays(run, before):
            joined, end = fuse("JoinedColours", run), stop
            yield Edit(start, stop, (joined,), levels(run))
