"""The order of an epoch is a pure function of its arguments."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.checks import planted_faults
from support.datasets import Counting, here, indices, values
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler

from augrecipes.data import order, samplers, state
from augrecipes.data.order import BatchSchedule, Share, check_weights, dealt, number_repeats, orders

sizes = st.integers(1, 60)
epochs = st.integers(0, 2**40)
seeds = st.integers(-(2**63), 2**64)


@given(sizes, epochs, seeds)
def test_a_shuffle_is_a_permutation_and_repeats(n: int, epoch: int, seed: int) -> None:
    order = BatchSchedule(n, seed=seed, shuffle=True).whole(epoch)
    assert sorted(order.tolist()) == list(range(n))
    np.testing.assert_array_equal(order, BatchSchedule(n, seed=seed, shuffle=True).whole(epoch))


def test_shuffles_are_written_in_stone() -> None:
    # Golden: resuming a run with a newer version must give the same order.
    assert BatchSchedule(8, seed=0, shuffle=True).whole(0).tolist() == [7, 5, 3, 1, 6, 4, 0, 2]
    assert BatchSchedule(4, seed=2, weights=np.array([1.0, 2.0, 0.0, 1.0])).whole(3).tolist() == [1, 0, 5, 4]


def test_shuffles_are_uniform() -> None:
    # Each of 6 samples comes first in 1/6 of 3000 epochs, ± 4 σ.
    first = np.bincount([BatchSchedule(6, shuffle=True).whole(e)[0] for e in range(3000)], minlength=6)
    np.testing.assert_allclose(first, 500, atol=4 * np.sqrt(3000 / 6 * 5 / 6))


@given(sizes, st.integers(1, 200), epochs)
def test_repeats_get_indices_of_their_own(n: int, samples: int, epoch: int) -> None:
    for shuffle in (False, True):
        order = BatchSchedule(n, shuffle=shuffle, samples=samples).whole(epoch)
        assert len(order) == len(set(order.tolist())) == samples
        counts = np.bincount(order % n, minlength=n)
        assert counts.max() - counts.min() <= 1


@given(st.integers(1, 20), st.integers(1, 200), st.integers(1, 200))
def test_a_longer_epoch_begins_as_a_shorter_one(n: int, a: int, b: int) -> None:
    short, long = sorted((a, b))
    longer = BatchSchedule(n, shuffle=True, samples=long).whole(3)
    np.testing.assert_array_equal(BatchSchedule(n, shuffle=True, samples=short).whole(3), longer[:short])


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
    drawn = BatchSchedule(4, weights=weights, samples=20_000).whole(0)
    assert len(set(drawn.tolist())) == len(drawn)
    share = np.bincount(drawn % 4, minlength=4) / len(drawn)
    assert share[0] == share[3] == 0
    np.testing.assert_allclose(share[1:3], [0.25, 0.75], atol=4 * np.sqrt(0.25 * 0.75 / 20_000))


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


# Several processes that train one model read every sample, alike many, and each its own, whoever says the ranks.


N = 23


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)


# -- shares -----------------------------------------------------------------------------------------------------------


def check_shares(world_size: int, *, epoch: int = 0, **plan: Any) -> None:
    """The law: ranks have equal lengths, and read what one process alone reads, and fewer than a round more.

    And batches of whole rounds are those that one process alone reads.
    """
    ranked = [BatchSchedule(rank=rank, world_size=world_size, **plan) for rank in range(world_size)]
    read = [[order.indices for order in orders(one, epoch)] for one in ranked]
    assert [len(batches) for batches in read] == [one.batches for one in ranked]
    shares = [np.concatenate([np.empty(0, np.int64), *batches]) for batches in read]
    kept = {key: plan[key] for key in ("shuffle", "weights", "samples")}
    whole = BatchSchedule(plan["n"], **kept).whole(epoch)
    rounds = len(whole) // (world_size * plan["batch_size"])
    in_turns = [batches[k].tolist() for k in range(rounds) for batches in read]
    assert in_turns == whole[: rounds * world_size * plan["batch_size"]].reshape(-1, plan["batch_size"]).tolist()
    together = np.concatenate(shares)
    assert len(set(together.tolist())) == len(together)  # nobody draws alike
    if plan["drop_last"]:
        assert len({len(batches) for batches in read}) == 1
        assert {len(batch) for batches in read for batch in batches} <= {plan["batch_size"]}
        assert set(together.tolist()) <= set(whole.tolist())
        assert len(whole) - len(together) < world_size * plan["batch_size"]
    elif plan["even"]:
        assert len({tuple(map(len, batches)) for batches in read}) == 1
        assert set(whole.tolist()) <= set(together.tolist())
        assert len(together) - len(whole) < world_size
        # What is added are repeats of this epoch's first samples.
        added = sorted(set(together.tolist()) - set(whole.tolist()))
        assert Counter(v % plan["n"] for v in added) == Counter(
            (np.resize(whole, len(added)) % plan["n"]).tolist() if added else []
        )
    else:
        assert sorted(together.tolist()) == sorted(whole.tolist())


plans = {
    "world_size": st.integers(1, 9) | st.integers(10, 64),
    "n": st.integers(1, 30),
    "batch_size": st.integers(1, 5),
    "shuffle": st.booleans(),
    "samples": st.none() | st.integers(1, 70),
    "drop_last": st.booleans(),
    "even": st.booleans(),
    "weighted": st.booleans(),
    "epoch": st.integers(0, 3),
}


@given(**plans)
def test_ranks_share_an_epoch_out(n: int, weighted: bool, **plan: Any) -> None:
    check_shares(n=n, weights=np.arange(1.0, n + 1) if weighted else None, **plan)


PLAN: dict[str, Any] = {"n": N, "batch_size": 5, "shuffle": True, "weights": None, "samples": None, "drop_last": False}
FAULTS: list[tuple[str, Callable[..., Any]]] = [
    ("evened", lambda order, *_: order),
    ("evened", lambda order, world_size, *_: order[: len(order) // world_size * world_size]),
    ("evened", lambda order, world_size, *_: np.resize(order, -(-len(order) // world_size) * world_size)),
    ("dealt", lambda order, rank, world_size, size, drop: np.split(order[rank::world_size], [5])),
    ("dealt", lambda order, rank, world_size, size, drop: dealt(order, 0, world_size, size, drop=drop)),
    ("dealt", lambda order, rank, world_size, size, drop: dealt(order, rank, world_size, size, drop=True)),
]
test_ranks_of_several_lengths_and_lost_samples_are_found = planted_faults({
    f"{name} {k}": (lambda _: check_shares(3, even=True, **PLAN), (order, name, fault))
    for k, (name, fault) in enumerate(FAULTS)
})  # fmt: skip


# -- whoever says the rank --------------------------------------------------------------------------------------------


def test_torchrun_is_heard_and_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "augrecipes")
    everything = indices(here(Counting(N)))
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    made = here(Counting(N), 4)
    assert indices(made) == indices(here(Counting(N), 4, rank=1, world_size=2)) != everything
    assert (indices(made), len(made)) == ([*range(4, 8), *range(12, 16), *range(20, N), N], 3)
    assert [m for m in caplog.messages if "rank" in m] == [
        "the loader reads the share of rank 1 of 2, as torch.distributed or the environment says; "
        "rank=0, world_size=1 reads everything"
    ]
    assert indices(here(Counting(N), rank=0, world_size=1)) == everything


def test_ranks_that_are_set_up_after_the_loader_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    made, loaded = (here(Counting(N), 4, shuffle=True) for _ in range(2))
    before = values(made)
    loaded.load_state_dict(loaded.state_dict() | {"read": 8})
    monkeypatch.setattr(state, "share_of_process", lambda: Share(1, 2))
    other = here(Counting(N), 4, shuffle=True, rank=1, world_size=2)
    other.set_epoch(1)
    assert len(made) == len(other) == len(list(made.sampler)) // 4
    assert values(made) == values(other) != before
    assert made.state_dict() == other.state_dict()
    assert values(loaded) == values(here(Counting(N), 4, shuffle=True, rank=1, world_size=2))[4:]
    # Processes that part again do not change what is read.
    monkeypatch.setattr(state, "share_of_process", Share)
    assert values(made) == values(other)


@pytest.mark.parametrize("said", [("one", "2"), ("0", "0"), ("2", "2"), ("-1", "2"), ("", "")])
def test_a_senseless_environment_is_told(said: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", said[0])
    monkeypatch.setenv("WORLD_SIZE", said[1])
    with pytest.raises(ValueError, match="rank"):
        here(Counting(N))


# -- libraries that make a DataLoader of ours into theirs -------------------------------------------------------------


class Keyed(Counting):
    """Takes (epoch, index), too, as our datasets do."""

    def __getitem__(self, key: Any) -> dict[str, Any]:
        return super().__getitem__(key[1] % self.n if isinstance(key, tuple) else key)


class Halved(BatchSampler):
    """Every second batch, as a library that divides by ranks makes it."""

    def __init__(self, inner: Any, rank: int) -> None:
        self.inner, self.rank = inner, rank

    def __iter__(self) -> Iterator[Any]:
        return (batch for k, batch in enumerate(self.inner) if k % 2 == self.rank)

    def __len__(self) -> int:
        return (len(self.inner) + 1) // 2


def as_accelerate(made: Any, rank: int) -> Any:
    """A plain DataLoader of another one's parts, each rank with every second batch."""
    if getattr(made, "_is_accelerate_prepared", False):  # as it asks
        return made
    return DataLoader(made.dataset, batch_sampler=Halved(made.batch_sampler, rank), collate_fn=made.collate_fn)


def as_lightning(made: DataLoader[Any], rank: int) -> Any:
    """Another one of its class with a sampler by ranks, unless it has one."""
    if isinstance(made.sampler, DistributedSampler):
        return made
    theirs: Any = DistributedSampler(made.dataset, num_replicas=2, rank=rank, shuffle=False)
    return type(made)(made.dataset, batch_size=made.batch_size, sampler=theirs)


def check_wrapped(wrap: Callable[[Any, int], Any]) -> None:
    """The law: both ranks read all that there is."""
    for shares in (True, False):
        read: list[int] = []
        for rank in range(2):
            said = (rank, 2) if shares else (0, 1)
            made = here(Keyed(N), 1, rank=said[0], world_size=said[1])
            read += indices(wrap(made, rank))
        assert {i % N for i in read} == set(range(N))


@pytest.mark.parametrize("wrap", [as_accelerate, as_lightning])
def test_wrapped_loaders_read_everything(wrap: Any) -> None:
    check_wrapped(wrap)


def test_the_law_sees_samples_that_are_divided_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samplers.LoaderSampler, "whole", lambda self, drop_last: self.position.plan)
    with pytest.raises(AssertionError):
        check_wrapped(as_accelerate)
