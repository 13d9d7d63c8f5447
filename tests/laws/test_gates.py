"""Steps are prepared: gates open by a first draw that nothing else sees, and groups are lists of functions.

Every sample is what it is where albumentations calls every step itself.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from examples import DEAR, PLANTED
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import MOVES, OTHERS, RGB_ONLY, Pool, assert_same, recipes, steps_for, targets
from test_exact_equals_none import build, outcome

from augrecipes.compat import steps as run_by
from augrecipes.compat.albumentations import A
from augrecipes.compat.steps import gate_of, is_plain
from augrecipes.compiler.kernels import places, quick_apply
from augrecipes.compiler.run import prepared
from augrecipes.compiler.run.draws import CounterRandom, Draws
from augrecipes.compiler.run.prepared import as_it_is
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # some classes warn on every call


def check(recipe: Recipe, seed: int, channels: int = 3, dtype: str = "uint8") -> None:
    """Every sample, and what each step drew for it, is what it is where all steps are called."""
    sample = targets(recipe, seed, channels, dtype)
    ready, called = build(recipe, "none", seed), build(recipe, "none", seed)
    called.prepared = [as_it_is(step, called) for step in called.transforms]
    for index in range(4):
        for pipeline in (ready, called):
            for step, _ in pipeline._acting:
                step.params = {}
        a, b = outcome(ready, index, sample), outcome(called, index, sample)
        assert isinstance(a, dict) == isinstance(b, dict)
        if isinstance(a, dict):
            assert_same(a, b)
            for (one, site), (other, _) in zip(ready._acting, called._acting, strict=True):
                assert repr(one.params) == repr(other.params), site
        else:
            assert a == b


@pytest.mark.parametrize(("channels", "dtype"), [(3, "uint8"), (1, "uint8"), (3, "float32")])
def test_samples_are_those_of_steps_that_are_all_called(channels: int, dtype: str) -> None:
    @DEAR
    @given(recipes(steps_for(channels)), st.integers(0, 2**32))
    def law(recipe: Recipe, seed: int) -> None:
        check(recipe, seed, channels, dtype)

    law()


DRAWING: Pool = (*OTHERS, *RGB_ONLY)


def _never_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CounterRandom, "first", lambda self: 1.0)


def _another_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    first = CounterRandom.first
    monkeypatch.setattr(CounterRandom, "first", lambda self: first(self) * 7 % 1)


def _gate_that_takes_no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    true = prepared._transform
    plainly = prepared.Executors(lambda step, takes: true(step, takes=False))
    monkeypatch.setattr(prepared, "_PLAINLY", plainly)


def _gate_that_is_asked_where_one_of_has_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    true = prepared._act

    def act(step: Any, leaf: Any, *, gated: bool = False, forced: bool = False) -> Any:
        return (lambda data: step(**data)) if forced else true(step, leaf, gated=gated)

    monkeypatch.setattr(prepared, "_act", act)


def _group_that_runs_a_step_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "group_of", lambda step: run_by._GROUPS.get(type(step)))


def _draw_without_what_is_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_by, "_FIXED", ())


def _boxes_that_are_not_filtered_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    true = prepared._filter
    monkeypatch.setattr(prepared, "_filter", lambda group: true(group) if group.main_compose else None)
    monkeypatch.setattr(A.BaseCompose, "main_compose", False)
    monkeypatch.setattr(A.Compose, "main_compose", True)


@pytest.mark.parametrize(
    "fault",
    [
        _never_opens,
        _another_draw,
        _gate_that_takes_no_draw,
        _gate_that_is_asked_where_one_of_has_chosen,
        _group_that_runs_a_step_twice,
        _draw_without_what_is_fixed,
        _boxes_that_are_not_filtered_inside,
    ],
)
def test_the_law_sees_steps_that_are_prepared_wrongly(fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fault(monkeypatch)
    pool: Pool = MOVES if fault in (_group_that_runs_a_step_twice, _boxes_that_are_not_filtered_inside) else DRAWING

    @PLANTED
    @given(recipes(pool), st.integers(0, 2**32))
    def law(recipe: Recipe, seed: int) -> None:
        check(recipe, seed)

    with pytest.raises((AssertionError, KeyError, TypeError)):
        law()


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


def test_only_what_runs_in_the_usual_way_is_prepared() -> None:
    class Own(A.VerticalFlip):
        """Of a program's own, which may look at the whole sample."""

    assert is_plain(A.VerticalFlip())
    assert not is_plain(Own())
    assert not is_plain(A.MaskDropout())
    assert not is_plain(A.OneOf([A.VerticalFlip()]))


# The place that a window is drawn around is that of albumentations, and so is whatever is drawn after it.


DTYPES = st.sampled_from([np.uint8, np.uint16, np.int16, np.float32])


def check_places(mask: np.ndarray, seed: int, **args: Any) -> None:
    own, quick = (A.CropNonEmptyMaskIfExists(3, 5, p=1, **args) for _ in range(2))
    quick_apply.attach([quick])
    seen = []
    for step in (own, quick):
        step.py_random = random.Random(seed)
        data = {"image": mask, "mask": mask}
        params = step.update_transform_params({}, data)
        drawn = step.get_params_dependent_on_data(params, data)["crop_coords"]
        seen.append((drawn, [type(number) for number in drawn], step.py_random.random()))
    assert seen[0] == seen[1]


@given(
    size=st.tuples(st.integers(3, 70), st.integers(5, 70)),
    share=st.sampled_from([0.0, 0.001, 0.1, 0.9, 1.0]),
    dtype=DTYPES,
    channels=st.sampled_from([0, 0, 0, 2]),
    args=st.sampled_from([{}, {}, {"ignore_values": [1]}, {"ignore_channels": [0]}]),
    seed=st.integers(0, 10**6),
)
def test_windows_are_drawn_around_the_same_places(
    size: tuple[int, int], share: float, dtype: Any, channels: int, args: dict[str, Any], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    shape = (*size, channels) if channels else size
    mask = (rng.random(shape) < share) * rng.integers(-1 if dtype in (np.int16, np.float32) else 1, 3, shape)
    if args.get("ignore_channels") and not channels:
        args = {}
    check_places(mask.astype(dtype), seed, **args)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 99))
def test_places_are_those_of_numpy(height: int, width: int, seed: int) -> None:
    mask = np.random.default_rng(seed).integers(0, 2, (height, width), np.uint8)
    expected, found = np.argwhere(mask), places.places(mask)
    assert len(found) == len(expected)
    for number, place in enumerate(expected):
        assert found[number].dtype == place.dtype
        np.testing.assert_array_equal(found[number], place)


def test_the_law_sees_a_place_that_is_one_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places.np, "flatnonzero", lambda row: np.nonzero(row)[0][::-1])
    with pytest.raises(AssertionError):
        for seed in range(9):
            check_places(np.random.default_rng(seed).integers(0, 2, (20, 30), np.uint8), seed)
