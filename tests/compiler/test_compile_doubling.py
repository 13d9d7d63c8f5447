"""Twice the recipe is twice the work of compiling it; counted, not timed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "laws"))
from doubling import growth

from augrecipes.compiler import compile as compiler
from augrecipes.compiler.rewrite import rule
from augrecipes.compiler.rewrite.contracts import before
from augrecipes.recipe.model import Optimize
from augrecipes.recipe.parse import parse_text

MOST = 2.4
SHAPES: dict[str, str] = {
    "flips": "HorizontalFlip",
    "tables": "RandomGamma, Blur",
    "colours": "ColorJitter, Blur",
    "noise": "GaussNoise, Rotate, CLAHE",
    "groups": "{OneOf: {steps: [Blur, RandomGamma]}}, {Sequential: {steps: [Blur, NoOp]}}",
    "a merge in each group": "{Sequential: {steps: [HorizontalFlip, VerticalFlip]}}, Blur",
}


def compiling(steps: str, optimize: Optimize) -> Callable[[int], Callable[[], object]]:
    def make(n: int) -> Callable[[], object]:
        recipe = parse_text(f"version: 1\nrecipe: t\nsteps: [{', '.join([steps] * n)}]\neval: []")
        return lambda: recipe.compile(optimize=optimize)

    make(2)()
    return make


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
@pytest.mark.parametrize("steps", SHAPES.values(), ids=SHAPES)
def test_twice_the_recipe_is_twice_the_work(steps: str, optimize: Optimize) -> None:
    assert growth(compiling(steps, optimize), 10) < MOST


def test_planted_faults_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows each step, read for each step; and the recipe hashed for every warning."""
    monkeypatch.setattr(
        rule, "before_each", lambda steps, flow: [before(steps[k + 1 :], flow) for k in range(len(steps))]
    )
    assert growth(compiling(SHAPES["tables"], "exact"), 16) > MOST


def test_a_recipe_with_a_thousand_warnings_is_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = parse_text(f"version: 1\nrecipe: t\nsteps: [{'Blur, ' * 50}]\neval: []")
    hashed: list[str] = []
    digest = type(recipe).digest
    monkeypatch.setattr(type(recipe), "digest", property(lambda self: hashed.append("") or digest.fget(self)))
    compiler.check(recipe)
    assert len(hashed) == 1
