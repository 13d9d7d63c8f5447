"""Passes: however one ends its threads end, and one that cannot go on says so."""

import gc
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from programs import Programs
from support.checks import in_a_thread
from support.datasets import WAYS, Counting, Settings, Wrapped, as_they_are, indices, values
from torch.utils.data import Dataset, Subset, get_worker_info

from augrecipes import DataError, Loader, LoaderError, Samples, loader
from augrecipes.data.processes import delay_interrupts
from augrecipes.data.threads import Budget, ReaderPool


@pytest.fixture(autouse=True)
def settings_and_threads() -> Iterator[None]:
    """Every test leaves no thread behind, and OpenCV and torch as the user had set them."""
    before = cv2.getNumThreads(), torch.get_num_threads()
    cv2.setNumThreads(2)
    torch.set_num_threads(2)
    try:
        yield
        wait_until(lambda: not readers())
        assert (cv2.getNumThreads(), torch.get_num_threads(), in_a_thread(torch.get_num_threads)) == (2, 2, 2)
    finally:
        cv2.setNumThreads(before[0])
        torch.set_num_threads(before[1])


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("augrecipes-reader")]


def wait_until(fact: Any) -> None:
    until = time.monotonic() + 60  # only what hangs takes so long
    while not fact():
        assert time.monotonic() < until
        time.sleep(0.005)


def threaded(ds: Any, batch_size: int = 1, workers: int = 2, **options: Any) -> Loader:
    return loader(ds, batch_size, backend="threads", num_workers=workers, **options)


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


def read_whole(made: Loader) -> None:
    for _ in range(2):
        list(made)
        assert not readers()


def break_off(made: Loader) -> None:
    for _ in made:
        break


def drop_half_read(made: Loader) -> None:
    passing = iter(made)
    next(passing)
    assert len(readers()) == 2
    cycle = [passing]
    cycle.append(cycle)  # type: ignore[arg-type]
    del passing, cycle
    gc.collect()


def raise_between_batches(made: Loader) -> None:
    with pytest.raises(ZeroDivisionError):
        raise_after_one(made)


def raise_after_one(made: Loader) -> None:
    for _ in made:
        raise ZeroDivisionError


@pytest.mark.parametrize("end", [read_whole, break_off, drop_half_read, raise_between_batches])
def test_however_a_pass_ends_its_threads_end(end: Callable[[Loader], None]) -> None:
    end(threaded(Counting(20), 3))
    wait_until(lambda: not readers())


@pytest.mark.parametrize("error", [RuntimeError, MemoryError, SystemExit, KeyboardInterrupt])
def test_whatever_is_raised_in_a_thread_is_raised_to_the_user(error: type[BaseException]) -> None:
    passing = iter(threaded(Buggy(error), 2))
    assert [next(passing)["index"].tolist() for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(error, match="a bug of the user's"):
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


def test_a_sample_that_hangs_times_out_and_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReaderPool.join, "__defaults__", (0.1,))  # it is given up after so long, not after seconds
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


# How far batches are read ahead is bounded in bytes, and shared memory that is full is told instead of fatal.


class Sized(Counting):
    """Sample i is `sizes[i]` bytes, and notes in a folder when it is read."""

    def __init__(self, sizes: list[int], notes: Path) -> None:
        super().__init__(len(sizes))
        self.sizes, self.notes = sizes, notes

    def __getitem__(self, index: int) -> dict[str, Any]:
        (self.notes / str(index)).touch()
        return {"image": torch.zeros(self.sizes[index], dtype=torch.uint8), "index": index}


def read(notes: Path, wanted: int) -> int:
    """How many samples were begun, a while after as many as are wanted."""
    until = time.monotonic() + 60  # only what hangs takes so long
    while len(list(notes.iterdir())) < wanted and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.2)
    return len(list(notes.iterdir()))


THREADS: dict[str, Any] = {"backend": "threads", "num_workers": 2}


@pytest.mark.parametrize("options", [THREADS, {**THREADS, "in_order": False}], ids=["in-order", "any-order"])
def test_no_more_is_under_way_than_fits(tmp_path: Path, options: dict[str, Any]) -> None:
    passing = iter(loader(Sized([992] * 30, tmp_path), prefetch_bytes=3500, prefetch_factor=4, **options))
    first = [int(next(passing)["index"])]
    assert read(tmp_path, 1 + 3) == 1 + 3  # one handed out, and three of 1,000 bytes
    first.append(int(next(passing)["index"]))
    assert read(tmp_path, 2 + 3) == 2 + 3
    assert sorted([*first, *indices(passing)]) == list(range(30))


@given(st.integers(1, 10**6), st.integers(1, 64), st.lists(st.integers(1, 10**6), min_size=1))
def test_a_budget_keeps_its_bounds(limit: int, most: int, sizes: list[int]) -> None:
    budget = Budget(limit, most)
    assert budget.allowed() == 1
    for k, size in enumerate(sizes):
        budget.add(torch.empty(size, dtype=torch.uint8))
        largest = max(sizes[: k + 1])
        assert 1 <= budget.allowed() <= most
        assert budget.allowed() == 1 or budget.allowed() * largest <= limit


class Shared(Counting):
    """Makes its samples of 3 MiB, so that a batch is made in shared memory."""

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"image": torch.zeros(3 << 20, dtype=torch.uint8), "index": index}


def test_full_shared_memory_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise RuntimeError("unable to allocate shared memory(shm) for file </torch_1>: No space left on device (28)")

    monkeypatch.setattr("torch.UntypedStorage._new_shared", full)
    made = loader(Shared(4), 2, num_workers=1, multiprocessing_context="fork")
    with pytest.raises(LoaderError, match=r'shared memory \(/dev/shm\) is full: backend="threads"'):
        list(made)
    assert len(list(loader(Shared(4), 2, backend="threads", num_workers=1))) == 2


