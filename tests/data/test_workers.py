"""Workers: settings, death, and what stays of them."""

from __future__ import annotations

import sys
from typing import Any

import cv2
import pytest
import torch
from counting import Counting, Dying, values
from programs import Programs

from augrecipes.data.loader import loader
from augrecipes.data.loading import allocator
from augrecipes.data.loading.worker import dead_worker
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
        assert values(loader(Settings(1))) == [1, 1]
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
        "from augrecipes.data.loading.allocator import tune\n"
        "def faults():\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "    for _ in range(20): np.ones(1 << 21, np.float32)\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before\n"
        "print(tune()); faults(); print(faults())\n"
    )
    tuned, faults = programs(program).stdout.split()
    if tuned == "True":
        assert int(faults) < 2048  # untuned, every array costs 2048


@pytest.mark.parametrize("value", ["0", "no", "OFF"])
def test_the_allocator_can_be_left_alone(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(allocator.ENVIRONMENT, value)
    assert allocator.tune() is False


@pytest.mark.parametrize("error", [EOFError(), ConnectionResetError(), FileNotFoundError("socket"),
                                   RuntimeError("DataLoader worker (pid 7) is killed by signal: Killed.")])  # fmt: skip
def test_every_sign_of_a_dead_worker_is_known(error: Exception) -> None:
    assert "a worker died" in str(dead_worker(error))


def test_errors_of_the_users_code_are_told_apart() -> None:
    assert dead_worker(EOFError("Caught EOFError in DataLoader worker process 0.")) is None
    assert dead_worker(RuntimeError("DataLoader is not to my liking")) is None
