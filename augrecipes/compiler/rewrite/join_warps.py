"""Windows, turns and warps in a row are one map between grids: resample once instead of at every step."""

from __future__ import annotations

from augrecipes.compiler.rewrite.contracts import held
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


def _pays(steps: Steps) -> bool:
    """Whether pixels are saved: something is resampled, and afterwards resampled again or cut."""
    kinds = [kind_of(leaf) for step in steps for leaf in step.walk() if not leaf.is_group]
    return "warp" in kinds and not {"warp", "window"}.isdisjoint(kinds[kinds.index("warp") + 1 :])


def _rewrite(steps: Steps, flow: Flow) -> Steps | None:
    start = 0
    while start < len(steps):
        stop = start
        while stop < len(steps) and joins(steps[stop]):
            stop += 1
        if _pays(steps[start:stop]) and held(steps[stop:], flow, "GEOMETRY") is None:
            return (*steps[:start], join(JOINED_WARPS, steps[start:stop]), *steps[stop:])
        start = max(stop, start + 1)
    return None


RULE = Rule(
    name="join_warps",
    equation="Warp(A) · Warp(B) = Warp(A·B)   one resampling; no border, hidden part or coarser grid comes between",
    contract="GEOMETRY",
    fires="[{Rotate: {limit: 20, p: 1.0}}, {RandomResizedCrop: {size: [20, 20]}}, HorizontalFlip]",
    leaves="[{RandomResizedCrop: {size: [20, 20]}}, HorizontalFlip, Blur, {Rotate: {interpolation: cubic}}]",
    rewrite=_rewrite,
)
