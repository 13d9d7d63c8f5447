"""Twice the recipe is twice the work of compiling it; counted, not timed."""

from collections.abc import Callable

import pytest
from support.checks import growth

from augrecipes.compiler import compile as compiler
from augrecipes.compiler.explain import explain
from augrecipes.compiler.rewrite import Plan, plan
from augrecipes.compiler.rewrite import rule as applying
from augrecipes.compiler.rewrite.nodes import Steps
from augrecipes.compiler.rewrite.rule import Contract, flow_before, obstacle
from augrecipes.flow import Flow
from augrecipes.ops import registry
from augrecipes.recipe.model import Optimize, Recipe
from augrecipes.recipe.parse import parse_text

Work = Callable[[Recipe, Optimize], object]
MOST = 2.4
SHAPES: dict[str, str] = {
    "flips": "HorizontalFlip",
    "tables": "RandomGamma, Blur",
    "colours": "ColorJitter, Blur",
    "noise": "GaussNoise, Rotate, CLAHE",
    "groups": "{OneOf: {steps: [Blur, RandomGamma]}}, {Sequential: {steps: [Blur, NoOp]}}",
    "a merge in each group": "{Sequential: {p: 0.5, steps: [Rotate, Affine]}}, Blur",
}


# Each has as many firings of its rule as it has steps of one name, far apart or as one.
FIRINGS: dict[str, str] = {
    "join_warps": "Rotate, {RandomCrop: {height: 9, width: 9}}, CLAHE",
    "join_warps, all one": "Rotate, {RandomCrop: {height: 9, width: 9}}",
    "join_colours": "ToSepia, ToGray, Blur",
    "join_colours, all one": "ColorJitter",
}


def recipe_of(steps: str, n: int) -> Recipe:
    kind = "kind: pair\nscales: {a: 1, b: 1}\n" if "target" in steps else ""
    return parse_text(f"version: 1\nrecipe: t\n{kind}steps: [{', '.join([steps] * n)}]\neval: []")


def planning(steps: str, optimize: Optimize, work: Work) -> Callable[[int], Callable[[], object]]:
    def make(n: int) -> Callable[[], object]:
        recipe = recipe_of(steps, n)

        def run() -> None:
            registry._under.cache_clear()  # what another recipe has asked is no work saved
            work(recipe, optimize)

        return run

    make(2)()
    return make


def rewrite(recipe: Recipe, optimize: Optimize) -> Plan:
    return plan(recipe, recipe.steps, optimize, "uint8")


def compiled(recipe: Recipe, optimize: Optimize) -> object:
    return recipe.compile(optimize=optimize)


@pytest.mark.parametrize(
    ("steps", "optimize"), [(steps, ("exact", "fast")[k % 2]) for k, steps in enumerate(SHAPES.values())], ids=SHAPES
)
def test_twice_the_recipe_is_twice_the_work(steps: str, optimize: Optimize) -> None:
    assert growth(planning(steps, optimize, compiled), 5) < MOST


@pytest.mark.parametrize("steps", FIRINGS.values(), ids=FIRINGS)
@pytest.mark.parametrize(
    ("optimize", "work"),
    [("exact", rewrite), ("fast", rewrite), ("fast", lambda recipe, optimize: explain(recipe, optimize=optimize))],
)
def test_twice_the_firings_are_twice_the_work(steps: str, optimize: Optimize, work: Work) -> None:
    assert growth(planning(steps, optimize, work), 5) < MOST


def test_each_family_fires_its_rule() -> None:
    for name, steps in FIRINGS.items():
        recipe = recipe_of(steps, 3)
        fired = {firing.rule for level in ("exact", "fast") for firing in rewrite(recipe, level).fired}
        assert name.partition(",")[0] in fired


def looking_behind_each(steps: Steps, flow: Flow, contract: Contract) -> list[str | None]:
    return [obstacle(steps[place:], flow, contract) for place in range(len(steps) + 1)]


@pytest.mark.parametrize("rule", ["join_warps", "join_colours"])
def test_planted_rules_are_found(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    monkeypatch.setattr("augrecipes.compiler.rewrite.rules.obstacles_from", looking_behind_each)
    assert growth(planning(FIRINGS[rule], "fast", rewrite), 12) > MOST


def test_no_number_of_merges_promises_more_than_all_levels() -> None:
    recipe = recipe_of("PlanckianJitter, ToSepia, Blur", 900)
    assert sum(firing.levels for firing in rewrite(recipe, "fast").fired) <= 255


def test_planted_faults_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows each step, read for each step; and the recipe hashed for every warning."""
    monkeypatch.setattr(
        applying,
        "flows_before_each",
        lambda steps, flow: [flow_before(steps[k + 1 :], flow) for k in range(len(steps))],
    )
    assert growth(planning(SHAPES["tables"], "exact", compiled), 16) > MOST


def test_a_recipe_with_a_thousand_warnings_is_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = parse_text(
        f"version: 1\nrecipe: t\nsteps: [{'Rotate, RandomCrop: {height: 8, width: 8}, ' * 25}]\neval: []"
    )
    hashed: list[str] = []
    digest = vars(type(recipe))["digest"]
    monkeypatch.setattr(type(recipe), "digest", property(lambda self: hashed.append("") or digest.fget(self)))
    compiler.check(recipe)
    assert len(hashed) == 1
