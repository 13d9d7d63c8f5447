"""A sweep: every setting at every size, in turns; the recommended one; what cannot read is left out, and closed."""

import os
import random
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
from augrecipes.bench.sides import Setting, dataset_of
from augrecipes.bench.sweep import CLEARLY, Point, Sweep, default_sizes, recommended, settings_of, sweep
from augrecipes.bench.timing import Gaps
from augrecipes.data.reader_plan import BACKENDS
from augrecipes.errors import DataError

SETTINGS = ["batches", *(f"{backend}:{count}" for backend in BACKENDS[1:] for count in (1, 2, 4))]


def swept(dataset: Any, workers: Sequence[int], **more: Any) -> Sweep:
    return sweep([("mine", "exact", dataset)], workers, 2, seconds=0.01, **more)


def nobody_is_left() -> bool:
    readers = [thread for thread in threading.enumerate() if thread.name.startswith("augrecipes-reader")]
    return not active_children() and not readers


class Fragile(Dataset[torch.Tensor]):
    """Eight numbers. A worker raises at its fifth, or ends; this process reads them all."""

    def __init__(self, end: bool) -> None:
        self.end, self.read, self.home = end, 0, os.getpid()

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        self.read += os.getpid() != self.home
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
    assert found.advice_for("mine") in found.points
    assert nobody_is_left()


def test_settings_take_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    order, plain = [], sweeping._epoch
    monkeypatch.setattr(sweeping, "_epoch", lambda batches: (order.append(batches.backend), plain(batches))[1])
    made, data = kind_data("image", tmp_path)
    found = swept(dataset_of(made, Setting(data)), [0, 1], sizes=[2])
    there = ["batches", "threads", "processes"]
    assert found.rounds == 3
    assert order == there + there[::-1] + there + there[::-1]


def processes_only(monkeypatch: pytest.MonkeyPatch, *more: Any) -> None:
    """Threads would read what is known to be made for them alone."""
    monkeypatch.setattr(
        sweeping, "settings_of", lambda workers: [*more, *(one for one in settings_of(workers) if "proc" in one[0])]
    )


def test_an_error_leaves_no_process_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """One worker meets its fifth sample in its second epoch, while two others wait for theirs."""
    processes_only(monkeypatch)
    with pytest.raises(DataError, match="the fifth") as caught:
        swept(Fragile(end=False), [1, 2], sizes=[4])
    assert caught.tb is not None  # it holds what an unclosed loader would live by
    assert nobody_is_left()


# A worker that ends while memory of its is being taken over makes torch's finalizer complain where nobody can catch it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("alone", [(("batches", 0),), ()])
def test_who_cannot_read_is_left_out_and_the_others_are_measured(
    monkeypatch: pytest.MonkeyPatch, alone: tuple[Any, ...]
) -> None:
    processes_only(monkeypatch, *alone)
    found = swept(Fragile(end=True), [0, 1], sizes=[4, 8])
    assert [(point.backend, point.samples) for point in found.points] == [("batches", 4), ("batches", 8)][
        : 2 * len(alone)
    ]
    (processes,) = found.left_out
    assert processes.startswith("mine: processes:1: ")
    assert [one.backend for one in found.advice] == ["batches"][: len(alone)]
    assert nobody_is_left()


def point(name: str, seconds: float, mad: float = 0.0, samples: int = 1000) -> Point:
    backend, _, count = name.partition(":")
    workers: Any = int(count or 0)
    rate = samples / seconds
    return Point("mine", "fast", backend, workers, samples, seconds, mad, 2 * seconds, rate, Gaps(1, 2, 3))


@pytest.mark.parametrize(
    ("seconds", "mad", "name"),
    [
        ({"batches": 10, "threads:1": 10, "threads:2": 5.1, "threads:4": 5, "processes:2": 5.2}, 0, "threads:2"),
        ({"batches": 0.03, "threads:2": 0.031, "processes:2": 0.2}, 0, "batches"),  # light work
        ({"batches": 5, "threads:1": 5.1, "processes:1": 5.3}, 0, "threads:1"),  # it reads meanwhile
        ({"batches": 10, "threads:2": 10.2, "processes:2": 5.3, "processes:4": 5}, 0, "processes:2"),
        ({"threads:1": 10, "threads:2": 7}, 0.1, "threads:2"),
        ({"threads:1": 10, "threads:2": 7}, 2, "threads:1"),  # within the spread
        ({"processes:4": 10}, 0, "processes:4"),
    ],
)
def test_the_recommended_setting(seconds: dict[str, float], mad: float, name: str) -> None:
    assert recommended([point(*one, mad) for one in seconds.items()], 10).name == name


def test_the_largest_epochs_decide() -> None:
    small = point("batches", 0.01, samples=10), point("threads:2", 0.5, samples=10)
    assert recommended([*small, point("batches", 10), point("threads:2", 5)], 10).name == "threads:2"


TABLES = st.lists(
    st.tuples(st.sampled_from(SETTINGS), st.floats(0.01, 100), st.floats(0, 0.3)), min_size=1, max_size=7,
    unique_by=lambda row: row[0],
).map(lambda rows: [point(name, seconds, share * seconds) for name, seconds, share in rows])  # fmt: skip


@given(TABLES, st.randoms(use_true_random=False))
def test_the_order_of_the_points_says_nothing(points: list[Point], draw: random.Random) -> None:
    found = recommended(points, 10)
    draw.shuffle(points)
    assert recommended(points, 10) == found


@given(TABLES)
def test_nothing_is_clearly_faster_and_nothing_simpler_as_fast(points: list[Point]) -> None:
    found = recommended(points, 1)
    best = min(points, key=lambda one: one.seconds)
    assert found.seconds <= CLEARLY * best.seconds or found.seconds - found.mad <= best.seconds + best.mad
    for one in points:
        if one.workers and SETTINGS.index(one.name) < SETTINGS.index(found.name):
            assert one.seconds > CLEARLY * best.seconds


@given(st.integers(1, 10**6), st.integers(0, 64), st.integers(1, 64), st.integers(0, 10**7))
def test_sizes_of_their_own(available: int, most_workers: int, batch_size: int, fitting: int) -> None:
    sizes = default_sizes(available, batch_size, most_workers, fitting)
    fewest = batch_size * max(8, 2 * most_workers)
    assert list(sizes) == sorted(set(sizes))
    assert min(sizes) >= 4 * batch_size
    assert fewest <= max(sizes) <= max(available, 64 * batch_size, fewest)
    assert all(size % batch_size == 0 or size == available for size in sizes)
    assert max(sizes) <= max(fitting, fewest)
