"""Workers: settings, death, and what stays of them."""

import gc
import os
import queue
import random
import signal
import struct
import sys
import threading
import time
from contextlib import suppress
from multiprocessing import AuthenticationError, active_children, get_context
from multiprocessing.connection import wait
from multiprocessing.queues import Queue
from pickle import UnpicklingError
from typing import Any, NamedTuple

import cv2
import pytest
import torch
from programs import Programs
from support.checks import in_a_soak
from support.datasets import Counting, Dying, Settings, values

from augrecipes import Loader, LoaderError, loader
from augrecipes.compat import torch as hooks
from augrecipes.data import processes
from augrecipes.data.processes import dead_worker, death_of


def test_workers_use_one_thread() -> None:
    assert values(loader(Settings(1), num_workers=1)) == [1, 1]


def test_in_process_libraries_use_one_thread_while_reading() -> None:
    before, of_torch = cv2.getNumThreads(), torch.get_num_threads()
    try:
        cv2.setNumThreads(2)
        torch.set_num_threads(2)
        assert values(loader(Settings(1), num_workers=0)) == [1, 1]
        assert (cv2.getNumThreads(), torch.get_num_threads()) == (2, 2)
    finally:
        cv2.setNumThreads(before)
        torch.set_num_threads(of_torch)


def remember(worker: int) -> None:
    torch.remembered = worker  # type: ignore[attr-defined]


class Remembering(Counting):
    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"image": torch.tensor([torch.remembered]), "index": index}  # type: ignore[attr-defined]


def test_the_users_worker_init_runs_too() -> None:
    assert values(loader(Remembering(2), num_workers=2, worker_init_fn=remember)) == [0, 1]


# torch's handler of the death of a child raises wherever the program happens to be, in a `__del__` too.
in_any_place = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@in_any_place
def test_a_dead_worker_that_was_not_forked_is_an_error_and_the_loader_recovers() -> None:
    ds = Dying(4, 3, "exit")
    made = loader(ds, num_workers=1, multiprocessing_context="forkserver")
    with pytest.raises(LoaderError, match="__main__"):
        values(made)
    ds.at = -1
    made.set_epoch(0)
    assert values(made) == values(loader(Counting(4)))


def test_other_errors_of_workers_are_left_alone() -> None:
    class Buggy(Counting):
        def __getitem__(self, index: int) -> dict[str, Any]:
            raise RuntimeError("a bug of the user's")

    for workers in (0, 1):
        with pytest.raises(RuntimeError, match="a bug of the user's") as caught:
            values(loader(Buggy(1), num_workers=workers, multiprocessing_context="fork"))
        assert not isinstance(caught.value, LoaderError)


def test_a_slow_worker_times_out() -> None:
    with pytest.raises(LoaderError, match=r"timed out after 0\.2 seconds"):
        values(loader(Waiting(1), num_workers=1, multiprocessing_context="fork", timeout=0.2))


class Waiting(Counting):
    def __getitem__(self, index: int) -> dict[str, Any]:
        torch.multiprocessing.get_context("fork").Event().wait(60)
        return super().__getitem__(index)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc only")
def test_the_allocator_keeps_its_memory(programs: Programs) -> None:
    # In a process of its own, since it cannot be undone: after tuning, a freed 8 MB array is not given back.
    program = (
        "import resource, numpy as np\n"
        "from augrecipes.machine import tune_allocator\n"
        "def faults():\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "    for _ in range(20): np.ones(1 << 21, np.float32)\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before\n"
        "print(tune_allocator()); faults(); print(faults())\n"
    )
    tuned, faults = programs(program).stdout.split()
    if tuned == "True":
        assert int(faults) < 2048  # untuned, every array costs 2048


class Worker(NamedTuple):
    """A process, alive unless it has an exit code."""

    exitcode: int | None
    sentinel: int
    pid: int = 7


SIGNS = (
    EOFError(), ConnectionResetError(), BrokenPipeError(), FileNotFoundError("socket"), AuthenticationError("digest"),
    RuntimeError("DataLoader worker (pid 7) is killed by signal: Killed."), RuntimeError("Pin memory thread exited"),
    RuntimeError("received 0 items of ancdata"), UnpicklingError("truncated"), queue.Empty(),
)  # fmt: skip


