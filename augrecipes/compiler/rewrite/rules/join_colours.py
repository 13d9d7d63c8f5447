"""Neighbouring colour steps are matrices: their product takes a few passes over the image instead of several each."""

from collections.abc import Iterator
from itertools import pairwise
from math import ceil

from augrecipes.compiler.rewrite.nodes import Steps, action_of, fuse, singles
from augrecipes.compiler.rewrite.rule import ALL, Edit, obstacles_from, rule, runs
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
    """Whether it may amplify one level to many, and so may only be the first of a joined run."""
    return not step.is_group and op_record(step.name).gain is None


def levels(run: Steps) -> int:
    """By how many levels joining may change the image: the sum of all errors times the product of all gains."""
    total, gains = 0.0, 1.0
    for leaf in (leaf for step in run for leaf in singles(step)):
        off, gain = record_of(leaf).joined_error
        total, gains = total + off, gains * gain
    return ceil(min(total * gains, ALL))


def _is_slow(step: Step) -> bool:
    """Whether it is faster joined even without a neighbour, because it has no native pass of its own."""
    return action_of(step) == "opaque" or (_is_steep(step) and not op_record(step.name).native)


def _pays(run: Steps, before: Step | None) -> bool:
    leaves = [leaf for step in run for leaf in singles(step)]
    # A single step is one pass and fast as it is; but behind warps it needs no pass of its own.
    warped = before is not None and before.name in ("JoinedWarps", "JoinedColours")
    if not warped and all(action_of(step) == "lookup" for step in run):
        return False  # their product is one table, which is faster than a matrix and changes no bit
    return len(leaves) > 1 or warped or any(map(_is_slow, leaves))


def _parts(steps: Steps) -> Iterator[tuple[int, Steps]]:
    """The runs of steps that may be joined: the place of the first, and the steps."""
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
    obstacles = obstacles_from(steps, flow, "LEVELS")
    joined: Step | None = None
    end = 0
    for start, run in _parts(steps):
        stop = start + len(run)
        before = joined if end == start else steps[start - 1] if start else None
        if obstacles[stop] is None and _pays(run, before):
            joined, end = fuse("JoinedColours", run), stop
            yield Edit(start, stop, (joined,), levels(run))
