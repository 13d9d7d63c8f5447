"""A run that goes on with more ranks or fewer, at any place, reads each sample of the epoch once; also by torchrun."""

import json
import logging
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
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
from support.datasets import Counting
from torch.utils.data import BatchSampler, DistributedSampler, RandomSampler, WeightedRandomSampler

from augrecipes import LoaderError, loader
from augrecipes.data import order
from augrecipes.data.order import BatchSchedule
from augrecipes.data.samplers import SampledSchedule

N = 61
WEIGHTS = [0.0, *np.arange(1.0, N)]

ORDERS: dict[str, Callable[[], dict[str, Any]]] = {
    "plain": dict,
    "shuffled": lambda: {"shuffle": True},
    "dropped": lambda: {"shuffle": True, "drop_last": True},
    "uneven": lambda: {"shuffle": True, "even": False},
    "longer": lambda: {"shuffle": True, "samples_per_epoch": 2 * N + 5},
    "weighted": lambda: {"weights": WEIGHTS},
    "a sampler": lambda: {"sampler": RandomSampler(range(N))},
    "a weighted sampler": lambda: {"sampler": WeightedRandomSampler(WEIGHTS, N - 1, replacement=False)},
    "a sampler of batches": lambda: {"batch_sampler": BatchSampler(RandomSampler(range(N)), 3, False)},
}
Batch = list[tuple[int, int]]


def opened(name: str, batch_size: int, rank: int, world_size: int, **options: Any) -> Any:
    chosen = {**ORDERS[name](), "rank": rank, "world_size": world_size, "num_workers": 0, **options}
    return loader(Counting(N), **chosen, **({} if "batch_sampler" in chosen else {"batch_size": batch_size}))


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
        parts = [(min(ranks, N // size), size, stopped) for ranks, size, stopped in parts]
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


evened, split, whole = order.evened, BatchSchedule.split, BatchSchedule.whole
FAULTS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "the place counts one rank's samples": (
        ((BatchSchedule, "step", property(lambda self: self.batch_size)),
         (SampledSchedule, "step", property(lambda self: 1))), (*ORDERS,),
    ),
    "samples in turns": (((order, "dealt", strided),), ("shuffled", "dropped", "weighted", "a sampler")),
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
           for fault, (changes, names) in FAULTS.items() for name in names},
        "samples are added as if nothing was read": (  # three ranks, of what two have left
            lambda _: law("shuffled", [(2, 5, 1), (3, 3, 0)]),
            (order, "evened", lambda order_, world_size, n, read: evened(order_, world_size, n)),
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
        given: Any = DistributedSampler(range(N), num_replicas=ranks, rank=rank)
        return loader(Counting(N), 4, sampler=given, rank=rank, world_size=ranks)

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


# Real processes under torchrun: they go on where others stopped, and none waits for one that has died.

HERE = Path(__file__).parent
PATIENCE_SECONDS = 300
together = pytest.mark.skipif(
    sys.platform != "linux" or not torch.distributed.is_available(), reason="asks /proc, forks, and wants torch whole"
)


def torchrun(ranks: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}", __file__]
    command += map(str, arguments)
    path = os.pathsep.join([str(HERE.parents[1]), str(HERE.parent)])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )


def runs(process: int) -> bool:
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"  # dead, and nobody has asked how it ended


@together
@pytest.mark.soak  # in one process: the law above
def test_three_ranks_stop_and_two_go_on(tmp_path: Path) -> None:
    read: list[int] = []
    for ranks, steps in ((3, 2), (2, 0)):
        done = torchrun(ranks, tmp_path, steps)
        assert not done.returncode, done.stderr
        told = [json.loads((tmp_path / f"{rank}-of-{ranks}.json").read_text()) for rank in range(ranks)]
        assert len({length for length, _ in told}) == 1
        batches = [taken for _, taken in told]
        read += [i for step in zip(*batches, strict=True) for batch in step for i in batch]
    weights = torch.arange(SAMPLES, dtype=torch.float64).numpy()
    whole = BatchSchedule(SAMPLES, seed=2, weights=weights, samples=SAMPLES - 1).whole(0).tolist()
    assert read == whole
    assert json.loads((tmp_path / "state.json").read_text())["epoch"] == 1


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


# What a rank runs: this file under torchrun, with a folder and a number of steps, to read; and `train`.
SAMPLES = 47


def made(**options: Any) -> Any:
    return loader(Counting(SAMPLES), 3, weights=[*range(SAMPLES)], samples_per_epoch=SAMPLES - 1, seed=2, **options)


def read_share(folder: Path, steps: int) -> None:
    """Go on where a state in the folder says, for so many steps or to the end; rank 0 saves the state."""
    torch.distributed.init_process_group("gloo")
    rank, world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    batches, state = made(num_workers=rank % 2), folder / "state.json"
    if state.exists():
        batches.load_state_dict(json.loads(state.read_text()))
    passing, taken = iter(batches), []
    for _ in range(steps or SAMPLES):
        batch = next(passing, None)
        if batch is None:
            break
        taken.append(batch["index"].tolist())
    torch.distributed.barrier()
    if rank == world_size - 1:
        state.write_text(json.dumps(batches.state_dict()))
    (folder / f"{rank}-of-{world_size}.json").write_text(json.dumps([len(batches), taken]))
    torch.distributed.destroy_process_group()


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


if __name__ == "__main__":
    read_share(Path(sys.argv[1]), int(sys.argv[2]))
