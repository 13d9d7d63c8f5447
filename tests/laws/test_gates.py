"""Steps are called: gates open by a first draw that nothing else sees, and groups are lists of functions.

Every sample is what it is where albumentations calls every step itself.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from random_recipes import OTHERS, RGB_ONLY, Pool, assert_same, build, outcome, recipes, steps_for, targets
from support.checks import FAILURES, SEEDS, holds, planted, planted_faults

from augrecipes.compat import albumentations as run_by
from augrecipes.compat.albumentations import A, gate_of, is_plain
from augrecipes.compiler.run import step_calls
from augrecipes.compiler.run.draws import CounterRandom, Draws
from augrecipes.compiler.run.step_calls import call_plain
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # some classes warn on every call


def check(recipe: Recipe, seed: int, channels: int = 3, dtype: str = "uint8") -> None:
    """Every sample, and what each step drew for it, is what it is where all steps are called."""
    sample = targets(recipe, seed, channels, dtype)
    ready, called = build(recipe, "none", seed), build(recipe, "none", seed)
    called.step_calls = [call_plain(step, called) for step in called.transforms]
    for index in range(4):
        for pipeline in (ready, called):
            for step, _, _ in pipeline.sites:
                step.params = {}
        a, b = outcome(ready, index, sample), outcome(called, index, sample)
        assert_same(a, b)
        for (one, site, _), (other, _, _) in zip(ready.sites, called.sites, strict=True):
            assert repr(one.params) == repr(other.params) or not isinstance(a, dict), site


@pytest.mark.parametrize(("channels", "dtype"), [(3, "uint8"), (1, "uint8"), (3, "float32")])
def test_samples_are_those_of_steps_that_are_all_called(channels: int, dtype: str) -> None:
    holds(check, recipes(steps_for(channels)), SEEDS, st.just(channels), st.just(dtype))


DRAWING: Pool = (*OTHERS, *RGB_ONLY)


first, transform, act, keep = CounterRandom.first, step_calls._transform, step_calls._act, step_calls._filter


def _asked_where_one_of_has_chosen(step: Any, leaf: Any, *, gated: bool = False, forced: bool = False) -> Any:
    return (lambda data: step(**data)) if forced else act(step, leaf, gated=gated)


OF_GROUPS = parse_text("""
version: 1
recipe: law
inputs: {boxes: {format: pascal_voc, min_visibility: 0.3}, keypoints: {format: xy}}
steps:
  - SomeOf: {n: 3, replace: true, steps: [HorizontalFlip, Transpose, RandomRotate90]}
  - Sequential: {p: 1.0, steps: [RandomCrop: {height: 20, width: 20}, Pad: {padding: 20}]}
""")
OF_DRAWS, OF_MOVES = (planted(check, of, SEEDS) for of in (recipes(DRAWING), st.just(OF_GROUPS)))
test_planted_faults_are_caught = planted_faults(
    {
        "a gate never opens": (OF_DRAWS, (CounterRandom, "first", lambda self: 1.0)),
        "a gate has another draw": (OF_DRAWS, (CounterRandom, "first", lambda self: first(self) * 7 % 1)),
        "a gate takes no draw": (
            OF_DRAWS,
            (step_calls, "_PLAINLY", step_calls.Executors(lambda step, takes: transform(step, takes=False))),
        ),
        "a gate is asked where OneOf has chosen": (OF_DRAWS, (step_calls, "_act", _asked_where_one_of_has_chosen)),
        "a group runs a step twice": (OF_MOVES, (step_calls, "group_of", lambda step: run_by._GROUPS.get(type(step)))),
        "a draw without what is fixed": (OF_DRAWS, (run_by, "_FIXED", ())),
        "boxes are not filtered inside": (
            OF_MOVES,
            (step_calls, "_filter", lambda group: keep(group) if group.main_compose else None),
            (A.BaseCompose, "main_compose", False),
            (A.Compose, "main_compose", True),
        ),
    },
    (*FAILURES, KeyError, TypeError),
)


def test_what_misses_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, random = [], CounterRandom.random
    monkeypatch.setattr(CounterRandom, "random", lambda self: (drawn.append(self), random(self))[1])
    text = "version: 1\nrecipe: law\nsteps: [VerticalFlip, {Sequential: {p: 1.0, steps: [HorizontalFlip]}}]\n"
    pipeline = parse_text(text).compile(optimize="none", save_applied_params=True)
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


def test_draws_follow_the_sample_whatever_is_asked_first() -> None:
    holds(check_uses, HISTORIES, st.integers(0, 3), st.sampled_from(list(USES)), tried=settings.default)


@pytest.mark.parametrize("name", ["gauss", "getstate", "_word", "random"])
def test_a_method_that_does_not_look_where_the_sample_is_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = getattr(CounterRandom, name)

    def stale(self: CounterRandom, *args: Any) -> Any:
        self._at = self._sample.hash
        return own(self, *args)

    monkeypatch.setattr(CounterRandom, name, stale)
    with pytest.raises(FAILURES):
        planted(check_uses, HISTORIES, st.integers(0, 3), st.sampled_from(list(USES)))(None)


def test_only_what_runs_in_the_usual_way_is_prepared() -> None:
    class Own(A.VerticalFlip):
        """Of a program's own, which may look at the whole sample."""

    assert is_plain(A.VerticalFlip())
    assert not is_plain(Own())
    assert not is_plain(A.MaskDropout())
    assert not is_plain(A.OneOf([A.VerticalFlip()]))
