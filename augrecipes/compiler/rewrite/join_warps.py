"""Windows, turns and warps in a row are one map between grids: resample once instead of at every step."""

from __future__ import annotations

from augrecipes.compiler.rewrite.rule import JOINED_WARPS, Rule, Steps, join, kind_of
from augrecipes.flow import Flow
from augrecipes.ops.registry import effective
from augrecipes.recipe.model import Step

_STILL = ("identity", "window", "dihedral")


def joins(step: Step) -> bool:
    """Whether a step, or every step of a group, is a map between grids that resamples linearly or not at all."""
    if step.is_group:
        return all(joins(child) for child in step.steps)
    if step.steps:
        return False  # joined already
    kind = kind_of(step)
    if kind in _STILL:
        return True
    if kind != "warp":
        return False
    arguments = effective(step)
    return arguments.get("interpolation", "linear") == "linear" and not arguments.get("area_for_downscale")


def _rewrite(steps: Steps, flow: Flow) -> Steps | None:
    del flow
    start = 0
    while start < len(steps):
        stop = start
        while stop < len(steps) and joins(steps[stop]):
            stop += 1
        leaves = [leaf for step in steps[start:stop] for leaf in step.walk() if not leaf.is_group]
        if len(leaves) > 1 and any(kind_of(leaf) == "warp" for leaf in leaves):
            return (*steps[:start], join(JOINED_WARPS, steps[start:stop]), *steps[stop:])
        start = max(stop, start + 1)
    return None


RULE = Rule(
    name="join_warps",
    equation="Warp(A) · Warp(B) = Warp(A·B)   one resampling, where neither a border nor a hidden part comes between",
    contract="GEOMETRY",
    fires="[{Rotate: {limit: 20, p: 1.0}}, {RandomResizedCrop: {size: [20, 20]}}, HorizontalFlip]",
    leaves="[{Rotate: {limit: 20, interpolation: cubic}}, Blur, HorizontalFlip]",
    rewrite=_rewrite,
)
