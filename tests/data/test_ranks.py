"""Several processes that train one model read every sample, alike many, and each its own, whoever says the ranks."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed
from counting import Counting, indices, values
from hypothesis import given
from hypothesis import strategies as st
from torch.multiprocessing.spawn import spawn
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler

from augrecipes.data import order, samplers, state
from augrecipes.data.loader import loader
from augrecipes.data.order import BatchSchedule, Share, dealt, epoch_order, orders

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
    whole = epoch_order(plan["n"], epoch, **kept)
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


def test_the_law_sees_ranks_of_several_lengths_and_lost_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    plan: dict[str, Any] = {
        "n": N,
        "batch_size": 5,
        "shuffle": True,
        "weights": None,
        "samples": None,
        "drop_last": False,
    }
    check_shares(3, even=True, **plan)
    faults: list[tuple[str, Callable[..., Any]]] = [
        ("evened", lambda order, *_: order),
        ("evened", lambda order, world_size, *_: order[: len(order) // world_size * world_size]),
        ("evened", lambda order, world_size, *_: np.resize(order, -(-len(order) // world_size) * world_size)),
        ("dealt", lambda order, rank, world_size, size, drop: np.split(order[rank::world_size], [5])),
        ("dealt", lambda order, rank, world_size, size, drop: dealt(order, 0, world_size, size, drop=drop)),
        ("dealt", lambda order, rank, world_size, size, drop: dealt(order, rank, world_size, size, drop=True)),
    ]
    for name, fault in faults:
        with monkeypatch.context() as planted:
            planted.setattr(order, name, fault)
            with pytest.raises(AssertionError):
                check_shares(3, even=True, **plan)


@pytest.mark.parametrize("options", [{}, {"even": False}, {"drop_last": True}])
def test_every_rank_resumes_at_every_batch(options: dict[str, Any]) -> None:
    for rank in range(3):
        made = {"batch_size": 3, "shuffle": True, "seed": 5, "rank": rank, "world_size": 3, **options}
        whole = loader(Counting(N), **made)
        expected = values(whole) + values(whole)
        for taken in range(len(whole) + 1):
            first = loader(Counting(N), **made)
            passing = iter(first)
            head = [int(v) for _ in range(taken) for v in next(passing)["image"].flatten()]
            resumed = loader(Counting(N), **made)
            resumed.load_state_dict(first.state_dict())
            assert head + values(resumed) + values(resumed) == expected


# -- whoever says the rank --------------------------------------------------------------------------------------------


def test_torchrun_is_heard_and_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "augrecipes")
    everything = indices(loader(Counting(N)))
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    made = loader(Counting(N), 4)
    assert indices(made) == indices(loader(Counting(N), 4, rank=1, world_size=2)) != everything
    assert (indices(made), len(made)) == ([*range(4, 8), *range(12, 16), *range(20, N), N], 3)
    assert [m for m in caplog.messages if "rank" in m] == [
        "the loader reads the share of rank 1 of 2, as torch.distributed or the environment says; "
        "rank=0, world_size=1 reads everything"
    ]
    assert indices(loader(Counting(N), rank=0, world_size=1)) == everything


def test_ranks_that_are_set_up_after_the_loader_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    made, loaded = (loader(Counting(N), 4, shuffle=True) for _ in range(2))
    before = values(made)
    loaded.load_state_dict(loaded.state_dict() | {"read": 8})
    monkeypatch.setattr(state, "share_of_process", lambda: Share(1, 2))
    other = loader(Counting(N), 4, shuffle=True, rank=1, world_size=2)
    other.set_epoch(1)
    assert len(made) == len(other) == len(list(made.sampler)) // 4
    assert values(made) == values(other) != before
    assert made.state_dict() == other.state_dict()
    assert values(loaded) == values(loader(Counting(N), 4, shuffle=True, rank=1, world_size=2))[4:]
    # Processes that part again do not change what is read.
    monkeypatch.setattr(state, "share_of_process", Share)
    assert values(made) == values(other)


@pytest.mark.parametrize("said", [("one", "2"), ("0", "0"), ("2", "2"), ("-1", "2"), ("", "")])
def test_a_senseless_environment_is_told(said: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", said[0])
    monkeypatch.setenv("WORLD_SIZE", said[1])
    with pytest.raises(ValueError, match="rank"):
        loader(Counting(N))


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"rank": 0}, "Give both, or neither"),
        ({"world_size": 2}, "Give both, or neither"),
        ({"rank": 2, "world_size": 2}, "rank must be below world_size"),
    ],
)
def test_a_senseless_share_is_refused(said: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        loader(Counting(N), **said)


def _rank(rank: int, folder: str) -> None:
    made = loader(Counting(N), 4, shuffle=True)  # before anybody knows of ranks, as Lightning's users do
    torch.distributed.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=2)
    read = [indices(made), indices(made)]
    torch.save((read, len(made), made.state_dict()), f"{folder}/{rank}.pt")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch was built without it")
def test_two_processes_read_each_sample_once(tmp_path: Path) -> None:
    spawn(_rank, (os.fspath(tmp_path),), nprocs=2)  # type: ignore[no-untyped-call]
    told = [torch.load(tmp_path / f"{rank}.pt") for rank in range(2)]
    assert [length for _, length, _ in told] == [3, 3]
    assert told[0][2] == told[1][2]  # a state saved by one rank serves all
    for epoch in range(2):
        together = sorted(i for read, *_ in told for i in read[epoch])
        assert [i for i in together if i < N] == list(range(N))
        assert len(together) == N + 1


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
            made = loader(Keyed(N), 1, rank=said[0], world_size=said[1])
            read += indices(wrap(made, rank))
        assert {i % N for i in read} == set(range(N))


@pytest.mark.parametrize("wrap", [as_accelerate, as_lightning])
def test_wrapped_loaders_read_everything(wrap: Any) -> None:
    check_wrapped(wrap)


def test_the_law_sees_samples_that_are_divided_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samplers.LoaderSampler, "whole", lambda self, drop_last: self.position.plan)
    with pytest.raises(AssertionError):
        check_wrapped(as_accelerate)


def test_the_samplers_epoch_is_the_loaders() -> None:
    made, other = loader(Counting(N), shuffle=True), loader(Counting(N), shuffle=True)
    made.sampler.set_epoch(4)  # type: ignore[attr-defined]  # as scripts with torch's DistributedSampler say it
    other.set_epoch(4)
    assert made.epoch == 4
    assert list(made.sampler) == list(other.sampler)
    assert values(made) == values(other)
