"""Rules of pairs: the draws of `none`, the same windows, and every bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from examples import DEAR, PLANTED
from hypothesis import given
from hypothesis import strategies as st
from random_pairs import Scales, recipes, unit_of
from undecoded_pictures import Picture

from augrecipes.compiler.explain import explain
from augrecipes.compiler.rewrite import ARRIVALS, Compiled, plan
from augrecipes.compiler.rewrite.rule import Rule, apply_rules
from augrecipes.compiler.rewrite.rules import PAIR
from augrecipes.errors import DataError
from augrecipes.flow import Flow
from augrecipes.kinds.pair.pipeline import PairPipeline
from augrecipes.recipe.model import Optimize, Output, Recipe
from augrecipes.recipe.parse import parse_text

FLOW = Flow("uint8", encoded=True)
EACH = pytest.mark.parametrize("rule", PAIR, ids=lambda rule: rule.name)


def build(recipe: Recipe, optimize: Optimize, seed: int) -> PairPipeline:
    plans = {arrival: plan(recipe, recipe.steps, optimize, arrival) for arrival in ARRIVALS}
    return PairPipeline(Compiled(recipe, "train", optimize, seed, True, plans))


def scene_of(pipeline: PairPipeline, scales: Scales, seed: int, dtype: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    made = {}
    for name in pipeline.targets:
        k = unit_of(scales)[name]
        image = rng.integers(0, 256, (24 * k + seed % k, 29 * k, 3), np.uint8)
        made[name] = image if dtype == "uint8" else image.astype(np.float32) / np.float32(255)
    return made


def outcome(pipeline: PairPipeline, arrays: Mapping[str, Any]) -> dict[str, Any] | str | None:
    try:
        return pipeline.at(3, 1)(**arrays)
    except DataError as error:  # a foolish recipe; both must blame the same step
        return error.step


def law(recipe: Recipe, seed: int, dtype: str) -> None:
    recipe = replace(recipe, output=Output(dtype=("uint8", "float32")[seed % 2], layout=("hwc", "chw")[seed // 2 % 2]))
    both = build(recipe, "none", seed), build(recipe, "exact", seed)
    arrays = scene_of(both[0], dict(recipe.scales), seed, dtype)
    before = {name: array.copy() for name, array in arrays.items()}
    plain, exact = (outcome(pipeline, arrays) for pipeline in both)
    for name, array in before.items():
        np.testing.assert_array_equal(array, arrays[name], err_msg=f"{name} was written to")
    if not isinstance(plain, dict):
        assert plain == exact
        return
    assert isinstance(exact, dict)
    assert plain["window"] == exact["window"]
    for name in recipe.scales:
        assert plain[name].dtype == exact[name].dtype
        np.testing.assert_array_equal(plain[name], exact[name], err_msg=name)
        assert not any(np.may_share_memory(exact[name], array) for array in arrays.values())
    if dtype == "uint8":
        read = outcome(both[1], {name: Picture(array) for name, array in arrays.items()})
        assert isinstance(read, dict)
        for name in recipe.scales:
            np.testing.assert_array_equal(read[name], exact[name], err_msg=f"{name}, which was not decoded")
    noops = {step.site for step in recipe.walk() if step.name == "NoOp"}
    drawn = [{site: str(params) for site, _, params in out["applied"] if site not in noops} for out in (plain, exact)]
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_every_bit(dtype: str) -> None:
    @DEAR
    @given(recipes(), st.integers(0, 2**32))
    def check(recipe: Recipe, seed: int) -> None:
        law(recipe, seed, dtype)

    check()


class TestPlantedFaults:
    def caught(self) -> bool:
        @PLANTED
        @given(recipes(), st.integers(0, 2**32))
        def check(recipe: Recipe, seed: int) -> None:
            law(recipe, seed, "uint8")

        try:
            check()
        except AssertionError:
            return True
        return False

    def test_a_table_before_a_window_that_pads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A rule of images that forgets whose pixels it moves is caught here too."""
        monkeypatch.setattr(
            "augrecipes.compiler.rewrite.rules.crop_first.action_of",
            lambda step: "window" if "Crop" in step.name else "lookup",
        )
        assert self.caught()


def parsed(steps: str) -> Recipe:
    return parse_text(f"{{version: 1, recipe: law, kind: pair, scales: {{lr: 1, hr: 2}}, steps: {steps}}}")


@EACH
def test_fires_and_leaves_alone(rule: Rule) -> None:
    for fires, steps in ((True, rule.fires), (False, rule.leaves)):
        before = parsed(steps).steps
        after, fired = apply_rules(before, FLOW, (rule,))
        assert {f.rule for f in fired} == ({rule.name} if fires else set())
        assert (after != before) == fires
        assert apply_rules(after, FLOW, (rule,)) == (after, ())


@pytest.mark.parametrize(
    ("steps", "planned"),
    [
        ("[D4, {RandomCrop: {height: 8, width: 8}}]", ["D4", "RandomCrop"]),
        ("[RandomGamma, NoOp, {RandomCrop: {height: 8, width: 8}}]", ["RandomCrop", "RandomGamma"]),
        ("[{InvertImg: {target: lr}}, {RandomCrop: {height: 8, width: 8}}]", ["RandomCrop", "InvertImg"]),
    ],
)
def test_plans(steps: str, planned: list[str]) -> None:
    made = parsed(steps)
    for optimize in ("exact", "fast"):
        assert [node.name for node in plan(made, made.steps, optimize, "uint8").steps] == planned  # type: ignore[arg-type, union-attr]
    assert plan(made, made.steps, "none", "uint8").steps == made.steps


def test_no_more_is_read_than_the_window() -> None:
    made = parsed("[D4, {RandomCrop: {height: 8, width: 6, at: lr}}, {GaussNoise: {target: lr, p: 1.0}}]")
    pipeline = made.compile(optimize="exact")
    assert pipeline.reads
    for index in range(8):
        scene_read = scene_of(pipeline, {"lr": 1, "hr": 2}, index, "uint8")
        pictures = {name: Picture(array) for name, array in scene_read.items()}
        pipeline.at(index)(**pictures)
        for name, k in (("lr", 1), ("hr", 2)):
            assert len(pictures[name].read) == 1
            y0, x0, y1, x1, _ = pictures[name].read[0]
            assert sorted((y1 - y0, x1 - x0)) == [6 * k, 8 * k]


def test_explain_says_what_stays_and_why() -> None:
    made = parsed("[{RandomCrop: {height: 8, width: 8}}, Blur, D4, {OneOf: {steps: [HorizontalFlip, VerticalFlip]}}]")
    told = explain(replace(made, eval=()), optimize="exact", arrival="uint8")
    assert not told.rules
    why = {row.site: row.why for row in told.stayed}
    assert why["RandomCrop#1"].startswith("cuts where something reads pixels next")
    assert why["OneOf#1/HorizontalFlip#1"].startswith("turns where something reads pixels next")
    assert why["Blur#1"].startswith("runs by itself")
