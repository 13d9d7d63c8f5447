"""What every rewrite rule owes, whatever it rewrites."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import DEAR
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import assert_same, recipes, steps_for, targets
from test_exact_equals_none import build

from augrecipes.compiler.kernels.own_noise import Noise
from augrecipes.compiler.rewrite import ARRIVALS, Compiled, Plan
from augrecipes.compiler.rewrite.nodes import Fused, Nodes
from augrecipes.compiler.rewrite.rule import Rule, apply_rules
from augrecipes.compiler.rewrite.rules import EXACT, FAST, GIVEN_UP
from augrecipes.errors import DataError
from augrecipes.flow import Flow
from augrecipes.kinds.image.pipeline import ImagePipeline as Pipeline
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text

# Grey images make some colour steps warn on every call.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


ALL = tuple({rule.name: rule for rule in (*EXACT, *FAST)}.values())
EACH = pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.name)
FLOW = Flow("uint8", encoded=True)


def parsed(steps: str) -> Recipe:
    return parse_text(f"version: 1\nrecipe: law\nsteps: {steps}\n")


def sources(nodes: Nodes) -> list[str]:
    """The labels of the steps that draw, fused ones opened."""
    found: list[str] = []
    for node in nodes:
        found += [] if isinstance(node, Fused) else [node.site]
        found += sources(node.steps)
    return found


@EACH
def test_fires_and_leaves_alone(rule: Rule) -> None:
    before = tuple(other for other in FAST if rule.name == "reduce_first" and other.name == "join_warps")
    steps, _ = apply_rules(parsed(rule.fires).steps, FLOW, before)
    after, fired = apply_rules(steps, FLOW, (rule,))
    assert {f.rule for f in fired} == {rule.name}
    assert after != steps
    steps, _ = apply_rules(parsed(rule.leaves).steps, FLOW, before)
    assert apply_rules(steps, FLOW, (rule,)) == (steps, ())


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
@given(recipes(steps_for(3)), st.integers(0, 2**32), st.sampled_from(["exact", "fast"]))
def test_draws_are_those_of_none(recipe: Recipe, seed: int, level: str) -> None:
    """The parameters that acted, label by label: not only the same pixels, which could be luck.

    Some steps work out a parameter from the picture; `fast` may have changed that by a few levels, and those that
    another picture changes are left out.
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
            drawn = {
                k: v for k, v in optimised[site][1].items() if not isinstance(v, Noise)
            }  # test_own_noise has those
            np.testing.assert_equal(rounded({k: none[site][1][k] for k in drawn}), rounded(drawn))


def applied(recipe: Recipe, optimize: Any, seed: int, picture_of: int) -> dict[str, tuple[str, Any]] | str:
    """What each step drew, by its label; or the error that names a step."""
    compiled = build(recipe, optimize, seed).compiled
    pipeline = Pipeline(Compiled(recipe, "train", compiled.optimize, seed, True, compiled.plans))
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


@pytest.mark.parametrize("name", sorted(GIVEN_UP))
def test_a_name_that_is_no_rule_any_more_is_said_once(name: str, caplog: pytest.LogCaptureFixture) -> None:
    text = f"{{version: 1, recipe: gone, without_rules: [{name}], steps: [HorizontalFlip], eval: []}}"
    for _ in range(2):
        parse_text(text, file=f"{name}.yaml").compile()
    said = f"{name}.yaml: without_rules: {name} is no rule any more, and nothing is left out"
    assert [record.message for record in caplog.records].count(said) == 1
