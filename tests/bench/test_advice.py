"""The setting that is advised, from made-up measurements: what is known can be held against what is said."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.bench.advice import CLEARLY, Advice, Point, advise
from augrecipes.bench.workers import Gaps
from augrecipes.data.choice import BACKENDS

SETTINGS = [("batches", 0), *((backend, count) for backend in BACKENDS[1:] for count in (1, 2, 4))]
SAMPLES = 1000


def point(name: str, seconds: float, mad: float = 0.0, samples: int = SAMPLES) -> Point:
    backend, _, count = name.partition(":")
    workers: Any = int(count or 0)
    rate = samples / seconds
    return Point("mine", "fast", backend, workers, samples, seconds, mad, 2 * seconds, rate, Gaps(1, 2, 3))


def advised(*points: Point, cores: int = 2, batch_size: int = 10, **more: Any) -> Advice:
    return advise(points, cores=cores, batch_size=batch_size, **more)


def test_heavy_work_is_worth_workers_up_to_the_cores() -> None:
    """Ten milliseconds a sample, two cores."""
    found = advised(
        point("batches", 10), point("threads:1", 10), point("threads:2", 5.1), point("threads:4", 5),
        point("processes:2", 5.2),
    )  # fmt: skip
    assert (found.backend, found.workers) == ("threads", 2)
    assert (
        found.text
        == "threads:2: 196 samples/s, 2.0 times as many as without workers; 4 threads bring no more (2 cores)"
    )


def test_light_work_needs_no_workers() -> None:
    """A batch of 10 takes 0.3 ms: handing it over would take as long."""
    found = advised(point("batches", 0.03), point("threads:2", 0.031), point("processes:2", 0.2))
    assert (found.backend, found.workers) == ("batches", 0)
    assert found.text == "batches (no workers): 33,333 samples/s; workers bring no more (2 cores)"


def test_a_worker_that_is_as_quick_reads_while_the_training_runs() -> None:
    found = advised(point("batches", 5), point("threads:1", 5.1), point("processes:1", 5.3), cores=1)
    assert found.name == "threads:1"
    assert "about as many as without workers, but read while" in found.text


def test_only_processes_help_where_threads_cannot() -> None:
    found = advised(point("batches", 10), point("threads:2", 10.2), point("processes:2", 5.3), point("processes:4", 5))
    assert found.name == "processes:2"
    assert found.text.endswith("processes:4, the quickest, brings 6 % more (2 cores)")


def test_the_spread_counts() -> None:
    calm = point("threads:1", 10, 0.1), point("threads:2", 7, 0.1)
    noisy = point("threads:1", 10, 2), point("threads:2", 7, 2)
    assert advised(*calm).name == "threads:2"
    assert advised(*noisy).name == "threads:1"
    assert "threads:2, the quickest, brings 43 % more, within the spread" in advised(*noisy).text


def test_the_largest_epochs_decide() -> None:
    small = point("batches", 0.01, samples=10), point("threads:2", 0.5, samples=10)
    assert advised(*small, point("batches", 10), point("threads:2", 5)).name == "threads:2"


def test_more_cores_than_were_tried() -> None:
    assert advised(point("batches", 10), point("threads:2", 5), cores=8).text.endswith("more were not tried (8 cores)")


def test_one_setting_is_what_there_is() -> None:
    assert advised(point("processes:4", 10)).text == "processes:4: 100 samples/s; nothing else was tried"


# -- a training step is known: a batch of 10 takes a hundredth of an epoch --------------------------------------------


TRIED = point("batches", 10), point("threads:1", 10), point("threads:2", 5), point("threads:4", 4.8)


@pytest.mark.parametrize(
    ("step_ms", "name", "said"),
    [
        (5000.0, "batches", "2 % is waiting"),
        (126.0, "threads:1", "the loader keeps ahead"),
        (63.0, "threads:2", "the loader keeps ahead"),
        (50.0, "threads:2", "the loader keeps up, with little to spare; threads:4, the quickest, brings 4 % more"),
        (25.0, "threads:2", "50 % is waiting; threads:4"),
    ],
)  # fmt: skip
def test_as_few_as_keep_ahead_of_the_training(step_ms: float, name: str, said: str) -> None:
    found = advised(*TRIED, step_ms=step_ms)
    assert found.name == name
    assert said in found.text


def test_without_workers_every_batch_is_waited_for() -> None:
    """As quick as a thread, but not at the same time as the training."""
    assert advised(point("batches", 1), point("threads:1", 1), step_ms=15.0).name == "threads:1"
    assert "40 % is waiting; nothing else" in advised(point("batches", 1), step_ms=15.0).text


# -- laws --------------------------------------------------------------------------------------------------------------

TABLES = st.lists(
    st.tuples(st.sampled_from(SETTINGS), st.floats(0.01, 100), st.floats(0, 0.3)), min_size=1, max_size=7,
    unique_by=lambda row: row[0],
)  # fmt: skip
STEPS = st.none() | st.floats(0.1, 1000)


def points_of(rows: list[Any]) -> list[Point]:
    return [point(f"{backend}:{count}", seconds, share * seconds) for (backend, count), seconds, share in rows]


@given(TABLES, STEPS, st.randoms(use_true_random=False))
def test_the_order_of_the_points_says_nothing(rows: list[Any], step_ms: float | None, draw: random.Random) -> None:
    points = points_of(rows)
    told = advised(*points, step_ms=step_ms)
    draw.shuffle(points)
    assert advised(*points, step_ms=step_ms) == told


@given(TABLES)
def test_nothing_is_clearly_quicker_and_nothing_simpler_as_quick(rows: list[Any]) -> None:
    points = points_of(rows)
    found = advised(*points, batch_size=1)
    (chosen,) = [one for one in points if one.name == found.name]
    best = min(points, key=lambda one: one.seconds)
    assert chosen.seconds <= CLEARLY * best.seconds or chosen.seconds - chosen.mad <= best.seconds + best.mad
    for one in points:
        if one.workers and SETTINGS.index((one.backend, one.workers)) < SETTINGS.index((found.backend, found.workers)):
            assert one.seconds > CLEARLY * best.seconds


@given(TABLES, st.floats(0.1, 1000), st.floats(1, 10))
def test_a_longer_step_never_needs_more_to_keep_ahead(rows: list[Any], step_ms: float, times: float) -> None:
    points = points_of(rows)
    short, long = (advised(*points, step_ms=step) for step in (step_ms, times * step_ms))
    if "keeps ahead" in short.text:
        assert SETTINGS.index((long.backend, long.workers)) <= SETTINGS.index((short.backend, short.workers))
