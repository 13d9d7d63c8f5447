"""Detail that a narrower grid in the middle has lost stays lost: simulated low resolution is meant."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from examples import DEAR
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import Pool, recipes
from test_exact_equals_none import build
from test_fast import run, with_border

from augrecipes.recipe.model import Arguments, Output, Recipe, Step
from augrecipes.recipe.sites import label

SIZE = (112, 128)
POOL: Pool = (
    ("Resize", {"height": 28, "width": 32}),
    ("Resize", {"height": 28, "width": 128}),
    ("Resize", {"height": 112, "width": 30}),
    ("Resize", {"height": 112, "width": 128}),
    ("Resize", {"height": 150, "width": 170}),
    ("RandomScale", {"scale_limit": [-0.75, -0.5]}),
    ("RandomScale", {"scale_limit": [0.8, 2.0]}),
    ("Affine", {"scale": [0.25, 0.5]}),
    ("Affine", {"scale": {"x": [0.25, 0.4], "y": [0.9, 1.1]}}),
    ("Affine", {"scale": [2.0, 4.0]}),
    ("Rotate", {"limit": 45}),
    ("SafeRotate", {"limit": 45}),
    ("Perspective", {"scale": [0.05, 0.1]}),
    ("Transpose", {}),
    ("RandomRotate90", {}),
    ("RandomCropFromBorders", {"crop_left": 0.1, "crop_right": 0.1, "crop_top": 0.1, "crop_bottom": 0.1}),
    ("RandomResizedCrop", {"size": [90, 100], "scale": [0.2, 0.6]}),
)
# In cycles a pixel. A bilinear sample keeps 0.93 to 0.74 of these on the whole, four in a row at least 0.3.
LENGTHS = (0.15, 0.2, 0.25, 0.3)
MORE = 0.45  # of a wave that one resampling may keep more of than four


def shown(recipe: Recipe, optimize: Any, seed: int, image: np.ndarray) -> np.ndarray | None:
    out = run(build(recipe, optimize, seed), 0, image=image)
    return None if out is None else out["image"]


def regained(recipe: Recipe, seed: int) -> float:
    """How much more `fast` keeps of some wave than `none`: of 1, by least squares, where all is inside."""
    recipe = replace(recipe, steps=with_border(recipe.steps, "constant"), output=Output(layout="hwc"))
    y, x = np.mgrid[: SIZE[0], : SIZE[1]].astype(np.float32)
    where = shown(recipe, "none", seed, np.dstack([(y + 8) / 256, (x + 8) / 256, np.full_like(y, 0.5)]))
    if where is None:
        return 0.0
    inside = np.abs(where[..., 2] - 0.5) < 1e-6
    rows, columns = where[..., 0] * 256 - 8, where[..., 1] * 256 - 8
    rows[~inside], columns[~inside] = np.nan, np.nan
    # Where a resize repeats its edge nothing moves on, and least squares would be misled.
    inside &= (rows > 2) & (rows < SIZE[0] - 3) & (columns > 2) & (columns < SIZE[1] - 3)
    if inside.sum() < 300:
        return 0.0
    worst = 0.0
    for number, length in enumerate(LENGTHS):
        angle = (seed % 8 + number) * np.pi / 8
        fy, fx = length * np.sin(angle), length * np.cos(angle)
        steps = [fy * np.diff(rows, axis=axis) + fx * np.diff(columns, axis=axis) for axis in (0, 1)]
        if max(float(np.nanmax(np.abs(step))) for step in steps) > 0.45:
            continue  # more than what comes out can hold: it would come out as another wave
        wave = 0.5 + 0.3 * np.cos(2 * np.pi * (fy * y + fx * x))[..., None]
        image = np.rint(np.repeat(wave, 3, axis=2) * 255).astype(np.uint8)
        phase = 2 * np.pi * (fy * rows[inside] + fx * columns[inside])
        basis = np.stack([np.cos(phase), np.sin(phase), np.ones_like(phase)], axis=1)
        kept = []
        for optimize in ("none", "fast"):
            out = shown(recipe, optimize, seed, image)
            assert out is not None
            found = np.linalg.lstsq(basis, out[..., 0][inside], rcond=None)[0]
            kept.append(float(np.hypot(*found[:2])) / 0.3)
        worst = max(worst, kept[1] - kept[0])
    return worst


def law(recipe: Recipe, seed: int) -> None:
    assert regained(recipe, seed) <= MORE


@DEAR
@given(recipes(POOL, boxes=False, max_steps=4), st.integers(0, 2**32))
def test_what_is_lost_stays_lost(recipe: Recipe, seed: int) -> None:
    law(recipe, seed)


def chain(*steps: tuple[str, dict[str, Any]]) -> Recipe:
    return Recipe("law", steps=label([Step(name, Arguments(args), p=1.0) for name, args in steps]))


WHOLE = ("Resize", {"height": SIZE[0], "width": SIZE[1]})
CUT = ("CenterCrop", {"height": 100, "width": 110})
LOW = [
    chain(("Resize", {"height": 28, "width": 32}), WHOLE),
    chain(("RandomScale", {"scale_limit": [-0.75, -0.75]}), WHOLE),
    chain(("Affine", {"scale": 0.25}), ("Affine", {"scale": 4.0}), CUT),
    chain(("Resize", {"height": 28, "width": SIZE[1]}), WHOLE),
    chain(("Resize", {"height": SIZE[0], "width": 32}), ("Transpose", {}), ("Resize", {"height": 128, "width": 112})),
    chain(("Rotate", {"limit": [30, 30]}), ("Affine", {"scale": 0.3}), ("Affine", {"scale": 3.0}), CUT),
    chain(("Perspective", {"scale": 0.05}), ("Affine", {"scale": 0.3}), ("Affine", {"scale": 3.0}), CUT),
    chain(("Affine", {"scale": 0.3}), ("Perspective", {"scale": 0.05}), ("Affine", {"scale": 3.0}), CUT),
    chain(("Affine", {"scale": 0.3}), ("Affine", {"scale": 1.6}), ("Affine", {"scale": 1.6}), CUT),
]


@pytest.mark.parametrize("recipe", LOW, ids=lambda recipe: " ".join(step.site for step in recipe.steps))
def test_low_resolution_is_kept(recipe: Recipe) -> None:
    for seed in range(4):
        law(recipe, seed)


def test_the_law_sees_a_merge_that_looks_at_its_ends_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a picture had never been made small in between."""
    honest = shown

    def merged(recipe: Recipe, optimize: Any, seed: int, image: np.ndarray) -> np.ndarray | None:
        kept = recipe.steps if optimize == "none" else recipe.steps[1:]
        return honest(replace(recipe, steps=kept), optimize, seed, image)

    monkeypatch.setattr(sys.modules[__name__], "shown", merged)
    with pytest.raises(AssertionError):
        law(LOW[0], 0)
