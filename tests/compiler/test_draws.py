"""Promise 1, at its root: every draw is a function of (seed, site, epoch, index, tile)."""

import copy
import pickle
import random
from bisect import bisect_right

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.checks import planted_faults

from augrecipes.compiler.run import draws as draws_module
from augrecipes.compiler.run.draws import CounterRandom, Draws
from augrecipes.seeds import finalise, mix, site_key

U63 = st.integers(0, 2**63 - 1)


def drawn(seed: int, site: str, epoch: int, index: int, tile: int = 0) -> tuple:
    draws = Draws(seed)
    generator, py_random = draws.add(site)
    draws.position(epoch, index, tile)
    return py_random.random(), py_random.randint(0, 10**9), float(generator.random()), int(generator.integers(10**9))


def test_golden_values() -> None:
    """A change here changes every sample that anyone has ever drawn with a seed."""
    assert finalise(1) == 0x5692161D100B05E5
    assert mix(1, 2, 3) == 0x5803683EA327C02F
    assert site_key("HorizontalFlip#1") == 0xAB14CCCDFFD97FCF
    assert drawn(0, "HorizontalFlip#1", 0, 0) == (0.08526185575885459, 210365708, 0.10084737571934577, 827697461)
    wanted = 0.8818623455055729, 940655927, 0.15558790445368365, 669031518
    assert drawn(7, "OneOf#1/GaussianBlur#1", 3, 1234, 5) == wanted


@given(U63, U63, U63, U63)
def test_depends_on_the_key_and_on_nothing_else(seed: int, epoch: int, index: int, tile: int) -> None:
    draws = Draws(seed)
    generator, py_random = draws.add("a")
    draws.add("b")
    # History: other samples, half-used buffers, gauss()'s spare value.
    draws.position(epoch ^ 1, index, tile)
    py_random.gauss(0, 1)
    generator.integers(0, 5, dtype=np.uint8)
    draws.position(epoch, index, tile)
    got = py_random.random(), py_random.randint(0, 10**9), float(generator.random()), int(generator.integers(10**9))
    assert got == drawn(seed, "a", epoch, index, tile)


@given(st.tuples(U63, U63, U63, U63), st.integers(0, 3), U63)
def test_changes_with_each_part_of_the_key(key: tuple[int, int, int, int], place: int, other: int) -> None:
    changed = list(key)
    changed[place] = other
    seed, epoch, index, tile = key
    if tuple(changed) != key:
        a = drawn(seed, "a", epoch, index, tile)
        b = drawn(changed[0], "a", *changed[1:])
        assert a[0] != b[0]
        assert a[2] != b[2]


@pytest.mark.parametrize("place", ["epoch", "index", "tile", "seed"])
def test_counting_keys_give_uniform_draws(place: str) -> None:
    draws = [drawn(**{"seed": 0, "site": "a", "epoch": 0, "index": 0, "tile": 0, place: i}) for i in range(2000)]
    for column in (0, 2):
        values = np.array([d[column] for d in draws])
        counts = np.histogram(values, bins=10, range=(0, 1))[0]
        assert ((counts - 200) ** 2 / 200).sum() < 27.9  # chi-square with 9 degrees of freedom, p = 0.001
        assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.08


class TestCounterRandom:
    def test_every_distribution_of_the_standard_library_works(self) -> None:
        r = CounterRandom(5)
        assert 1 <= r.uniform(1, 2) <= 2
        assert sorted(r.sample(range(9), 9)) == list(range(9))
        assert r.choice("abc") in "abc"
        assert len(r.randbytes(5)) == 5
        assert 0 < r.betavariate(2, 3) < 1
        assert r.getrandbits(0) == 0
        values = [r.getrandbits(130) for _ in range(50)]
        assert max(values).bit_length() > 120
        with pytest.raises(ValueError, match="non-negative"):
            r.getrandbits(-1)

    def test_state_survives_copies_and_pickles(self) -> None:
        r = CounterRandom(5)
        r.gauss(0, 1)  # which keeps a second number
        copies = copy.deepcopy(r), pickle.loads(pickle.dumps(r))
        assert {copied.gauss(0, 1) for copied in copies} == {r.gauss(0, 1)}
        assert all(isinstance(copied, random.Random) for copied in copies)

    def test_refuses_what_has_no_key(self) -> None:
        with pytest.raises(TypeError, match="integer"):
            CounterRandom(1).seed(None)


WEIGHTS = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=7).map(lambda w: [x / sum(w) for x in w])


def check_choices(seed: int, weights: list[list[float]], times: int) -> None:
    """One generator follows its samples, a plain one is set to each: their choices, and what they draw after them."""
    draws = Draws(seed)
    ours, _ = draws.add("OneOf#1")
    for index in range(times):
        draws.position(0, index)
        plain = np.random.Generator(np.random.Philox(key=ours.bit_generator.state["state"]["key"]))
        plain.bit_generator.state = ours.bit_generator.state
        p = weights[index % len(weights)]
        assert ours.choice(len(p), p=p) == plain.choice(len(p), p=p)
        assert ours.random() == plain.random()


@given(seed=U63, weights=st.lists(WEIGHTS, min_size=1, max_size=3))
def test_a_choice_by_weights_is_numpys(seed: int, weights: list[list[float]]) -> None:
    check_choices(seed, weights, 9)


test_planted_faults_are_caught = planted_faults({
    "weights of another choice": (
        lambda _: check_choices(0, [[0.25, 0.25, 0.5]], 50),
        (draws_module, "bisect_right", lambda ends, at: min(bisect_right(ends, at) + 1, len(ends) - 1)),
    ),
})  # fmt: skip
