"""Promise 1, at its root: every draw is a function of (seed, site, epoch, index, tile)."""

import copy
import pickle
import random
from bisect import bisect_right
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.checks import planted_faults

from augrecipes.compiler.kernels import fast_apply, fields
from augrecipes.compiler.run import draws as draws_module
from augrecipes.compiler.run.draws import CounterRandom, Draws
from augrecipes.ops.registry import construct
from augrecipes.recipe.model import Arguments, Step
from augrecipes.seeds import finalise, mix, site_key

pytestmark = pytest.mark.filterwarnings("ignore:This augmenter is very slow")
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


# Maps made with fewer temporaries are albumentations' own, to the last bit, for the same draws.


FIELDS = st.builds(
    lambda **arguments: ("ElasticTransform", arguments),
    alpha=st.floats(0, 300),
    sigma=st.floats(1, 20),
    approximate=st.booleans(),
    same_dxdy=st.booleans(),
    noise_distribution=st.sampled_from(["gaussian", "uniform"]),
)


def drawn_maps(step: Any, shape: tuple[int, ...], seed: int) -> Any:
    step.set_random_seed(seed)
    return step.get_params_dependent_on_data({"shape": shape}, {})


def check(step: tuple[str, dict[str, Any]], shape: tuple[int, ...], seed: int) -> None:
    name, arguments = step
    own, fast = (construct(Step(name, Arguments(arguments))) for _ in range(2))
    fast_apply.attach([fast])
    expected, found = (drawn_maps(one, shape, seed) for one in (own, fast))
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        if value is None:
            assert found[key] is None
            continue
        assert found[key].dtype == value.dtype == np.float32
        np.testing.assert_array_equal(found[key].view(np.uint32), value.view(np.uint32), err_msg=key)


GRIDS = st.builds(
    lambda **arguments: ("PiecewiseAffine", arguments),
    nb_rows=st.just([2, 13]),
    nb_cols=st.just([2, 13]),
    scale=st.sampled_from([[0.0, 0.0], [0.03, 0.05], [1, 3]]),
    absolute_scale=st.booleans(),
)


@given(GRIDS, st.integers(1, 30), st.integers(1, 30), st.integers(0, 2**32))
def test_grids_that_move_make_the_same_maps(step: Any, height: int, width: int, seed: int) -> None:
    check(step, (height, width, 3), seed)


def test_a_kernel_whose_means_are_off_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "piecewise_maps", _moved)
    fields.adds_as_numpy.cache_clear()
    try:
        check(("PiecewiseAffine", {}), (20, 30, 3), 1)
    finally:
        fields.adds_as_numpy.cache_clear()


@given(FIELDS, st.integers(1, 70), st.integers(1, 70), st.integers(0, 2**32))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_same_draws_same_maps(step: Any, height: int, width: int, seed: int) -> None:
    check(step, (height, width, 3), seed)


smooth, piecewise_maps = fields.smooth, fields.piecewise_maps


def _a_bit_off(field: Any, *how: Any) -> bool:
    if not smooth(field, *how):
        return False
    field[-1] += np.float32(1e-4)
    return True


def _moved(*given: Any, **named: Any) -> Any:
    map_x, map_y = piecewise_maps(*given, **named)
    return map_x, np.nextafter(map_y, np.float32(np.inf))


test_planted_faults_are_caught = planted_faults({
    "weights of another choice": (
        lambda _: check_choices(0, [[0.25, 0.25, 0.5]], 50),
        (draws_module, "bisect_right", lambda ends, at: min(bisect_right(ends, at) + 1, len(ends) - 1)),
    ),
    "maps a bit off": (
        lambda _: check(("ElasticTransform", {"sigma": 5}), (64, 64, 3), 1), (fields, "smooth", _a_bit_off),
    ),
    "means a bit off": (
        lambda _: check(("PiecewiseAffine", {}), (20, 30, 3), 1), (fields, "piecewise_maps", _moved),
        (fields, "adds_as_numpy", lambda _: True),
    ),
})  # fmt: skip
