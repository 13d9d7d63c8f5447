"""The order of an epoch is a pure function of its arguments."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.data.order import check_weights, dealt, epoch_order, number_repeats

sizes = st.integers(1, 60)
epochs = st.integers(0, 2**40)
seeds = st.integers(-(2**63), 2**64)


@given(sizes, epochs, seeds)
def test_a_shuffle_is_a_permutation_and_repeats(n: int, epoch: int, seed: int) -> None:
    order = epoch_order(n, epoch, seed=seed, shuffle=True)
    assert sorted(order.tolist()) == list(range(n))
    np.testing.assert_array_equal(order, epoch_order(n, epoch, seed=seed, shuffle=True))


def test_shuffles_are_written_in_stone() -> None:
    # Golden: resuming a run with a newer version must give the same order.
    assert epoch_order(8, 0, seed=0, shuffle=True).tolist() == [7, 5, 3, 1, 6, 4, 0, 2]
    assert epoch_order(4, 3, seed=2, weights=np.array([1.0, 2.0, 0.0, 1.0])).tolist() == [1, 0, 5, 4]


def test_shuffles_differ_between_epochs_and_seeds() -> None:
    orders = [tuple(epoch_order(50, e, seed=s, shuffle=True).tolist()) for e in range(5) for s in range(5)]
    assert len(set(orders)) == 25


def test_shuffles_are_uniform() -> None:
    # Each of 6 samples comes first in 1/6 of 3000 epochs, ± 4 σ.
    first = np.bincount([epoch_order(6, e, shuffle=True)[0] for e in range(3000)], minlength=6)
    np.testing.assert_allclose(first, 500, atol=4 * np.sqrt(3000 / 6 * 5 / 6))


@given(sizes, st.integers(1, 200), epochs)
def test_repeats_get_indices_of_their_own(n: int, samples: int, epoch: int) -> None:
    for shuffle in (False, True):
        order = epoch_order(n, epoch, shuffle=shuffle, samples=samples)
        assert len(order) == len(set(order.tolist())) == samples
        counts = np.bincount(order % n, minlength=n)
        assert counts.max() - counts.min() <= 1


@given(st.integers(1, 20), st.integers(1, 200), st.integers(1, 200))
def test_a_longer_epoch_begins_as_a_shorter_one(n: int, a: int, b: int) -> None:
    short, long = sorted((a, b))
    longer = epoch_order(n, 3, shuffle=True, samples=long)
    np.testing.assert_array_equal(epoch_order(n, 3, shuffle=True, samples=short), longer[:short])


def test_passes_of_one_epoch_differ() -> None:
    passes = epoch_order(20, 0, shuffle=True, samples=100_000).reshape(-1, 20) % 20
    assert len(np.unique(passes, axis=0)) == len(passes)


@given(st.lists(st.integers(0, 9), max_size=40))
def test_number_repeats_counts_in_order(positions: list[int]) -> None:
    seen: dict[int, int] = {}
    expected = []
    for p in positions:
        expected.append(p + 10 * seen.get(p, 0))
        seen[p] = seen.get(p, 0) + 1
    assert number_repeats(np.array(positions, np.int64), 10).tolist() == expected


def test_weights_are_kept() -> None:
    weights = np.array([0.0, 1.0, 3.0, 0.0])
    drawn = epoch_order(4, 0, weights=weights, samples=20_000)
    assert len(set(drawn.tolist())) == len(drawn)
    share = np.bincount(drawn % 4, minlength=4) / len(drawn)
    assert share[0] == share[3] == 0
    np.testing.assert_allclose(share[1:3], [0.25, 0.75], atol=4 * np.sqrt(0.25 * 0.75 / 20_000))


@given(sizes, st.integers(1, 64), st.integers(1, 9), epochs)
def test_ranks_that_take_turns_read_what_one_alone_reads(n: int, world_size: int, size: int, epoch: int) -> None:
    whole = epoch_order(n, epoch, shuffle=True)
    ranked = [[*dealt(whole, rank, world_size, size)] for rank in range(world_size)]
    rounds = max(map(len, ranked))
    together = [batches[k] for k in range(rounds) for batches in ranked if k < len(batches)]
    assert np.concatenate(together).tolist() == whole.tolist()
    alone = [*dealt(whole, 0, 1, size)]
    kept = n // (world_size * size) * world_size
    assert [batch.tolist() for batch in together[:kept]] == [batch.tolist() for batch in alone[:kept]]
    sizes_of_rest = {len(rank[-1]) if len(rank) == rounds else 0 for rank in ranked} if n % (world_size * size) else {0}
    assert max(sizes_of_rest) - min(sizes_of_rest) <= 1


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"shape \(2,\)"),
        ([1, -1, 1], r"weights\[1\]"),
        ([1, 1, float("nan")], r"weights\[2\]"),
        ([0, 0, 0], "all"),
    ],
)
def test_senseless_weights_are_refused(weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_weights(weights, 3)
