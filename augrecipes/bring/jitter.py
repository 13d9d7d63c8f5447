"""The affine part of ElasticTransform before release 1.4.12, as a step Affine where the size of pictures is known."""

from __future__ import annotations

from collections.abc import Sequence
from math import atan, degrees, sqrt
from typing import Any

from augrecipes.bring.draft import Item, Line, RecipeDraft
from augrecipes.lint.sizes import after, arriving
from augrecipes.ops.groups import SEQUENTIAL
from augrecipes.ops.registry import default_p
from augrecipes.ops.sizes import SizeBounds
from augrecipes.recipe.model import Step
from augrecipes.recipe.releases import until
from augrecipes.recipe.write import flow

_OWNER, _ARGUMENT = "ElasticTransform", "alpha_affine"
_SHARED = ("interpolation", "border_mode", "fill", "fill_mask")
_AS_WIDE = 1 / sqrt(2)  # a range of even draws varies as much as the difference of two, each of half its width


def affine_of(pixels: float, height: float, width: float) -> dict[str, Any]:
    """Arguments of Affine that move a picture as much as three of its points do that are drawn `pixels` around theirs.

    The points were a third of the shorter side off the middle.

    >>> affine_of(20, 300, 300)["scale"]["x"], affine_of(20, 300, 300)["translate_px"]["x"]
    ([0.859, 1.141], [-14, 14])
    """
    part = _AS_WIDE * pixels / (min(height, width) // 3)
    turn, shift = round(degrees(atan(part)), 2), round(_AS_WIDE * pixels)
    scale = [round(1 - part, 3), round(1 + part, 3)]
    both: dict[str, Any] = {"scale": scale, "shear": [-turn, turn], "translate_px": [-shift, shift]}
    return {key: {"x": value, "y": list(value)} for key, value in both.items()}


def add(draft: RecipeDraft) -> None:
    """Put an Affine in front of each ElasticTransform that had one of its own, in pictures of a known size."""
    if any(_ARGUMENT in line.lost for line in draft.lines()):
        recipe = draft.recipe()
        draft.steps = _all(draft.steps, recipe.steps, arriving(recipe), in_turn=True)


def _all(items: list[Item], steps: Sequence[Step], size: SizeBounds, *, in_turn: bool) -> list[Item]:
    found: list[Item] = []
    left = iter(steps)
    for item in items:
        if isinstance(item, Line):
            step = next(left)
            found.append(_one(item, step, size))
            size = after(step, size) if in_turn else size
        else:
            found.append(item)
    return found


def _one(line: Line, step: Step, size: SizeBounds) -> Line:
    if line.steps is not None:
        line.steps = _all(line.steps, step.steps, size, in_turn=line.name == SEQUENTIAL)
        return line
    pixels, _ = line.lost.get(_ARGUMENT, (None, ""))
    if not isinstance(pixels, int | float) or not size.exact:
        return line
    del line.lost[_ARGUMENT]
    p = line.args.pop("p", default_p(_OWNER))
    shared = {key: line.args[key] for key in _SHARED if key in line.args}
    first = Line("Affine", {**affine_of(pixels, *size.low), **shared, "p": 1.0}, line.place)
    line.args["p"] = 1.0
    said = f"{_ARGUMENT}: {flow(pixels)} until {until(_OWNER, _ARGUMENT)} as an Affine that moves pixels as far"
    return Line(SEQUENTIAL, {"p": p}, line.place, [first, line], [said])
