"""A warp at the end of a recipe of float output, made in one pass with the output, is what the step makes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_exact_equals_none import build

from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.lowering import opencv_variants, walk
from augrecipes.compiler.rewrite import flow_of, plan
from augrecipes.compiler.rewrite.nodes import Fused
from augrecipes.compiler.rewrite.rule import apply_rules
from augrecipes.compiler.rewrite.rules import rules_for
from augrecipes.native.kernels import library
from augrecipes.recipe.model import Arguments, Output, Recipe, Step

pytestmark = pytest.mark.skipif(library() is None, reason="no native kernels")
BODY = 32  # pixels of a row that OpenCV takes from HSV to RGB at a time, with AVX2: in what is left it rounds
FLOATS = Output("float32", "chw", range=(0.0, 255.0))
WARPS = st.sampled_from(
    [
        ("Affine", {"scale": [0.6, 1.6], "rotate": [-90, 90], "shear": [-9, 9]}),
        ("Affine", {"scale": [0.7, 1.3], "translate_percent": [-0.2, 0.2], "keep_ratio": True}),
        ("Rotate", {"limit": [-180, 180]}),
        ("ShiftScaleRotate", {"scale_limit": [-0.4, 0.4]}),
        ("SafeRotate", {"limit": [-50, 50]}),
    ]
)
FILLS = st.one_of(st.integers(0, 255), st.lists(st.integers(0, 255), min_size=3, max_size=3))
BORDERS = st.sampled_from(["constant", "constant", "replicate", "reflect", "wrap", "reflect_101"])
TURNS = st.lists(st.sampled_from(["HorizontalFlip", "Transpose", "D4", "RandomRotate90"]), max_size=2)
HSV = ("HueSaturationValue", {"hue_shift_limit": [-20, 20], "sat_shift_limit": [-30, 30], "val_shift_limit": [-20, 20]})


def recipe_of(*named: tuple[str, dict[str, Any]]) -> Recipe:
    steps = tuple(
        Step(name, args=Arguments({"p": 1.0, **args}), p=1.0, site=f"{name}#{k}")
        for k, (name, args) in enumerate(named)
    )
    return Recipe("warped", steps=steps, output=FLOATS)


def picture(seed: int, channels: int = 3, wide: int = 1) -> np.ndarray:
    """With slopes and a little noise: a place that is rounded makes no great difference.

    Its columns are a multiple of `wide`.
    """
    rng = np.random.default_rng(seed)
    height, width = rng.integers(20, 140, 2)
    width = -(-width // wide) * wide
    slopes = np.add.outer(np.linspace(20, 120, height), np.linspace(0, 90, width))[..., None]
    return np.clip(slopes + rng.normal(0, 4, (height, width, channels)), 0, 255).astype(np.uint8)


def kernels_of(recipe: Recipe, arrival: Any = "uint8") -> list[str]:
    steps = plan(recipe, recipe.steps, "fast", arrival).steps
    return [step.kernel if isinstance(step, Fused) else step.name for step in steps]


def check(recipe: Recipe, image: np.ndarray, seed: int, most: float) -> None:
    """`fast` beside `none`."""
    plain, fast = (build(recipe, how, seed) for how in ("none", "fast"))
    assert not isinstance(fast.native, str)
    for index in range(3):
        wanted, found = (pipeline.at(index)(image=image)["image"] for pipeline in (plain, fast))
        assert found.shape == wanted.shape
        off = np.abs(found - wanted)
        assert off.max() <= most + 1e-3
        assert off.mean() <= 0.15


@given(warp=WARPS, border=BORDERS, fill=FILLS, turns=TURNS, seed=st.integers(0, 2**31), grey=st.booleans())
def test_levels_are_those_of_the_step(warp: Any, border: str, fill: Any, turns: Any, seed: int, grey: bool) -> None:
    name, args = warp
    fill = fill[0] if grey and isinstance(fill, list) else fill
    recipe = recipe_of((name, {**args, "border_mode": border, "fill": fill}), *((turn, {}) for turn in turns))
    assert kernels_of(recipe) == ["JoinedWarps"]
    check(recipe, picture(seed, 1 if grey else 3), seed, 3)


def body() -> int:
    """How many pixels of a row OpenCV takes at a time from HSV on this processor."""
    return opencv_variants.hsv()[0]


@given(seed=st.integers(0, 2**31), turn=st.sampled_from([None, "Transpose", "HorizontalFlip", "VerticalFlip"]))
def test_hue_saturation_and_value_are_those_of_the_step(seed: int, turn: str | None) -> None:
    """Of a picture that the warp leaves as it is: behind one that moves it a level may become several.

    In what is left of a row behind whole registers of 32 pixels OpenCV rounds, where it drops fractions before.
    """
    still = ("Affine", {"scale": [1.0, 1.0]})
    recipe = recipe_of(still, HSV, *([(turn, {})] if turn else []))
    assert {"JoinedWarps", "JoinedColours"} <= set(kernels_of(recipe)) or turn
    check(recipe, picture(seed, wide=1 if body() == BODY else 64), seed, 2)


@pytest.mark.parametrize(
    "named",
    [
        [("Perspective", {})],  # takes longer there
        [("Resize", {"height": 30, "width": 30})],
        [("Affine", {}), ("Blur", {})],
        [("Affine", {"interpolation": "cubic"})],
        [("HueSaturationValue", {})],
    ],
)
def test_what_is_left_as_it_is(named: list[tuple[str, dict[str, Any]]]) -> None:
    assert kernels_of(recipe_of(*named)) == [name for name, _ in named]


def test_only_uint8_that_leaves_as_floats_is_joined() -> None:
    recipe = recipe_of(("Affine", {}))
    assert kernels_of(recipe) == ["JoinedWarps"]
    assert kernels_of(recipe, "float32") == ["Affine"]
    whole = Recipe("warped", steps=recipe.steps, output=Output("uint8", "hwc"))
    assert kernels_of(whole) == ["Affine"]
    inside = Step("Sequential", steps=recipe_of(("Blur", {}), ("Affine", {})).steps, p=0.5, site="Sequential#1")
    assert kernels_of(Recipe("warped", steps=(inside,), output=FLOATS)) == ["Sequential"]
    assert inside == apply_rules((inside,), flow_of(recipe, "uint8"), rules_for(recipe, "fast"))[0][0]


def test_the_law_sees_a_border_of_one_channel_only(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = recipe_of(("Affine", {"scale": [0.6, 0.7], "fill": 114}))
    check(recipe, picture(1), 1, 3)
    own = walk.encode

    def another(step: Any, **how: bool) -> Any:
        found = own(step, **how)
        return found and replace(found, does=(found.does[0], 114, *found.does[2:]))  # of three bytes the lowest

    monkeypatch.setattr(walk, "encode", another)
    with pytest.raises(AssertionError):
        check(recipe, picture(1), 1, 3)


def test_the_law_sees_a_shift_of_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = recipe_of(("Affine", {"scale": [1.0, 1.0]}), ("RandomBrightnessContrast", {}))
    check(recipe, picture(1, wide=64), 1, 3)
    own = Program.sample
    monkeypatch.setattr(Program, "sample", lambda *args: own(*args) + np.float32(4))
    with pytest.raises(AssertionError):
        check(recipe, picture(1, wide=64), 1, 3)
