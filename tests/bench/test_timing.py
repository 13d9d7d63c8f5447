"""Turns, medians and intervals, on made-up times: what is known can be held against what is found."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from moved_clock import MovedClock

from augrecipes.bench.timing import FEWEST_ROUNDS, Ratio, Work, in_turns, ratio, size_for, turn_order
from augrecipes.bench.verdicts import differs, verdict
from augrecipes.compiler.run.clock import Clock


def noisy(draw: np.random.Generator, rounds: int, stalls: float = 0.1) -> np.ndarray:
    """Six batches that take 1 to 6, each 10% more or less, and now and then five times as long."""
    times = np.arange(1, 7) * draw.lognormal(0, 0.1, (rounds, 6))
    return np.asarray(np.where(draw.random(times.shape) < stalls, 5 * times, times))


def test_two_runs_of_the_same_give_no_verdict() -> None:
    draw = np.random.default_rng(0)
    told = [differs(ratio(noisy(draw, 15), noisy(draw, 15))) for _ in range(100)]
    assert sum(told) <= 1


def test_a_difference_is_found_and_its_size_is_in_the_interval() -> None:
    draw = np.random.default_rng(1)
    found = [ratio(1.5 * noisy(draw, 15), noisy(draw, 15)) for _ in range(50)]
    assert sum(differs(one) for one in found) >= 49
    assert sum(one.low <= 1.5 <= one.high for one in found) >= 47
    assert verdict("A", "B", found[0]).startswith("B is 1.")


def test_a_mean_would_not_have_stood_the_stalls() -> None:
    """The planted fault: the plain ratio of sums is off where the median round is not."""
    draw = np.random.default_rng(2)
    calm, stalled = noisy(draw, 15, stalls=0), noisy(draw, 15, stalls=0.3)
    assert stalled.sum() / calm.sum() > 1.6
    assert ratio(stalled, calm).middle < 1.25


def test_few_rounds_decide_nothing() -> None:
    rounds = np.ones((FEWEST_ROUNDS - 1, 2))
    assert not differs(ratio(3 * rounds, rounds))


@given(st.integers(1, 9), st.floats(0.1, 10))
def test_a_ratio_scales(seed: int, factor: float) -> None:
    draw = np.random.default_rng(seed)
    one, other = noisy(draw, 9), noisy(draw, 9)
    plain, scaled = ratio(one, other), ratio(one * factor, other)
    for name in ("middle", "low", "high"):
        assert getattr(scaled, name) == pytest.approx(getattr(plain, name) * factor)


def test_a_clock_that_did_not_move_gives_no_verdict() -> None:
    """Processors' clocks of some systems move every 16 ms."""
    found = ratio(np.zeros((9, 2)), np.zeros((9, 2)))
    assert (found.middle, found.low, found.high) == (1.0, 1.0, 1.0)
    assert not differs(found)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_everyone_is_first_equally_often(count: int) -> None:
    first = Counter(turn_order(count, turn, batch)[0] for turn in range(count) for batch in range(2))
    assert set(first.values()) == {2}


def test_every_batch_is_run_in_every_round() -> None:
    done: list[tuple[str, int]] = []

    def work(name: str) -> Work:
        return Work(name, lambda: iter(range(3)), after=lambda batch: done.append((name, batch)))

    found = in_turns([work(name) for name in "ab"], 2, 3)
    assert found.shape == (2, 2, 2, 3)
    assert (found[0] > 0).all()
    assert sorted(done) == sorted([(name, batch) for name in "ab" for batch in range(3)] * 2)


def test_on_a_busy_machine_there_is_no_verdict_without_the_cpu_time() -> None:
    rounds = (1.6,) * 9
    wall, cpu = Ratio(1.6, 1.2, 2.2, rounds), Ratio(1.0, 0.95, 1.05, rounds)
    assert differs(wall) and not differs(wall, cpu) and differs(wall, Ratio(1.5, 1.4, 1.6, rounds))
    assert "no statistically significant" in verdict("a", "b", wall, cpu)
    assert not differs(wall, Ratio(0.6, 0.5, 0.7, rounds))


@given(st.floats(0.01, 100), st.floats(1e-4, 10), st.integers(1, 50))
def test_there_are_always_enough_rounds(seconds: float, a_batch: float, batches: int) -> None:
    size = size_for(seconds, a_batch, batches)
    assert size.rounds >= FEWEST_ROUNDS
    assert 1 <= size.batches <= batches
    assert size.rounds * size.batches * a_batch <= max(seconds, FEWEST_ROUNDS * a_batch) * 1.01


def test_parts_of_nested_work_add_up(clock: MovedClock) -> None:
    parts = Clock()
    with parts.stage("whole"):
        clock.work(0.5)
        for _ in range(100):
            parts.run("inner", clock.work, (0.01,), {})
        clock.wait(0.25)
    assert parts.take() == pytest.approx({"whole": 0.75, "inner": 1.0}, abs=1e-3)
    assert parts.take() == {}
