"""What every rewrite rule owes, whatever it rewrites."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_pairs import Scales, unit_of
from random_pairs import recipes as recipes_pairs
from random_recipes import Picture, assert_same, build, outcome, recipes, steps_for, targets
from support.checks import DEAR, SEEDS, holds, planted, planted_faults

from augrecipes.compiler.kernels.counter_noise import Noise
from augrecipes.compiler.rewrite import ARRIVALS, Compiled, Plan, plan
from augrecipes.compiler.rewrite.nodes import Fused, Steps
from augrecipes.compiler.rewrite.rule import Rule, apply_rules
from augrecipes.compiler.rewrite.rules import EXACT, FAST, PAIR
from augrecipes.errors import DataError
from augrecipes.flow import Flow
from augrecipes.kinds.image.pipeline import ImagePipeline as Pipeline
from augrecipes.kinds.pair.pipeline import PairPipeline
from augrecipes.ops.records import op_record
from augrecipes.recipe.model import Output, Recipe
from augrecipes.recipe.parse import parse_text

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # some classes warn on every call

ALL = tuple({rule.name: rule for rule in (*EXACT, *FAST)}.values())
EACH = pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.name)
FLOW = Flow("uint8", encoded=True)


def parsed(steps: str) -> Recipe:
    return parse_text(f"version: 1\nrecipe: law\nsteps: {steps}\n")


def sources(nodes: Steps) -> list[str]:
    """The labels of the steps that draw, fused ones opened."""
    found: list[str] = []
    for node in nodes:
        found += [] if isinstance(node, Fused) else [node.site]
        found += sources(node.steps)
    return found


@EACH
def test_fires_and_leaves_alone(rule: Rule) -> None:
    before = tuple(other for other in FAST if rule.name == "reduce_first" and other.name == "join_warps")
    fires_and_leaves_alone(
        rule, *(apply_rules(parsed(text).steps, FLOW, before)[0] for text in (rule.fires, rule.leaves))
    )


def fires_and_leaves_alone(rule: Rule, fires: Steps, leaves: Steps) -> None:
    after, fired = apply_rules(fires, FLOW, (rule,))
    assert {f.rule for f in fired} == {rule.name}
    assert after != fires
    assert apply_rules(after, FLOW, (rule,)) == (after, ())
    assert apply_rules(leaves, FLOW, (rule,)) == (leaves, ())


@pytest.mark.parametrize("rule", [rule for rule in ALL if rule.contract == "EXACT"], ids=lambda rule: rule.name)
def test_keeps_the_bits_of_its_own_example(rule: Rule) -> None:
    recipe = parsed(rule.fires)
    plan = Plan(*apply_rules(recipe.steps, FLOW, (rule,)))
    alone = Pipeline(Compiled(recipe, "train", "exact", 0, False, dict.fromkeys(ARRIVALS, plan)))
    plain = build(recipe, "none")
    for index in range(20):
        sample = targets(recipe, index, 3, "uint8")
        assert_same(plain.at(index)(**sample), alone.at(index)(**sample))


@DEAR
@given(recipes(steps_for(3)), st.sampled_from(ALL), st.sampled_from(["uint8", "float32", None]), st.booleans())
def test_is_idempotent_and_loses_no_step(recipe: Recipe, rule: Rule, dtype: str | None, boxes: bool) -> None:
    flow = Flow(dtype, boxes=boxes, encoded=dtype == "uint8")  # type: ignore[arg-type]
    once, _ = apply_rules(recipe.steps, flow, (rule,))
    twice, fired = apply_rules(once, flow, (rule,))
    assert twice == once
    assert not fired
    kept, were = sources(once), sources(recipe.steps)
    if rule.opens:
        always = {s.site for s in recipe.walk() if s.is_group}
        kept, were = [s for s in kept if s not in always], [s for s in were if s not in always]
    if rule.name != "drop_noops":
        assert sorted(kept) == sorted(were)
    assert len(set(kept)) == len(kept)


@DEAR
@given(recipes(steps_for(3)), SEEDS, st.sampled_from(["exact", "fast"]))
def test_draws_are_those_of_none(recipe: Recipe, seed: int, level: str) -> None:
    """The parameters that acted, label by label: not only the same pixels, which could be luck.

    Some steps work out a parameter from the image; `fast` may have changed that by a few levels, and those that
    another image changes are left out.
    """
    made = [
        applied(recipe, optimize, seed, picture_of) for optimize, picture_of in (("none", 0), (level, 0), ("none", 1))
    ]
    none, optimised, other = made
    if isinstance(none, str) or isinstance(optimised, str):
        assert none == optimised
        return
    noops = {s.site for s in recipe.walk() if s.name == "NoOp"}
    assert none.keys() - noops == optimised.keys() - noops
    for site in optimised:
        assert none[site][0] == optimised[site][0]
        if level == "exact" or (isinstance(other, dict) and site in other and same(none[site][1], other[site][1])):
            assert none[site][1].keys() == optimised[site][1].keys()
            # test_own_noise has those of noise, test_coarse_fields those of fields.
            fields = level == "fast" and bool(op_record(none[site][0]).own_noise)
            drawn = {
                k: v
                for k, v in optimised[site][1].items()
                if not (isinstance(v, Noise) or (fields and isinstance(v, np.ndarray)))
            }
            np.testing.assert_equal(rounded({k: none[site][1][k] for k in drawn}), rounded(drawn))


def applied(recipe: Recipe, optimize: Any, seed: int, picture_of: int) -> dict[str, tuple[str, Any]] | str:
    """What each step drew, by its label; or the error that names a step."""
    pipeline = build(recipe, optimize, seed, applied=True)
    sample = targets(recipe, seed + 99 * picture_of, 3, "uint8")
    try:
        return {site: (name, params) for site, name, params in pipeline.at(1)(**sample)["applied"]}
    except DataError as error:  # both must fail alike; the message names the step
        return str(error)


def rounded(params: dict[str, Any]) -> dict[str, Any]:
    """Matrices without the last bits of their arithmetic, which `fast` does in another order."""
    return {k: np.round(v, 9) if getattr(v, "shape", ()) == (3, 3) else v for k, v in params.items()}


def same(a: Any, b: Any) -> bool:
    try:
        np.testing.assert_equal(a, b)
    except AssertionError:
        return False
    return True


# Rules of pairs: the draws of `none`, the same windows, and every bit.


def scene_of(pipeline: PairPipeline, scales: Scales, seed: int, dtype: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    made = {}
    for name in pipeline.targets:
        k = unit_of(scales)[name]
        image = rng.integers(0, 256, (24 * k + seed % k, 29 * k, 3), np.uint8)
        made[name] = image if dtype == "uint8" else image.astype(np.float32) / np.float32(255)
    return made


def law(recipe: Recipe, seed: int, dtype: str) -> None:
    recipe = replace(recipe, output=Output(dtype=("uint8", "float32")[seed % 2], layout=("hwc", "chw")[seed // 2 % 2]))
    both = build(recipe, "none", seed, applied=True), build(recipe, "exact", seed, applied=True)
    arrays = scene_of(both[0], dict(recipe.scales), seed, dtype)
    before = {name: array.copy() for name, array in arrays.items()}
    plain, exact = (outcome(pipeline, 3, arrays, 1) for pipeline in both)
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
        read = outcome(both[1], 3, {name: Picture(array) for name, array in arrays.items()}, 1)
        assert isinstance(read, dict)
        for name in recipe.scales:
            np.testing.assert_array_equal(read[name], exact[name], err_msg=f"{name}, which was not decoded")
    noops = {step.site for step in recipe.walk() if step.name == "NoOp"}
    drawn = [{site: str(params) for site, _, params in out["applied"] if site not in noops} for out in (plain, exact)]
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_every_bit(dtype: str) -> None:
    holds(law, recipes_pairs(), SEEDS, st.just(dtype))


RULE = "augrecipes.compiler.rewrite.rules.exact.action_of"
test_planted_faults_are_caught = planted_faults(
    {
        "a flip of one target that is left out": (
            planted(law, recipes_pairs(), SEEDS, st.just("uint8")),
            (RULE, lambda step: "identity" if "Flip" in step.name else "opaque"),
        )
    },
)


def parsed_pairs(steps: str) -> Recipe:
    return parse_text(f"{{version: 1, recipe: law, kind: pair, scales: {{lr: 1, hr: 2}}, steps: {steps}}}")


@pytest.mark.parametrize("rule", PAIR, ids=lambda rule: rule.name)
def test_fires_and_leaves_alone_in_pairs(rule: Rule) -> None:
    fires_and_leaves_alone(rule, *(parsed_pairs(text).steps for text in (rule.fires, rule.leaves)))


@pytest.mark.parametrize(
    ("steps", "planned"),
    [
        ("[D4, {RandomCrop: {height: 8, width: 8}}]", ["D4", "RandomCrop"]),
        ("[RandomGamma, NoOp, {RandomCrop: {height: 8, width: 8}}]", ["RandomGamma", "RandomCrop"]),
    ],
)
def test_plans(steps: str, planned: list[str]) -> None:
    made = parsed_pairs(steps)
    for optimize in ("exact", "fast"):
        assert [node.name for node in plan(made, made.steps, optimize, "uint8").steps] == planned  # type: ignore[arg-type, union-attr]
    assert plan(made, made.steps, "none", "uint8").steps == made.steps


def test_no_more_is_read_than_the_window() -> None:
    made = parsed_pairs("[D4, {RandomCrop: {height: 8, width: 6, at: lr}}, {GaussNoise: {target: lr, p: 1.0}}]")
    pipeline = made.compile(optimize="exact")
    assert pipeline.reads
    for index in range(8):
        scene_read = scene_of(pipeline, {"lr": 1, "hr": 2}, index, "uint8")
        images = {name: Picture(array) for name, array in scene_read.items()}
        pipeline.at(index)(**images)
        for name, k in (("lr", 1), ("hr", 2)):
            assert len(images[name].read) == 1
            y0, x0, y1, x1, _ = images[name].read[0]
            assert sorted((y1 - y0, x1 - x0)) == [6 * k, 8 * k]


# Steps of groups that always act stand among those around them.


def test_what_stood_in_groups_is_joined_with_what_stands_beside_them() -> None:
    text = """
version: 1
recipe: law
steps:
  - HorizontalFlip
  - Sequential: {p: 1.0, steps: [{Sequential: {steps: [Rotate]}}, {RandomCrop: {height: 9, width: 9}}]}
"""
    (only,) = build(parse_text(text), "fast").compiled.plans["uint8"].steps
    assert isinstance(only, Fused)
    assert [step.name for step in only.steps] == ["HorizontalFlip", "Rotate", "RandomCrop"]


@pytest.mark.parametrize(
    "group", ["{p: 0.9, steps: [VerticalFlip]}", "{p: 1.0, share: bag, steps: [VerticalFlip]}"], ids=["p", "share"]
)
def test_what_may_miss_or_shares_its_draws_stays_a_group(group: str) -> None:
    kind = "kind: bag\n" if "share" in group else ""
    recipe = parse_text(f"version: 1\nrecipe: law\n{kind}steps: [{{Sequential: {group}}}]\n")
    assert [step.site for step in build(recipe, "exact").compiled.plans["uint8"].steps] == ["Sequential#1"]
