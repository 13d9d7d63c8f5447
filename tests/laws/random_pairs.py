"""Random pair recipes, and scenes whose pixels carry their position."""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np
from hypothesis import strategies as st

from augrecipes.compiler.plan import ARRIVALS, Compiled, Plan
from augrecipes.kinds.pair.pipeline import PairPipeline
from augrecipes.recipe.model import Arguments, Output, Recipe, Step
from augrecipes.recipe.sites import label

Scales = dict[str, int]

TURNS = ("HorizontalFlip", "VerticalFlip", "Transpose", "RandomRotate90", "D4", "SquareSymmetry", "NoOp")
# Scales that the issue names, and some where no target is the common grid.
SCALES: tuple[Scales, ...] = (
    {"lr": 1, "hr": 2},
    {"lr": 1, "hr": 3},
    {"lr": 1, "hr": 4},
    {"lr": 1, "x2": 2, "hr": 4},
    {"a": 2, "b": 3},
    {"hr": 4, "lr": 2},
    {"a": 6, "b": 4, "c": 9},
)
AS_IT_IS = Output(dtype="float32", layout="hwc")


def unit_of(scales: Scales) -> Scales:
    """Pixels a common cell, worked out here and not by the code under test."""
    common = gcd(*scales.values())
    return {name: scale // common for name, scale in scales.items()}


def scene(scales: Scales, rows: int, columns: int, rest: int = 0) -> dict[str, np.ndarray]:
    """Every target as float32 H×W×3: row and column of the pixel's centre in cells, and ones.

    `rest`: the finest target is up to so many pixels too large.
    """
    made = {}
    for name, k in unit_of(scales).items():
        extra = min(rest, k - 1)
        y, x = np.mgrid[: rows * k + extra, : columns * k + extra].astype(np.float32)
        made[name] = np.dstack([(y + 0.5) / k, (x + 0.5) / k, np.ones_like(y)]) / np.float32(256)
    return made


def misalignment(out: dict[str, Any], scales: Scales) -> float:
    """The largest distance, in cells, between what two targets show at one place of the scene.

    Windows and turns keep the coordinates affine, so the coarsest target says what every pixel of the others must be.
    Sizes that do not fit count as infinitely far.
    """
    units = unit_of(scales)
    base = min(units, key=lambda name: units[name])
    k = units[base]
    grid = out[base][..., :2].astype(np.float64) * 256
    if min(grid.shape[:2]) < 2:
        raise ValueError("a window of at least two pixels tells a flip from none")
    height, width = grid.shape[:2]
    down, across = (grid[-1, 0] - grid[0, 0]) / (height - 1) * k, (grid[0, -1] - grid[0, 0]) / (width - 1) * k
    origin = grid[0, 0] - (down + across) * 0.5 / k
    worst = 0.0
    for name, unit in units.items():
        array = out[name]
        if array.shape[0] * k != height * unit or array.shape[1] * k != width * unit:
            return float("inf")
        y, x = np.mgrid[: array.shape[0], : array.shape[1]] + 0.5
        wanted = origin + (y / unit)[..., None] * down + (x / unit)[..., None] * across
        inside = array[..., 2] >= 1 / 256 - 1e-7
        if inside.any():
            worst = max(worst, float(np.abs(array[..., :2] * 256.0 - wanted)[inside].max()))
    return worst


def build(recipe: Recipe, seed: int = 0) -> PairPipeline:
    """Compile without the lints: random recipes are allowed to be foolish."""
    plans = dict.fromkeys(ARRIVALS, Plan(recipe.steps))
    return PairPipeline(Compiled(recipe, "train", "none", seed, True, plans))


def pair(scales: Scales, steps: list[Step], **more: Any) -> Recipe:
    """A recipe of kind pair with its steps labelled."""
    return Recipe("random", kind="pair", scales=Arguments(scales), steps=label(steps), output=AS_IT_IS, **more)


@st.composite
def windows(draw: st.DrawFn, scales: Scales, *, first: bool) -> Step:
    """A crop that fits the common grid; its numbers count pixels of a target that is drawn. The second fits."""
    units = unit_of(scales)
    at = draw(st.none() | st.sampled_from(sorted(scales)))
    k = units[at or min(units, key=lambda name: units[name])]
    p = draw(st.sampled_from([None, 0.5]))
    sides = st.integers(8, 12) if first else st.integers(2, 5)
    height, width = draw(sides) * k, draw(sides) * k
    name = draw(st.sampled_from(["RandomCrop", "CenterCrop", "Crop", *["RandomCropFromBorders"][: 1 if first else 0]]))
    match name:
        case "Crop":
            x, y = draw(st.integers(0, 2)) * k, draw(st.integers(0, 2)) * k
            args: dict[str, Any] = {"x_min": x, "y_min": y, "x_max": x + width, "y_max": y + height}
        case "RandomCropFromBorders":
            args, at = {"crop_left": 0.2, "crop_right": 0.2, "crop_top": 0.3, "crop_bottom": 0.2}, None
        case _:
            args = {"height": height, "width": width}
    return Step(name, Arguments(args), p=p, at=at)


@st.composite
def moves(draw: st.DrawFn, scales: Scales) -> Recipe:
    """Turns and at most two windows, some of them in groups."""
    turn = st.builds(Step, st.sampled_from(TURNS), p=st.sampled_from([None, 1.0]))
    steps = draw(st.lists(turn, max_size=4))
    place = draw(st.integers(0, len(steps)))
    steps.insert(place, draw(windows(scales, first=True)))
    if draw(st.booleans()):
        steps.insert(draw(st.integers(place + 1, len(steps))), draw(windows(scales, first=False)))
    group = draw(st.sampled_from(["", "OneOf", "SomeOf", "Sequential", "RandomOrder"]))
    if group:
        children = tuple(draw(st.lists(turn, min_size=2, max_size=3)))
        args = Arguments({"n": 1} if group == "SomeOf" else {})
        steps.insert(draw(st.integers(0, len(steps))), Step(group, args, steps=children))
    return pair(scales, steps)
