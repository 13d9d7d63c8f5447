"""Passes that cannot go on say so: a StopIteration of the user's, forked processes, several threads, and Ctrl-C."""

import gc
import os
import signal
import threading
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from programs import Programs
from support.datasets import WAYS, Counting, Wrapped, as_they_are, values
from torch.utils.data import Dataset, Subset, get_worker_info

from augrecipes import DataError, Loader, LoaderError, Samples, loader
from augrecipes.data.processes import delay_interrupts

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
