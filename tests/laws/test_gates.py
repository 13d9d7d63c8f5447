"""A step that misses a sample is not called: whether it does is known from its first draw, which nothing else sees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import DEAR, PLANTED
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import OTHERS, RGB_ONLY, Pool, assert_same, recipes, steps_for, targets
from test_exact_equals_none import build, outcome

from augrecipes.compat.albumentations import A, gate_of
from augrecipes.compiler.run.draws import CounterRandom, Draws
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def check(recipe: Recipe, seed: int) -> None:
    """Every sample is what it is where all steps are called."""
    sample = targets(recipe, seed, 3, "uint8")
    gated, called = build(recipe, "none", seed), build(recipe, "none", seed)
    called.gates = [None] * len(called.transforms)
    for index in range(4):
        a, b = outcome(gated, index, sample), outcome(called, index, sample)
        assert isinstance(a, dict) == isinstance(b, dict)
        if isinstance(a, dict):
            assert_same(a, b)
        else:
            assert a == b


@DEAR
@given(recipes(steps_for(3)), st.integers(0, 2**32))
def test_samples_are_those_of_steps_that_are_all_called(recipe: Recipe, seed: int) -> None:
    check(recipe, seed)


@pytest.mark.parametrize("fault", ["never opens", "another draw"])
def test_the_law_sees_gates_that_err(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = CounterRandom.first
    monkeypatch.setattr(CounterRandom, "first", lambda self: 1.0 if fault == "never opens" else first(self) * 7 % 1)
    pool: Pool = (*OTHERS, *RGB_ONLY)

    @PLANTED
    @given(recipes(pool, boxes=False), st.integers(0, 2**32))
    def law(recipe: Recipe, seed: int) -> None:
        check(recipe, seed)

    with pytest.raises(AssertionError):
        law()


def test_what_misses_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = parse_text(
        "version: 1\nrecipe: law\nsteps: [VerticalFlip, {OneOf: {p: 0.5, steps: [{Transpose: {p: 1.0}}]}}]\n"
    ).compile(optimize="none", save_applied_params=True)
    drawn, random = [], CounterRandom.random
    monkeypatch.setattr(CounterRandom, "random", lambda self: (drawn.append(self), random(self))[1])
    acted = sum(len(pipeline.at(k)(image=np.zeros((4, 4, 3), np.uint8))["applied"]) for k in range(100))
    assert len(drawn) == acted
    assert 60 < acted < 140


def test_steps_that_decide_otherwise_are_called() -> None:
    class Second(A.VerticalFlip):
        def should_apply(self, force_apply: bool = False) -> bool:
            return self.py_random.random() > self.p or force_apply

    class Asks(A.VerticalFlip):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return super().__call__(*args, **kwargs)

    assert gate_of(Second(p=0.5)) is None
    assert gate_of(Asks(p=0.5)) is None
    assert gate_of(A.VerticalFlip(p=0.5)) == 0.5
    assert gate_of(object()) is None


# Generators follow their sample when they are used, whatever is asked of them first.

USES: dict[str, Any] = {
    "random": lambda r: r.random(),
    "gauss": lambda r: r.gauss(0, 1),
    "bits": lambda r: r.getrandbits(70),
    "below": lambda r: r.randrange(10**6),
    "sample": lambda r: r.sample(range(99), 5),
    "state": lambda r: r.getstate(),
    "first": lambda r: r.first(),
    "restored": lambda r: (r.setstate((1, None, None)), r.random())[1],
}


def check_uses(history: list[tuple[int, str | None]], index: int, use: str) -> None:
    draws, fresh = Draws(3), Draws(3)
    _, used = draws.add("a")
    _, new = fresh.add("a")
    for before, earlier in history:
        draws.position(0, before)
        if earlier is not None:
            USES[earlier](used)
    draws.position(0, index)
    fresh.position(0, index)
    assert USES[use](used) == USES[use](new)
    assert used.random() == new.random()


HISTORIES = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([None, *USES])), max_size=4)


@given(HISTORIES, st.integers(0, 3), st.sampled_from(list(USES)))
def test_draws_follow_the_sample_whatever_is_asked_first(
    history: list[tuple[int, str | None]], index: int, use: str
) -> None:
    check_uses(history, index, use)


@pytest.mark.parametrize("name", ["gauss", "getstate", "_word", "random"])
def test_the_law_sees_a_method_that_does_not_look_where_the_sample_is(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = getattr(CounterRandom, name)

    def stale(self: CounterRandom, *args: Any) -> Any:
        self._at = self._sample.hash
        return honest(self, *args)

    monkeypatch.setattr(CounterRandom, name, stale)

    @PLANTED
    @given(HISTORIES, st.integers(0, 3), st.sampled_from(list(USES)))
    def law(history: list[tuple[int, str | None]], index: int, use: str) -> None:
        check_uses(history, index, use)

    with pytest.raises(AssertionError):
        law()
