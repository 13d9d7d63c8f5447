"""What every rewrite rule owes, whatever it rewrites."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_pairs import Scales, unit_of
from random_pairs import recipes as recipes_pairs
from random_recipes import Picture, build, outcome, recipes, steps_for, targets
from support.checks import DEAR, SEEDS, holds, planted, planted_faults

from augrecipes.compiler.kernels.counter_noise import Noise
from augrecipes.compiler.rewrite.nodes import Fused, Steps
from augrecipes.compiler.rewrite.rule import Rule, apply_rules
from augrecipes.compiler.rewrite.rules import FAST
from augrecipes.errors import DataError
from augrecipes.flow import Flow
from augrecipes.kinds.pair.pipeline import PairPipeline
from augrecipes.kinds.pair.programs import PairRun
from augrecipes.ops.records import op_record
from augrecipes.recipe.model import Output, Recipe
from augrecipes.recipe.parse import parse_text

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # some classes warn on every call

EACH = pytest.mark.parametrize("rule", FAST, ids=lambda rule: rule.name)
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
    fires, leaves = (parsed(text).steps for text in (rule.fires, rule.leaves))
    after, fired = apply_rules(fires, FLOW, (rule,))
    assert {f.rule for f in fired} == {rule.name}
    assert after != fires
    assert apply_rules(after, FLOW, (rule,)) == (after, ())
    assert apply_rules(leaves, FLOW, (rule,)) == (leaves, ())


@DEAR
@given(recipes(steps_for(3)), st.sampled_from(FAST), st.sampled_from(["uint8", "float32", None]), st.booleans())
def test_is_idempotent_and_loses_no_step(recipe: Recipe, rule: Rule, dtype: str | None, boxes: bool) -> None:
    flow = Flow(dtype, boxes=boxes, encoded=dtype == "uint8")  # type: ignore[arg-type]
    once, _ = apply_rules(recipe.steps, flow, (rule,))
    twice, fired = apply_rules(once, flow, (rule,))
    assert twice == once
    assert not fired
    kept, were = sources(once), sources(recipe.steps)
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
    assert none.keys() == optimised.keys()
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


def askew(self: PairRun, allocate: Any) -> dict[str, Any]:
    return {name: np.roll(image, 1, axis=1) for name, image in finish(self, allocate).items()}


finish = PairRun.finish
test_planted_faults_are_caught = planted_faults(
    {"a pixel beside its place": (planted(law, recipes_pairs(), SEEDS, st.just("uint8")), (PairRun, "finish", askew))},
)


def parsed_pairs(steps: str) -> Recipe:
    return parse_text(f"{{version: 1, recipe: law, kind: pair, scales: {{lr: 1, hr: 2}}, steps: {steps}}}")


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
