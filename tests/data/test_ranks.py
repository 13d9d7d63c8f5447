"""Orders are pure functions of their arguments, shared out among ranks, and resumed with other ranks."""

import json
import logging
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed
from hypothesis import given
from hypothesis import strategies as st
from support.checks import planted_faults, tries
from support.datasets import Counting, here, indices, values
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler, WeightedRandomSampler

from augrecipes import LoaderError, loader
from augrecipes.data import order, samplers, state
from augrecipes.data.order import BatchSchedule, Share, batch_requests, check_weights, number_repeats, rank_batches
from augrecipes.data.samplers import SampledSchedule

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
    read = [[order.indices for order in batch_requests(one, epoch)] for one in ranked]
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
    ("padded_order", lambda order, *_: order),
    ("padded_order", lambda order, world_size, *_: order[: len(order) // world_size * world_size]),
    ("padded_order", lambda order, world_size, *_: np.resize(order, -(-len(order) // world_size) * world_size)),
    ("rank_batches", lambda order, rank, world_size, size, drop: np.split(order[rank::world_size], [5])),
    ("rank_batches", lambda order, rank, world_size, size, drop: rank_batches(order, 0, world_size, size, drop=drop)),
    (
        "rank_batches",
        lambda order, rank, world_size, size, drop: rank_batches(order, rank, world_size, size, drop=True),
    ),
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
    monkeypatch.setattr(samplers.LoaderSampler, "whole", lambda self, drop_last: self.position.schedule)
    with pytest.raises(AssertionError):
        check_wrapped(as_accelerate)


# A run that goes on with more ranks or fewer, at any place, reads each sample of the epoch once; also by torchrun.


N_RESUMED = 61
WEIGHTS = [0.0, *np.arange(1.0, N_RESUMED)]

ORDERS: dict[str, Callable[[], dict[str, Any]]] = {
    "plain": dict,
    "shuffled": lambda: {"shuffle": True},
    "dropped": lambda: {"shuffle": True, "drop_last": True},
    "uneven": lambda: {"shuffle": True, "even": False},
    "longer": lambda: {"shuffle": True, "samples_per_epoch": 2 * N_RESUMED + 5},
    "weighted": lambda: {"weights": WEIGHTS},
    "a sampler": lambda: {"sampler": RandomSampler(range(N_RESUMED))},
    "a weighted sampler": lambda: {"sampler": WeightedRandomSampler(WEIGHTS, N_RESUMED - 1, replacement=False)},
    "a sampler of batches": lambda: {"batch_sampler": BatchSampler(RandomSampler(range(N_RESUMED)), 3, False)},
}
Batch = list[tuple[int, int]]


def opened(name: str, batch_size: int, rank: int, world_size: int, **options: Any) -> Any:
    chosen = {**ORDERS[name](), "rank": rank, "world_size": world_size, "num_workers": 0, **options}
    return loader(Counting(N_RESUMED), **chosen, **({} if "batch_sampler" in chosen else {"batch_size": batch_size}))


def read(batches: Any) -> list[Batch]:
    """Index and value of every sample."""
    return [list(zip(b["index"].tolist(), b["image"].flatten().tolist(), strict=True)) for b in batches]


def check_epoch(name: str, steps: list[list[Batch]], whole: Batch, most: int) -> None:
    """What ranks read, step by step and rank by rank, is what one alone reads, but for what was added or dropped."""
    together = [one for step in steps for batch in step for one in batch]
    assert len(set(together)) == len(together)
    if name == "dropped":
        assert together == whole[: len(together)]
        assert len(whole) - len(together) < most
        return
    assert together[: len(whole)] == whole
    added = len(together) - len(whole)
    assert added == 0 if name == "uneven" else added < most


def law(name: str, parts: list[tuple[int, int, int]], saver: int = 0) -> None:
    """The law of a run of several parts, and of the epoch that follows.

    Args:
        name: of an order.
        parts: number of ranks, their batch size, and after how many steps they are stopped; the last is not.
        saver: whose state is kept.
    """
    alone = opened(name, 1, 0, 1)
    whole, following = ([one for batch in read(alone) for one in batch] for _ in range(2))
    kept: Any = alone.state_dict() | {"epoch": 0, "read": 0}
    done: list[list[Batch]] = []
    full: set[int] = set()
    if name == "dropped":  # fewer than ranks need would be refused
        parts = [(min(ranks, N_RESUMED // size), size, stopped) for ranks, size, stopped in parts]
    for number, (world_size, batch_size, stopped) in enumerate(parts, 1):
        ranks = [opened(name, batch_size, rank, world_size) for rank in range(world_size)]
        assert name == "uneven" or len({*map(len, ranks)}) == 1
        for one in ranks:
            one.load_state_dict(json.loads(json.dumps(kept)))
        passes, taken = [iter(one) for one in ranks], 0
        while number == len(parts) or taken < stopped:
            step = read(batch for passing in passes for batch in [next(passing, None)] if batch)
            if not step:
                break
            if "batches" not in name:
                assert not done or {*map(len, done[-1])} == full  # but for the very last
                assert name == "uneven" or len({*map(len, step)}) == 1
            done.append(step)
            taken, full = taken + 1, {batch_size}
        states = [one.state_dict() for one in ranks]
        assert name == "uneven" or states.count(states[0]) == world_size
        kept = states[saver % world_size]
        if kept["epoch"]:
            break
    most = max(w * (3 if "batches" in name else b if name == "dropped" else 1) for w, b, _ in parts)
    check_epoch(name, done, whole, most)
    steps = [[b for b in step if b] for step in zip_longest(*map(read, ranks), fillvalue=[])]
    check_epoch(name, steps, following, most)


part = st.tuples(st.integers(1, 5) | st.integers(6, 64), st.integers(1, 7), st.integers(0, 9))


@tries(15)  # each opens up to 250 loaders
@given(st.sampled_from(sorted(ORDERS)), st.lists(part, min_size=1, max_size=4), st.integers(0, 63))
def test_a_run_goes_on_with_other_ranks(name: str, parts: list[tuple[int, int, int]], saver: int) -> None:
    law(name, parts, saver)


SOME_RANKS = (1, 2, 3, 4, 7, 8, 16, 33, 48, 64)


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(ORDERS))
def test_from_one_number_of_ranks_to_another(name: str) -> None:
    for before in SOME_RANKS:
        for after in SOME_RANKS:
            law(name, [(before, 2, (before + after) % 5), (after, 1 + after % 3, 0)], after)


RUN = [(2, 3, 4), (3, 3, 2), (1, 4, 2), (4, 2, 0)]


@pytest.mark.parametrize("name", sorted(ORDERS))
def test_every_order(name: str) -> None:
    law(name, RUN, 1)


def strided(given: Any, rank: int, world_size: int, size: int, *, drop: bool) -> Any:
    mine = given[rank::world_size]
    return [mine[k : k + size] for k in range(0, len(mine) // size * size if drop else len(mine), size)]


padded_order, split, whole = order.padded_order, BatchSchedule.split, BatchSchedule.whole
FAULTS_OF_RUNS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "the place counts one rank's samples": (
        ((BatchSchedule, "step", property(lambda self: self.batch_size)),
         (SampledSchedule, "step", property(lambda self: 1))), (*ORDERS,),
    ),
    "samples in turns": (((order, "rank_batches", strided),), ("shuffled", "dropped", "weighted", "a sampler")),
    "the place is not followed": (
        ((BatchSchedule, "split", lambda self, epoch, read=0: split(self, epoch)),),
        ("plain", "weighted", "a weighted sampler"),
    ),
    "draws know the rank": (
        ((BatchSchedule, "whole", lambda self, epoch: whole(self, epoch + 7 * self.rank)),), ("shuffled", "weighted"),
    ),
}  # fmt: skip
test_planted_faults_are_caught = planted_faults(
    {
        **{f"{fault}, {name}": (lambda _, name=name: law(name, RUN, 1), *changes)
           for fault, (changes, names) in FAULTS_OF_RUNS.items() for name in names},
        "samples are added as if nothing was read": (  # three ranks, of what two have left
            lambda _: law("shuffled", [(2, 5, 1), (3, 3, 0)]),
            (order, "padded_order", lambda order_, world_size, n, read: padded_order(order_, world_size, n)),
        ),
    },
    (AssertionError, LoaderError),
)  # fmt: skip


# -- what is refused --------------------------------------------------------------------------------------------------


def test_batches_that_overtake_have_states_between_epochs_alone() -> None:
    made = opened("shuffled", 2, 0, 2, in_order=False, backend="threads", num_workers=2)
    passing = iter(made)
    next(passing)
    with pytest.raises(LoaderError, match=r"between epochs, or load with in_order=True"):
        made.state_dict()
    list(passing)
    other, again = (opened("shuffled", 2, 2, 3) for _ in range(2))
    other.load_state_dict(made.state_dict())
    again.set_epoch(1)
    assert read(other) == read(again)


def test_a_sampler_that_divides_keeps_its_ranks() -> None:
    def divided(rank: int, ranks: int) -> Any:
        given: Any = DistributedSampler(range(N_RESUMED), num_replicas=ranks, rank=rank)
        return loader(Counting(N_RESUMED), 4, sampler=given, rank=rank, world_size=ranks)

    whole, first = divided(1, 2), divided(0, 2)
    expected, passing = read(whole), iter(first)
    next(passing), next(passing)
    second = divided(1, 2)
    second.load_state_dict(first.state_dict())
    assert read(second) == expected[2:]
    with pytest.raises(LoaderError, match="world_size: saved 2, here 3"):
        divided(1, 3).load_state_dict(first.state_dict())


def test_the_log_says_who_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "augrecipes")
    saved = opened("shuffled", 4, 1, 3).state_dict()
    opened("shuffled", 4, 2, 3).load_state_dict(saved)
    assert not [message for message in caplog.messages if "reads with" not in message]
    caplog.clear()
    opened("shuffled", 8, 0, 1).load_state_dict(saved)
    assert [message for message in caplog.messages if "reads with" not in message] == [
        "the loader goes on where a state of 3 ranks with batch_size 4 stopped, with 1 rank with batch_size 8"
    ]


# Real processes: none waits for one that has died.

PATIENCE_SECONDS = 300
together = pytest.mark.skipif(
    sys.platform != "linux" or not torch.distributed.is_available(), reason="asks /proc, forks, and wants torch whole"
)


def runs(process: int) -> bool:
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"  # dead, and nobody has asked how it ended


def trained(rank: int, port: int, folder: Path) -> None:
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    train(folder)


@together
def test_a_rank_that_dies_is_an_error_for_the_others(tmp_path: Path) -> None:
    """Here without torchrun, which would end them before they hear of it."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    fresh = multiprocessing.get_context("forkserver")
    ranks = [fresh.Process(target=trained, args=(rank, port, tmp_path)) for rank in range(2)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(PATIENCE_SECONDS)
    assert [rank.exitcode for rank in ranks] == [1, -signal.SIGKILL]
    assert json.loads((tmp_path / "heard.json").read_text()) == 2  # in the step of a RuntimeError
    # The dead one's worker has ended, too.
    (worker,) = json.loads((tmp_path / "workers.json").read_text())
    until = time.monotonic() + PATIENCE_SECONDS
    while runs(worker):
        assert time.monotonic() < until
        time.sleep(0.05)


# What a rank runs.
SAMPLES = 47


def made(**options: Any) -> Any:
    return loader(Counting(SAMPLES), 3, weights=[*range(SAMPLES)], samples_per_epoch=SAMPLES - 1, seed=2, **options)


def train(folder: Path) -> None:
    """Average a number over ranks at every step; rank 1 is killed at the third."""
    torch.distributed.init_process_group("gloo")
    batches = made(num_workers=1, multiprocessing_context="fork")
    for step, batch in enumerate(batches):
        total = batch["image"].double().mean()
        if torch.distributed.get_rank() == 1 and step == 2:
            children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
            (folder / "workers.json").write_text(json.dumps([int(child) for child in children]))
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            torch.distributed.all_reduce(total)
        except RuntimeError:
            (folder / "heard.json").write_text(json.dumps(step))
            raise
