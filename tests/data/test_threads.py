"""Reading in threads: however a pass ends, its threads end with it, and the process is left as it was."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import pytest
import torch
from counting import Counting, indices, values
from programs import Programs
from torch.utils.data import TensorDataset

from augrecipes.data.loader import Loader, loader
from augrecipes.errors import LoaderError

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def settings_and_threads() -> Iterator[None]:
    """Every test leaves no thread behind, and OpenCV and torch as the user had set them."""
    before = cv2.getNumThreads(), torch.get_num_threads()
    cv2.setNumThreads(2)
    torch.set_num_threads(2)
    try:
        yield
        wait_until(lambda: not readers())
        assert (cv2.getNumThreads(), torch.get_num_threads(), _of_a_new_thread()) == (2, 2, 2)
    finally:
        cv2.setNumThreads(before[0])
        torch.set_num_threads(before[1])


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("augrecipes")]


def wait_until(fact: Any) -> None:
    until = time.monotonic() + 60  # only what hangs takes so long
    while not fact():
        assert time.monotonic() < until
        time.sleep(0.005)


def _of_a_new_thread() -> int:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    return found[0]


def threaded(ds: Any, batch_size: int = 1, workers: int = 2, **options: Any) -> Loader:
    return loader(ds, batch_size, backend="threads", num_workers=workers, **options)


class Settings(Counting):
    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"image": torch.tensor([cv2.getNumThreads(), torch.get_num_threads()]), "index": index}


class Slow(Counting):
    """The samples in `slow` are done when `go` is set."""

    def __init__(self, n: int, *slow: int) -> None:
        super().__init__(n)
        self.slow, self.go = slow, threading.Event()
        self.begun: list[int] = []

    def __getitem__(self, index: int) -> dict[str, Any]:
        self.begun.append(index)
        if index in self.slow:
            assert self.go.wait(60)
        return super().__getitem__(index)


class Buggy(Counting):
    def __init__(self, error: type[BaseException]) -> None:
        super().__init__(20)
        self.error = error

    def __getitem__(self, index: int) -> dict[str, Any]:
        if index == 7:
            raise self.error("a bug of the user's")
        return super().__getitem__(index)


def test_libraries_use_one_thread_while_threads_read() -> None:
    made = threaded(Settings(8))
    passing = iter(made)
    assert next(passing)["image"].tolist() == [[1, 1]]
    assert torch.get_num_threads() == 2
    assert {v for batch in passing for v in batch["image"].flatten().tolist()} == {1}


def test_passes_beside_each_other_share_the_setting() -> None:
    first, second = iter(threaded(Settings(4))), iter(threaded(Settings(4)))
    next(first), next(second)
    list(first)
    assert [b["image"].tolist() for b in second] == [[[1, 1]]] * 3


def test_a_whole_pass_ends_its_threads() -> None:
    made = threaded(Counting(20), 3)
    for _ in range(2):
        list(made)
        assert not readers()


def test_a_break_ends_them() -> None:
    for k, _ in enumerate(threaded(Counting(20), 3)):
        if k == 2:
            break
    wait_until(lambda: not readers())


def test_a_half_read_iterator_that_is_dropped_ends_them() -> None:
    passing = iter(threaded(Counting(20), 3))
    next(passing)
    assert len(readers()) == 2
    cycle = [passing]
    cycle.append(cycle)  # type: ignore[arg-type]
    del passing, cycle
    gc.collect()
    wait_until(lambda: not readers())


def test_an_exception_of_the_consumer_ends_them() -> None:
    def train() -> None:
        for _ in threaded(Counting(20), 3):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train()
    wait_until(lambda: not readers())


@pytest.mark.parametrize("error", [RuntimeError, MemoryError, SystemExit, KeyboardInterrupt, StopIteration])
def test_whatever_is_raised_in_a_thread_is_raised_to_the_user(error: type[BaseException]) -> None:
    passing = iter(threaded(Buggy(error), 2))
    assert [next(passing)["index"].tolist() for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises((error, RuntimeError), match="a bug of the user's"):
        next(passing)
    assert not readers()
    assert list(passing) == []


def test_the_first_broken_sample_is_told_even_if_a_later_one_is_sooner() -> None:
    class Both(Slow):
        def __getitem__(self, index: int) -> dict[str, Any]:
            if index == 1:
                self.go.set()
                raise RuntimeError("sample 1")
            found = super().__getitem__(index)
            if index == 0:
                raise RuntimeError("sample 0")
            return found

    for _ in range(3):
        with pytest.raises(RuntimeError, match="sample 0"):
            list(threaded(Both(8, 0), 8))


def test_a_sample_that_hangs_times_out_and_holds_nobody_up() -> None:
    ds = Slow(8, 3)
    with pytest.raises(LoaderError, match=r"timed out after 0\.1 seconds"):
        list(threaded(ds, 2, timeout=0.1))
    assert not ds.go.is_set()  # it hangs still
    ds.go.set()


def test_finished_batches_may_overtake() -> None:
    ds = Slow(10, 0)
    order = []
    for batch in threaded(ds, in_order=False):
        order.append(int(batch["index"]))
        if len(order) == 5:
            ds.go.set()
    assert sorted(order) == list(range(10))
    assert order.index(0) > 4
    assert indices(threaded(ds)) == list(range(10))


def test_it_reads_ahead_as_far_as_it_may_and_no_further() -> None:
    ds = Slow(40)
    passing = iter(threaded(ds, 2, prefetch_factor=2))
    next(passing)
    wait_until(lambda: len(ds.begun) == 2 + 2 * 2 * 2)  # one handed out, and two for each thread
    time.sleep(0.05)
    assert len(ds.begun) == 10
    next(passing)
    wait_until(lambda: len(ds.begun) == 12)


def test_bytes_bound_how_far_it_reads_ahead() -> None:
    class Large(Slow):
        def __getitem__(self, index: int) -> dict[str, Any]:
            return {**super().__getitem__(index), "image": torch.zeros(1000, dtype=torch.uint8)}

    ds = Large(40)
    passing = iter(threaded(ds, 2, prefetch_factor=8, prefetch_bytes=7000))
    next(passing)
    wait_until(lambda: len(ds.begun) == 2 + 3 * 2)  # 2,008 bytes a batch
    time.sleep(0.05)
    assert len(ds.begun) == 8


def test_datasets_of_others_can_be_read_in_threads() -> None:
    assert [b[0].tolist() for b in threaded(TensorDataset(torch.arange(5)), 2)] == [[0, 1], [2, 3], [4]]


PROGRAM = """
import sys, time
sys.path.insert(0, "tests/data")
from counting import Counting
from augrecipes.data.loader import loader
class Slow(Counting):
    def __getitem__(self, index):
        time.sleep(0.01)
        return super().__getitem__(index)
passing = iter(loader(Slow(100_000), 2, backend="threads", num_workers=3))
next(passing)
print("begun", flush=True)
"""


@pytest.mark.parametrize(("rest", "status"), [("", 0), ("1 / 0", 1)])
def test_a_program_that_ends_is_not_held_up(programs: Programs, rest: str, status: int) -> None:
    assert programs(PROGRAM + rest).returncode == status


def test_an_interrupt_ends_the_program() -> None:
    heard = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"  # wherever it was ignored
    command = [sys.executable, "-c", heard + PROGRAM + "for _ in passing: pass"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "begun\n"
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=120)
    assert "KeyboardInterrupt" in told


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_may_read_and_leave() -> None:
    """A process that is forked in the middle of a pass drops its copy of the pass without touching the threads."""
    passing = iter(threaded(Counting(60), 2))
    next(passing)
    assert values(loader(Counting(9), 2, num_workers=1, multiprocessing_context="fork")) == values(
        loader(Counting(9), 2)
    )
    pid = os.fork()
    if not pid:
        del passing
        gc.collect()
        os._exit(17)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 17
    assert len(list(passing)) == 29
