"""Workers killed at any moment: what the program hears is a LoaderError where it asks for a batch, and nothing else."""

from __future__ import annotations

import os
import random
import signal
import struct
import sys
import threading
import time
from contextlib import suppress
from multiprocessing import active_children
from multiprocessing.connection import wait
from typing import Any

import pytest
import torch
from counting import Counting

from augrecipes.compat import torch as hooks
from augrecipes.data.loader import Loader, loader
from augrecipes.errors import LoaderError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills by signals")
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGBUS, signal.SIGTERM)
WAYS: list[dict[str, Any]] = [
    {"num_workers": 1},
    {"num_workers": 2},
    {"num_workers": 2, "persistent_workers": True},
    {"num_workers": 2, "in_order": False},
    {"num_workers": 1, "persistent_workers": True, "prefetch_factor": 4},
]


class Sized(Counting):
    """Samples of some size; their names are long, so that a batch is more than a pipe takes at once."""

    def __init__(self, n: int, size: int, name: int) -> None:
        super().__init__(n)
        self.size, self.name = size, name

    def __getitem__(self, index: int) -> dict[str, Any]:
        found = super().__getitem__(index)
        time.sleep(0.0005)
        return {**found, "image": torch.zeros(self.size), "path": f"{index}".zfill(self.name)}


def kill(soon: float, draw: random.Random, before: set[Any], killed: list[int]) -> None:
    time.sleep(soon)
    workers = [child for child in active_children() if child not in before and child.is_alive()]
    if workers:
        killed.append(draw.choice(workers).pid or 0)
        os.kill(killed[-1], draw.choice(SIGNALS))


def train(made: Loader, draw: random.Random) -> str:
    """How two passes end: the error's text, or nothing. Whatever is raised between batches is the test's failure."""
    for _ in range(2):
        passing = iter(made)
        while True:
            try:
                batch = next(passing, None)
            except LoaderError as error:
                return str(error)
            if batch is None:
                break
            until = time.perf_counter() + draw.random() * 0.004
            while time.perf_counter() < until:  # a training step, in Python: torch's handler could raise here
                pass
    return ""


def kills(count: int, seed: int) -> int:
    """So many workers are killed; how many of the passes heard of it, each in the one way."""
    heard = done = 0
    for turn in range(10 * count):
        if done == count:
            break
        draw = random.Random(seed + turn)
        way = draw.choice(WAYS)
        ds = Sized(96, draw.choice([1, 5000]), draw.choice([4, 3000]))
        before, killed = set(active_children()), []
        made = loader(ds, draw.choice([1, 8]), multiprocessing_context="fork", **way)
        killer = threading.Thread(target=kill, args=(draw.random() * 0.15, draw, before, killed))
        killer.start()
        try:
            told = train(made, draw)
        except LoaderError as error:  # while a pass is begun
            told = str(error)
        finally:
            killer.join()
        done += bool(killed)
        heard += bool(told)
        assert not told or (killed and f"(pid {killed[0]})" in told), (told, killed, way)
        assert sum(len(batch["index"]) for batch in made) == 96 or not told  # it recovers
        made.close()
    return heard


def test_killed_workers_are_loader_errors() -> None:
    assert kills(10, 0) >= 5


@pytest.mark.soak
def test_hundreds_of_killed_workers_are_loader_errors() -> None:
    heard = kills(320, 1000)
    print(f"320 workers killed at random moments: {heard} passes ended in a LoaderError, the others had their batches")
    assert heard >= 200


def test_a_worker_that_is_dead_when_a_pass_begins_is_told() -> None:
    made = loader(Counting(8), num_workers=2, persistent_workers=True, multiprocessing_context="fork")
    before = set(active_children())
    list(made)
    worker = next(child for child in active_children() if child not in before)
    os.kill(worker.pid or 0, signal.SIGKILL)
    worker.join()
    with pytest.raises(LoaderError, match=f"pid {worker.pid}"):
        list(made)
    assert len(list(made)) == 8
    made.close()


def killed_between_batches() -> str:
    """What is heard of a worker that dies while the program works with a batch: that of torch there, or ours later."""
    before = set(active_children())
    passing = iter(loader(Counting(90), num_workers=2, multiprocessing_context="fork"))
    next(passing)
    worker = next(child for child in active_children() if child not in before)
    try:
        os.kill(worker.pid or 0, signal.SIGKILL)
        wait([worker.sentinel], 60)  # which leaves its end to be seen by torch, too
        time.sleep(0.3)
    except RuntimeError as error:
        return f"torch: {error}"
    with pytest.raises(LoaderError) as caught:
        next(passing)
    return str(caught.value)


def test_a_worker_that_dies_between_batches_is_told_with_the_next() -> None:
    assert "signal 9 (SIGKILL)" in killed_between_batches()


def test_a_handler_that_is_left_on_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[int] = []
    remove = hooks._remove_worker_pids
    monkeypatch.setattr(hooks, "_remove_worker_pids", known.append)
    try:
        assert killed_between_batches().startswith("torch: DataLoader worker")
    finally:
        for key in known:
            with suppress(ValueError):
                remove(key)


class Hanging(Counting):
    def __getitem__(self, index: int) -> dict[str, Any]:
        time.sleep(60 * (index > 0))
        return super().__getitem__(index)


def test_a_message_that_its_worker_cannot_end_any_more_is_not_waited_for() -> None:
    passing = iter(loader(Hanging(9), num_workers=1, multiprocessing_context="fork"))
    next(passing)
    inner = passing._inner._inner  # type: ignore[attr-defined]

    def cut_off() -> None:
        time.sleep(0.3)
        os.write(inner._worker_result_queue._writer.fileno(), struct.pack("!i", 1_000_000) + b"the beginning")
        time.sleep(0.3)
        os.kill(inner._workers[0].pid, signal.SIGKILL)

    writer = threading.Thread(target=cut_off)
    writer.start()
    with pytest.raises(LoaderError, match="SIGKILL"):
        next(passing)
    writer.join()
