"""Workers: settings, death, and what stays of them."""

from __future__ import annotations

import os
import queue
import sys
from multiprocessing import AuthenticationError
from pickle import UnpicklingError
from typing import Any, NamedTuple

import cv2
import pytest
import torch
from counting import Counting, Dying, values
from programs import Programs

from augrecipes import machine
from augrecipes.data import processes
from augrecipes.data.loader import loader
from augrecipes.data.processes import dead_worker, the_dead
from augrecipes.errors import LoaderError


class Settings(Counting):
    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"image": torch.tensor([cv2.getNumThreads(), torch.get_num_threads()]), "index": index}


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
@pytest.mark.parametrize("how", ["exit", "kill"])
@pytest.mark.parametrize("persistent", [False, True])
def test_a_dead_forked_worker_is_an_error(how: str, persistent: bool) -> None:
    ds = Dying(12, 5, how)
    options = {"num_workers": 1, "multiprocessing_context": "fork", "persistent_workers": persistent}
    made = loader(ds, batch_size=2, **options)
    with pytest.raises(LoaderError, match="a worker died"):
        values(made)


@in_any_place
def test_a_dead_spawned_worker_is_an_error_and_the_loader_recovers() -> None:
    ds = Dying(4, 3, "exit")
    made = loader(ds, num_workers=1, multiprocessing_context="spawn")
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


@pytest.mark.parametrize("value", ["0", "no", "OFF"])
def test_the_allocator_can_be_left_alone(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(machine.TUNING, value)
    assert machine.tune_allocator() is False


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
    assert words in str(the_dead([Worker(code, 0)]))


def test_a_worker_that_nobody_knows_by_its_process() -> None:
    told = str(dead_worker(RuntimeError("DataLoader worker (pid 7) is killed by signal: Killed.")))
    assert "a worker died: DataLoader worker (pid 7) is killed" in told


def test_errors_of_the_users_code_are_told_apart() -> None:
    dead = [Worker(-9, 0)]
    assert dead_worker(EOFError("Caught EOFError in DataLoader worker process 0."), dead) is None
    assert dead_worker(RuntimeError("DataLoader is not to my liking")) is None