# Passes that cannot go on say so: a StopIteration of the user's, forked processes, several threads, and Ctrl-C.


N = 20
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")


class Stops(Dataset[Any]):
    """Raises StopIteration at sample 7, as one that calls `next` of what is used up; and where epochs are odd."""

    def __init__(self, at: int = 7) -> None:
        self.at = at

    def __len__(self) -> int:
        return N

    def __getitem__(self, index: int) -> Any:
        if index == self.at:
            raise StopIteration("used up")
        return torch.tensor(index)

    def set_epoch(self, epoch: int) -> None:
        if epoch % 2 and get_worker_info():
            raise StopIteration


class StopsInBatches(Stops):
    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self[index] for index in indices]


def collate_none(samples: list[Any]) -> Any:
    return next(iter(()))


def begin_none(worker: int) -> None:
    raise StopIteration


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [Stops, StopsInBatches, lambda: Wrapped(Stops()), lambda: Subset(Stops(), range(N))])
def test_a_stop_iteration_is_an_error_that_names_the_sample(make: Any, way: str) -> None:
    passing = iter(loader(make(), 2, **WAYS[way]))
    assert len([next(passing) for _ in range(3)]) == 3
    with pytest.raises(DataError, match=r"asked for sample (6, )?7, raised StopIteration.*: used up"):
        list(passing)


@pytest.mark.parametrize("way", WAYS)
def test_so_it_is_in_other_code_of_the_users(way: str) -> None:
    with pytest.raises(DataError, match="the collate function raised StopIteration"):
        list(loader(Stops(-1), 2, collate=collate_none, **WAYS[way]))
    source: Any = Stops()
    with pytest.raises(DataError, match=r"Stops\[7\].*StopIteration: used up"):
        list(loader(Samples(source, "folder-128", labels=[*range(N)]).subset([7]), **WAYS[way]))


def test_so_it_is_where_workers_begin() -> None:
    made = loader(Stops(-1), 2, **WAYS["forked, that stay"])
    list(made)
    for broken in (made, loader(Stops(-1), worker_init_fn=begin_none, **WAYS["forked"])):
        with pytest.raises(DataError, match="worker_init_fn, or set_epoch of the dataset, raised StopIteration"):
            list(broken)


@forks
@pytest.mark.parametrize("way", sorted(WAYS.keys() - {"here"}))
def test_a_forked_child_is_told_and_begins_a_pass_of_its_own(way: str) -> None:
    made = loader(Counting(60), 2, **WAYS[way])
    passing = iter(made)
    next(passing)
    pid = os.fork()
    if not pid:
        signal.alarm(60)  # only what hangs takes so long
        try:
            _read_on(made, passing)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 17
    assert len(list(passing)) == 29
    assert len(list(made)) == 30
    made.close()


def _read_on(made: Loader, passing: Iterator[Any]) -> None:
    try:
        next(passing)
    except LoaderError as error:
        assert "process" in str(error)
        assert len(values(made)) == 60
        del passing, made
        gc.collect()
        os._exit(17)


@pytest.mark.parametrize("way", ["here", "threads"])
def test_threads_that_share_a_pass_are_told(way: str) -> None:
    begun, go = threading.Event(), threading.Event()

    class Waiting(Counting):
        def __getitem__(self, index: int) -> dict[str, Any]:
            begun.set()
            assert go.wait(60)
            return super().__getitem__(index)

    passing, batches = iter(loader(Waiting(4), 2, collate=as_they_are, **WAYS[way])), list[Any]()
    first = threading.Thread(target=lambda: batches.append(next(passing)))
    first.start()
    assert begun.wait(60)
    while way == "threads" and not passing._lock.locked():  # type: ignore[attr-defined]
        pass
    with pytest.raises(LoaderError, match="another thread is reading this pass"):
        next(passing)
    go.set()
    first.join()
    assert [sample["index"] for batch in (*batches, *passing) for sample in batch] == [0, 1, 2, 3]


# Ctrl-C


PROGRAM = """
import os, signal, sys, torch
from multiprocessing import active_children
from torch.utils.data import Dataset
import augrecipes as ar

class Hears(Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, index):
        return torch.tensor(signal.getsignal(signal.SIGINT) is signal.default_int_handler)

interrupts = [1, 1]  # as many hands as fingers: it is one interrupt
def interrupt():
    while interrupts:
        interrupts.pop()
        signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
os.register_at_fork(**{sys.argv[1]: interrupt})
made = ar.loader(Hears(), num_workers=2, multiprocessing_context="fork", persistent_workers=sys.argv[2] == "stay")
try:
    list(made)
except KeyboardInterrupt:
    print("interrupted", len(active_children()), end=" ")
print([bool(heard) for heard in made], signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


@forks
@pytest.mark.parametrize("stay", ["stay", "end"])
@pytest.mark.parametrize("where", ["before", "after_in_parent"])
def test_an_interrupt_of_a_fork_is_heard_behind_it(programs: Programs, where: str, stay: str) -> None:
    done = programs(PROGRAM, where, stay)
    assert (done.stdout, done.stderr) == ("interrupted 0 [True, True] True\n", "")


def test_what_a_worker_died_of_is_no_error_beside_it() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught, delay_interrupts():
            signal.raise_signal(signal.SIGINT)
            raise LoaderError("a worker died")
        assert "a worker died" not in "".join(traceback.format_exception(caught.value))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
