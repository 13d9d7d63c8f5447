"""How far batches are read ahead is bounded in bytes, and shared memory that is full is told instead of fatal."""

from __future__ import annotations

import time
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
import torch
from counting import Counting, indices
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.data.loader import loader
from augrecipes.data.threads import Budget, size_of
from augrecipes.errors import LoaderError


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


def test_the_largest_batch_decides(tmp_path: Path) -> None:
    sizes = [92] * 4 + [9992] + [92] * 20
    made = loader(Sized(sizes, tmp_path), prefetch_bytes=1000, prefetch_factor=2, **THREADS)
    passing = iter(made)
    next(passing)
    assert read(tmp_path, 5) == 5
    for _ in range(4):
        next(passing)
    assert read(tmp_path, 8) == 8  # begun before the large one had come, and none since
    for _ in range(3):
        next(passing)
        assert read(tmp_path, 1) <= 10
    assert indices(passing) == list(range(8, 25))
    for path in tmp_path.iterdir():
        path.unlink()
    again = iter(made)  # the next pass knows
    next(again)
    assert read(tmp_path, 2) == 2


@given(st.integers(1, 10**6), st.integers(1, 64), st.lists(st.integers(1, 10**6), min_size=1))
def test_a_budget_keeps_its_bounds(limit: int, most: int, sizes: list[int]) -> None:
    budget = Budget(limit, most)
    assert budget.allowed() == 1
    for k, size in enumerate(sizes):
        budget.saw(torch.empty(size, dtype=torch.uint8))
        largest = max(sizes[: k + 1])
        assert 1 <= budget.allowed() <= most
        assert budget.allowed() == 1 or budget.allowed() * largest <= limit


def test_sizes_of_whatever_a_batch_is() -> None:
    Pair = namedtuple("Pair", "a b")
    assert size_of(Pair(torch.zeros(3), [torch.zeros(1)])) == 16
    assert size_of({"a": "text", "b": None, "c": 3}) == 0


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


@pytest.mark.parametrize("value", [0, -1, 1.5, "1G"])
def test_senseless_bounds_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="prefetch_bytes must be"):
        loader(Counting(3), prefetch_bytes=value)


def test_processes_say_that_they_do_not_heed_it(caplog: pytest.LogCaptureFixture) -> None:
    loader(Counting(3), prefetch_bytes=100, **THREADS)
    assert not caplog.records
    loader(Counting(3), prefetch_bytes=100, backend="processes", num_workers=1)
    assert "prefetch_bytes is for threads" in caplog.text
