"""Colour steps that change places with a downscale change by what rounding says, and no more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from examples import DEAR
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import Pool, picture, recipes

from augrecipes.compiler.rewrite import Compiled, Plan
from augrecipes.compiler.rewrite.rule import apply_rules
from augrecipes.compiler.rewrite.rules import shrink_first
from augrecipes.compiler.rewrite.rules.shrink_first import refusals
from augrecipes.errors import DataError
from augrecipes.flow import Flow
from augrecipes.kinds.image.pipeline import ImagePipeline
from augrecipes.ops import capabilities
from augrecipes.recipe.model import Arguments, Inputs, Output, Recipe, Step
from augrecipes.recipe.sites import label

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of two geometry classes, on every call
LEAST = (60, 70)

LINEAR: Pool = (
    ("InvertImg", {}),
    ("ToGray", {}),
    ("ChannelShuffle", {}),
    ("ChannelDropout", {"fill": 90}),
    ("ToGray", {"method": "max"}),
    ("RandomGamma", {}),
)
SHRINKS: Pool = (
    ("Resize", {"height": 41, "width": 33}),
    ("Resize", {"height": 30, "width": 35, "interpolation": "area"}),
    ("Resize", {"height": 20, "width": 21, "interpolation": "nearest"}),
    ("Resize", {"height": 19, "width": 40, "interpolation": "linear_exact"}),
    ("RandomResizedCrop", {"size": [28, 24]}),
    ("RandomSizedCrop", {"min_max_height": [20, 40], "size": [25, 26]}),
    ("LongestMaxSize", {"max_size": 44}),
    ("RandomScale", {"scale_limit": [-0.5, -0.2]}),
    ("RandomCrop", {"height": 17, "width": 18}),
    ("Resize", {"height": 33, "width": 30, "interpolation": "cubic"}),
    ("HorizontalFlip", {}),
)


def difference(recipe: Recipe, seed: int, dtype: Any) -> tuple[float, float]:
    """The largest difference that the rule alone makes, in levels, and what it promises."""
    flow = Flow(dtype, least=LEAST)
    changed, fired = apply_rules(recipe.steps, flow, (shrink_first.RULE,))
    image = picture(seed, 3, dtype, (LEAST[0] + seed % 3, LEAST[1] + seed // 3 % 4))
    if seed % 2:
        image = (image > image.mean()).astype(image.dtype) * image.max()
    made = []
    for steps in (recipe.steps, changed):
        plans = {"uint8": Plan(steps), "float32": Plan(steps)}
        try:
            made.append(
                ImagePipeline(Compiled(recipe, "train", "fast", seed, False, plans)).at(0)(image=image)["image"]
            )
        except DataError:  # a window that is larger than what a foolish recipe has left
            made.append(None)
    if any(one is None for one in made):
        assert made[0] is made[1]
        return 0.0, 0.0
    scale = 1 if dtype == "uint8" else 255
    return scale * float(np.abs(made[0].astype(np.float64) - made[1]).max()), sum(f.levels for f in fired)


def law(recipe: Recipe, seed: int, dtype: Any) -> None:
    output = Output(dtype=dtype, layout="hwc")
    found, promised = difference(replace(recipe, output=output), seed, dtype)
    assert found <= promised


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_within_its_levels(dtype: str) -> None:
    @DEAR
    @given(recipes(LINEAR + SHRINKS, boxes=False, max_steps=5), st.integers(0, 2**32))
    def check(recipe: Recipe, seed: int) -> None:
        law(recipe, seed, dtype)

    check()


def caught(step: Step, downscale: Step) -> bool:
    """Whether the law notices that the rule moves `step` behind `downscale`."""
    steps = label((replace(step, p=1.0), downscale))
    try:
        for seed in range(20):
            law(Recipe("law", steps=steps), seed, "uint8")
    except AssertionError:
        return True
    return False


class TestPlantedFaults:
    def believed(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        """Let the rule take a class for one that commutes with means."""
        monkeypatch.setitem(capabilities._BY_NAME, name, replace(capabilities._BY_NAME[name], averages=2))

    def test_a_saturating_step_that_is_moved(self, monkeypatch: pytest.MonkeyPatch) -> None:
        shift = Step("RGBShift", Arguments({"r_shift_limit": [90, 90], "g_shift_limit": [-90, -90]}))
        assert not caught(shift, RESIZE)  # the rule leaves it alone
        self.believed(monkeypatch, "RGBShift")
        assert caught(shift, RESIZE)

    def test_a_resize_that_overshoots(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cubic = Step("Resize", Arguments({"height": 33, "width": 30, "interpolation": "cubic"}))
        assert not caught(Step("ToGray"), cubic)
        monkeypatch.setattr(shrink_first, "_MEANS", (*shrink_first._MEANS, "cubic"))
        assert caught(Step("ToGray"), cubic)

    def test_a_table_that_is_curved(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gamma = Step("RandomGamma", Arguments({"gamma_limit": [30, 40]}))
        assert not caught(gamma, RESIZE)
        self.believed(monkeypatch, "RandomGamma")
        assert caught(gamma, RESIZE)

    def test_rounding_that_a_later_step_enlarges(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shrink_first, "held_from", lambda steps, *_: [None] * (len(steps) + 1))
        steps = label((replace(INVERT, p=1.0), RESIZE, Step("Posterize", Arguments({"num_bits": 1}), p=1.0)))
        recipe = Recipe("law", steps=steps, output=Output(dtype="uint8", layout="hwc"))
        found, promised = zip(*(difference(recipe, seed, "uint8") for seed in range(0, 40, 2)), strict=True)
        assert max(found) > max(promised)


RESIZE = Step("Resize", Arguments({"height": 30, "width": 30}))
INVERT = Step("InvertImg")


@pytest.mark.parametrize(
    ("steps", "flow", "said"),
    [
        ((INVERT, RESIZE), Flow(least=LEAST), None),
        ((INVERT, RESIZE, Step("HorizontalFlip"), Step("ToGray")), Flow(least=LEAST), None),
        ((INVERT, RESIZE), Flow(), "min_size"),
        ((INVERT, RESIZE), Flow(least=(20, 20)), "min_size"),
        ((INVERT, Step("RandomCrop", Arguments({"height": 30, "width": 30}))), Flow(), None),
        ((INVERT, RESIZE), Flow(least=LEAST, boxes=True), "boxes"),
        (
            (INVERT, Step("Resize", Arguments({"height": 3, "width": 3, "interpolation": "cubic"}))),
            Flow(),
            "overshoots",
        ),
        ((Step("ToSepia"), RESIZE), Flow(least=LEAST), "saturate"),
        ((Step("ToGray", Arguments({"method": "max"})), RESIZE), Flow(least=LEAST), "saturate"),
        ((INVERT, RESIZE, Step("Posterize")), Flow(least=LEAST), "Posterize#1 goes by thresholds"),
        ((INVERT, Step("RandomCrop", Arguments({"height": 9, "width": 9, "pad_if_needed": True}))), Flow(), "padding"),
    ],
)
def test_refusals(steps: tuple[Step, ...], flow: Flow, said: str | None) -> None:
    found = refusals(label(steps), flow)[0]
    assert found is None if said is None else found is not None and said in found


def test_explain_says_what_was_moved_and_what_not() -> None:
    from augrecipes.compiler.explain import explain

    larger = Step("Resize", Arguments({"height": 50, "width": 60}))
    steps = label((Step("RGBShift"), larger, Step("Rotate", p=1.0), INVERT, RESIZE))
    told = explain(Recipe("tiny", steps=steps, eval=(), inputs=Inputs(min_size=LEAST)), optimize="fast")
    assert [(rule.rule, rule.contract) for rule in told.rules][:2] == [
        ("shrink_first", "LEVELS"),
        ("join_warps", "GEOMETRY"),
    ]
    group = label((Step("OneOf", steps=(INVERT, Step("ToGray"))), RESIZE))
    moved = explain(Recipe("tiny", steps=group, eval=(), inputs=Inputs(min_size=LEAST)), optimize="fast")
    assert moved.stayed == ()
    assert {row.site: row.why.partition(":")[0] for row in told.stayed}[
        "RGBShift#1"
    ] == "may saturate, or is not linear"
