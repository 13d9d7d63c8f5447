"""Random pair recipes, and scenes whose pixels carry their position."""

from math import gcd
from typing import Any

import numpy as np
from hypothesis import strategies as st
from random_recipes import pool

from augrecipes.recipe.model import Arguments, Output, Recipe, Step, label

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
# What all targets may share, and what one of them may go through alone.
PLAIN = pool("""
    RandomGamma, InvertImg, RandomBrightnessContrast, HueSaturationValue, ToGray, ColorJitter, Blur
""")
ONE_TARGET = (*PLAIN, ("GaussNoise", {}), ("PixelDropout", {}), ("ImageCompression", {}), ("Perspective", {}))
# Inside a Degrade.
WORSE = (
    *ONE_TARGET, ("RandomScale", {"scale_limit": [-0.4, 0.5]}),
    ("RandomScale", {"scale_limit": [-0.4, 0.5], "interpolation": "area"}), ("Affine", {"rotate": [-20, 20]}),
    ("Sharpen", {}), ("ResizeToTarget", {"method": "cubic"}), ("Defocus", {"radius": [1, 2]}), ("HorizontalFlip", {}),
)  # fmt: skip
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


@st.composite
def degrades(draw: st.DrawFn, source: str, target: str) -> Step:
    """A Degrade whose steps may change the size on the way; some of them in groups."""
    step = st.builds(
        lambda known, p: Step(known[0], Arguments(known[1]), p=p),
        st.sampled_from(WORSE), st.sampled_from([None, 0.5, 1.0]),
    )  # fmt: skip
    steps: list[Step] = draw(st.lists(step, max_size=3))
    if draw(st.booleans()):
        group = draw(st.sampled_from(["OneOf", "SomeOf", "Sequential", "RandomOrder"]))
        inside = tuple(draw(st.lists(step, min_size=1, max_size=3)))
        steps.append(Step(group, Arguments({"n": 1} if group == "SomeOf" else {}), steps=inside))
    method = draw(st.sampled_from(["area", "linear", "cubic", "matlab_bicubic"]))
    last = Step("ResizeToTarget", Arguments({"method": method}), p=1.0)
    return Step("Degrade", Arguments({"source": source, "target": target}), steps=(*steps, last))


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    """Windows, turns, steps of one target, of some and of all, groups, and targets that are made of others."""
    scales: Scales = draw(st.sampled_from(SCALES))
    names = sorted(scales)
    chance = st.sampled_from([None, 0.0, 0.5, 1.0])
    turn = st.builds(Step, st.sampled_from(TURNS), p=chance)
    some = st.one_of(st.just(()), st.lists(st.sampled_from(names), min_size=1, unique=True).map(tuple))
    shared = st.builds(
        lambda known, p, names: Step(known[0], Arguments(known[1]), p=p, target=names),
        st.sampled_from(PLAIN),
        chance,
        some,
    )
    alone = st.builds(
        lambda known, p, name: Step(known[0], Arguments(known[1]), p=p, target=(name,)),
        st.sampled_from(ONE_TARGET), chance, st.sampled_from(names),
    )  # fmt: skip
    any_step = st.one_of(turn, turn, shared, alone)
    group = st.builds(
        lambda name, children: Step(name, Arguments({"n": 1} if name == "SomeOf" else {}), steps=tuple(children)),
        st.sampled_from(["OneOf", "SomeOf", "Sequential", "RandomOrder"]),
        st.lists(any_step.filter(lambda step: step.p != 0), min_size=1, max_size=3),
    )
    steps = draw(st.lists(st.one_of(any_step, any_step, any_step, group), max_size=6))
    place = draw(st.integers(0, len(steps)))
    steps.insert(place, draw(windows(scales, first=True)))
    if draw(st.booleans()):
        steps.insert(draw(st.integers(place + 1, len(steps))), draw(windows(scales, first=False)))
    coarse, *_, fine = sorted(names, key=scales.__getitem__)
    if not draw(st.booleans()):
        return pair(scales, steps)
    at = draw(st.integers(place + 1, len(steps)))
    before, behind = steps[:at], steps[at:]
    degrade = draw(degrades(fine, coarse))
    return pair(scales, [*(step for step in before if _without(coarse, step)), degrade, *behind])


def _without(name: str, step: Step) -> bool:
    """Whether a step, and all inside it, can do before a target is made."""
    return name != step.at and name not in step.target and all(_without(name, child) for child in step.steps)
