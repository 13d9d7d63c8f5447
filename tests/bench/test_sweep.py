"""A sweep: every setting at every size, in turns; what cannot read is left out, and nobody is left behind."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_data import KINDS, kind_data
from torch.utils.data import Dataset

from augrecipes.bench import sweep as sweeping
from augrecipes.bench.cold import Evicted, can_evict
from augrecipes.bench.run import Options, bench
from augrecipes.bench.scope import Scope, default_sizes
from augrecipes.bench.sides import Setting, dataset_of
from augrecipes.bench.sweep import Sweep, Swept, advised, sweep
from augrecipes.errors import DataError
from augrecipes.machine import cores
from augrecipes.recipe.parse import parse_text

HERE = os.getpid()


def swept(dataset: Any, workers: Sequence[int], **more: Any) -> Sweep:
    return sweep([Swept("mine", "exact", dataset)], Scope(workers, 2, **{"seconds": 0.01, **more}))


def nobody_is_left() -> bool:
    readers = [thread for thread in threading.enumerate() if thread.name.startswith("augrecipes-reader")]
    return not active_children() and not readers


class Fragile(Dataset[torch.Tensor]):
    """Eight numbers. A worker raises at its fifth, or ends; this process reads them all."""

    def __init__(self, end: bool) -> None:
        self.end, self.read = end, 0

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        self.read += os.getpid() != HERE
        if self.read == 5:
            if self.end:
                os._exit(1)
            raise DataError("the fifth")
        return torch.tensor(index)


@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_at_every_size(kind: str, tmp_path: Path) -> None:
    made, data = kind_data(kind, tmp_path)
    found = swept(dataset_of(made, Setting(data)), [1, 0], sizes=[6, 2])
    assert [(point.backend, point.workers, point.samples) for point in found.points] == [
        (*setting, size) for size in (2, 6) for setting in (("batches", 0), ("threads", 1), ("processes", 1))
    ]
    for point in found.points:
        assert point.samples_per_second == pytest.approx(point.samples / point.seconds)
        assert 0 < point.gaps.p50 <= point.gaps.p95 <= point.gaps.p99
        assert min(point.seconds, point.first_seconds) > 0 <= point.mad < point.seconds
    assert found.sizes == (2, 6)
    assert found.available < 6
    assert found.left_out == ()
    assert found.advice_for("mine") is not None
    assert nobody_is_left()


def test_settings_take_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sweeping, "_pace", lambda dataset, scope: 1.0)
    order, plain = [], sweeping._Sweeping._epoch

    def epoch(run: Any, one: Any, timed: Any, size: int) -> bool:
        order.append(timed.backend)
        return plain(run, one, timed, size)

    monkeypatch.setattr(sweeping._Sweeping, "_epoch", epoch)
    made, data = kind_data("image", tmp_path)
    found = swept(dataset_of(made, Setting(data)), [0, 1], sizes=[2])
    there = ["batches", "threads", "processes"]
    assert found.rounds == 3
    assert order == there + there[::-1] + there + there[::-1]


def test_an_error_leaves_no_process_behind() -> None:
    """One worker meets its fifth sample in its second epoch, while two others wait for theirs."""
    with pytest.raises(DataError, match="the fifth") as caught:
        swept(Fragile(end=False), [1, 2], sizes=[4])
    assert caught.tb is not None  # it holds what an unclosed loader would live by
    assert nobody_is_left()


# A worker that ends while memory of its is being taken over makes torch's finalizer complain where nobody can catch it.
DYING = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@DYING
def test_who_cannot_read_is_left_out_and_the_others_are_measured() -> None:
    found = swept(Fragile(end=True), [0, 1], sizes=[4, 8])
    assert [(point.backend, point.samples) for point in found.points] == [("batches", 4), ("batches", 8)]
    threads, processes = found.left_out
    assert threads.startswith("mine: threads: the dataset is not one")
    assert processes.startswith("mine: processes:1: ")
    assert found.advice[0].text.endswith("nothing else was tried")
    assert nobody_is_left()


@DYING
def test_without_anyone_there_is_no_advice() -> None:
    found = swept(Fragile(end=True), [1], sizes=[8])
    assert (found.points, found.advice) == ((), ())
    assert len(found.left_out) == 2


def napping(photos: Path) -> Any:
    made = parse_text("version: 1\nrecipe: mine\nsteps:\n  - Nap: {p: 1.0}  # augrecipes: ignore[L205]\neval: []\n")
    options = Options(["exact"], samples=4, seconds=0.01, workers=[0, 2], sizes=[16], effects=False)
    return bench({"mine": made}, Setting(photos), options)


def test_workers_that_pay_are_advised(photos: Path, dawdle: Any, recorded: Any) -> None:
    """And a record holds it all."""
    recorded(0.04)
    found = napping(photos)
    assert found.sweep is not None
    (advice,) = found.sweep.advice
    assert (advice.backend, advice.workers) == ("threads", 2), found.sweep
    assert "2.0 times as many as without workers" in advice.text
    told = found.to_json()["sweep"]
    assert told["advice"][0]["text"] == advice.text
    assert set(told["points"][0]["gaps"]) == {"p50", "p95", "p99"}
    # A training that takes no time has use for two; one that takes long for none.
    for step_ms, workers in ((1.0, 2), (1e6, 0)):
        (again,) = advised(found.sweep, cores=2, batch_size=4, step_ms={advice.recipe: step_ms}).advice
        assert again.workers == workers


@pytest.mark.skipif(not can_evict(), reason="no posix_fadvise here")
def test_every_epoch_is_cold_where_that_is_asked_for(tmp_path: Path) -> None:
    made, data = kind_data("image", tmp_path)
    told = Evicted()
    found = swept(dataset_of(made, Setting(data)), [0], sizes=[3, 8], cold=told)
    assert told.asked == (1 + found.rounds) * (3 + 4)  # files, of which there are four


@given(
    st.integers(1, 10**6), st.lists(st.integers(0, 64), min_size=1, max_size=5, unique=True), st.integers(1, 64),
    st.floats(1e-6, 10), st.floats(0.01, 600),
)  # fmt: skip
def test_sizes_of_their_own(available: int, workers: list[int], batch_size: int, pace: float, seconds: float) -> None:
    scope = Scope(workers, batch_size, seconds=seconds)
    sizes = default_sizes(available, scope, pace)
    fewest = batch_size * max(4, 2 * max(workers))
    assert list(sizes) == sorted(set(sizes))
    assert min(sizes) >= 4 * batch_size
    assert fewest <= max(sizes) <= max(available, 64 * batch_size, fewest)
    assert all(size % batch_size == 0 or size == available for size in sizes)
    # All settings together, three rounds and the first epoch, take no longer than asked for, unless that is too short.
    together = sum(1 / min(max(count, 1), cores()) for _, count in scope.settings)
    if max(sizes) > fewest and len(sizes) == 3:
        assert 4 * together * sum(sizes) * pace <= 1.01 * seconds * len(workers) + 4 * together * 8 * batch_size * pace