@pytest.mark.parametrize("error", SIGNS, ids=repr)
def test_every_sign_of_a_dead_worker_is_known(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_DYING_SECONDS", 0.01)
    ours, theirs = os.pipe()
    try:
        alive, dead = Worker(None, ours), Worker(-9, theirs)
        assert dead_worker(error, [alive]) is None  # it is about something else: another loader, the user's code
        told = str(dead_worker(error, [alive, dead]))
    finally:
        os.close(ours), os.close(theirs)
    assert told.startswith("a worker died: worker 1 of 2 (pid 7) was killed by signal 9 (SIGKILL)\nLikely reason: ")
    assert "memory" in told


@pytest.mark.parametrize(("code", "words"), [(-7, "--shm-size"), (-11, "library crashed"), (3, "status 3"),
                                             (-15, "SIGTERM"), (-60, "signal 60"), (0, "__main__")])  # fmt: skip
def test_how_it_died_says_what_helps(code: int, words: str) -> None:
    assert words in str(death_of([Worker(code, 0)]))


def test_errors_of_the_users_code_are_told_apart() -> None:
    dead = [Worker(-9, 0)]
    assert dead_worker(EOFError("Caught EOFError in DataLoader worker process 0."), dead) is None
    assert dead_worker(RuntimeError("DataLoader is not to my liking")) is None


# Workers killed at any moment: what the program hears is a LoaderError where it asks for a batch, and nothing else.


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
    """At least so many workers are killed, half of them in passes that hear of it, each in the one way."""
    heard = done = 0
    for turn in range(10 * count):  # a fast machine ends many a pass before the worker dies
        if done >= count and heard >= count // 2:
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
        # It recovers; where nobody was told yet, the next pass would be.
        assert not told or sum(len(batch["index"]) for batch in made) == 96
        made.close()
    return heard


@in_a_soak("count", 4, 320)
def test_killed_workers_are_loader_errors(count: int) -> None:
    heard = kills(count, 0)
    print(f"{count} workers killed at random moments: {heard} passes ended in a LoaderError, the others had batches")
    assert heard >= count // 2


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


def take_along(event: Any) -> None:
    """Lock it as a worker does that is killed while it asks whether all is over."""
    killed = get_context("fork").Process(target=event._event._cond._lock.acquire)
    killed.start()
    killed.join()
    assert not event._event._cond._lock.acquire(timeout=0.1)


@pytest.mark.parametrize("dies", [True, False])
def test_a_lock_that_a_dead_worker_took_along_is_not_waited_for(dies: bool) -> None:
    made = loader(Counting(90), num_workers=2, multiprocessing_context="fork")
    before, passing = set(active_children()), iter(made)
    next(passing)
    inner = passing._inner._inner  # type: ignore[attr-defined]
    worker = next(child for child in active_children() if child not in before)
    take_along(inner._workers_done_event)
    assert not inner._workers_done_event.is_set()  # as torch asks wherever it looks who is dead
    if dies:
        os.kill(worker.pid or 0, signal.SIGKILL)
        with pytest.raises(LoaderError, match=f"pid {worker.pid}"):
            list(passing)
    else:
        hooks.end_workers(inner)
    assert not set(active_children()) - before
    assert len(list(made)) == 90


def test_a_queue_that_was_interrupted_while_it_was_locked_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    locked: list[Any] = []

    def put(queue: Any, *_: Any) -> None:
        locked.append(queue._notempty)
        queue._start_thread()  # who ends the queue takes the lock
        queue._notempty.acquire()
        raise RuntimeError("DataLoader worker (pid 1) is killed by signal: Killed.")

    with monkeypatch.context() as patched:
        patched.setattr(Queue, "put", put)
        with pytest.raises(LoaderError, match="pid 1"):
            next(iter(loader(Counting(90), num_workers=2, multiprocessing_context="fork")))
    gc.collect()
    assert locked and all(lock.acquire(timeout=5) for lock in locked)


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
