"""Who reads: what the arguments say, what is measured where they do not, and that measuring leaves no trace."""

from __future__ import annotations

import logging
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from counting import Counting, indices, values
from gathering import Gathering
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import TensorDataset

from augrecipes.data.loader import loader
from augrecipes.data.loading import choice as choice_module
from augrecipes.data.loading import trial
from augrecipes.data.loading.choice import BACKENDS, ENVIRONMENT, best


@pytest.fixture(autouse=True)
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "SECONDS", 0.05)
    monkeypatch.setattr(trial, "_SLOW_SECONDS", 60.0)  # however busy the machine is
    monkeypatch.setattr(trial, "_PATIENCE_SECONDS", 60.0)
    monkeypatch.setattr(choice_module, "cores", lambda: 2)
    monkeypatch.delenv(ENVIRONMENT, raising=False)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, ("batches", 0)),
        ({"num_workers": 0}, ("batches", 0)),
        ({"num_workers": 1}, ("processes", 1)),
        ({"backend": "batches"}, ("batches", 0)),
        ({"backend": "batches", "num_workers": "auto"}, ("batches", 0)),
        ({"backend": "threads"}, ("threads", 2)),
        ({"backend": "threads", "num_workers": 5}, ("threads", 5)),
        ({"backend": "processes"}, ("processes", 2)),
        ({"backend": "processes", "num_workers": "auto"}, ("processes", 2)),
        ({"backend": "threads", "num_workers": "auto"}, ("threads", 2)),
    ],
)
def test_what_is_asked_for(asked: dict[str, Any], found: tuple[str, int]) -> None:
    made = loader(Counting(4), **asked)
    assert (made.choice.backend, made.choice.workers) == (made.backend, made.num_workers) == found
    assert values(made) == values(loader(Counting(4)))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"backend": "process"}, "backend must be one of batches, threads, processes"),
        ({"num_workers": "all"}, "an integer or 'auto'"),
        ({"num_workers": 1.5}, "an integer or 'auto'"),
        ({"num_workers": True}, "an integer or 'auto'"),
        ({"num_workers": -1}, "must not be negative"),
        ({"backend": "batches", "num_workers": 2}, "has no workers"),
        ({"backend": "threads", "num_workers": 0}, "at least one worker"),
        ({"pin_memory": "yes"}, "pin_memory must be"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        loader(Counting(4), **asked)


def test_auto_measures_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "augrecipes"):
        made = loader(Gathering(50), 8, num_workers="auto")
    assert set(made.choice.measured) == {"batches", "threads:2", "processes:2"}
    assert all(rate > 0 for rate in made.choice.measured.values())
    assert made.choice.seconds > 0
    (line,) = (record.message for record in caplog.records)
    assert line == f"the loader reads with {made.choice}"
    assert indices(made) == list(range(50))


class OwnClocks(threading.local):
    """Every thread has a clock of its own: what one waits for holds no other up."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 1e-6
        return self.now


class Sleeping(Gathering):
    """Waits for something else than a core, by clocks of the threads' own: threads help."""

    def __init__(self, n: int, clocks: OwnClocks, seconds: float) -> None:
        super().__init__(n)
        self.clocks, self.seconds, self.read = clocks, seconds, 0

    def _batch(self, *_: Any) -> None:
        return None

    def _sample(self, *key: int) -> dict[str, Any]:
        self.clocks.now += self.seconds
        self.read += 1
        return super()._sample(*key)


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> OwnClocks:
    made = OwnClocks()
    monkeypatch.setattr(trial, "perf_counter", made)
    return made


class Computing(Counting):
    """Holds the interpreter's lock: processes help."""

    def __getitem__(self, index: int) -> dict[str, Any]:
        sum(i * i for i in range(100_000))
        return super().__getitem__(index)


def test_waiting_is_done_in_threads(clocks: OwnClocks) -> None:
    made = loader(Sleeping(200, clocks, 0.005), 8, num_workers="auto", multiprocessing_context="spawn")
    assert made.choice.measured == pytest.approx({"batches": 200, "threads:2": 400}, rel=0.01)
    assert (made.backend, made.num_workers) == ("threads", 2)


def test_datasets_of_others_are_not_tried_in_threads() -> None:
    for ds in (Computing(40), TensorDataset(torch.arange(40))):
        assert set(loader(ds, 8, num_workers="auto").choice.measured) == {"batches", "processes:2"}


def test_processes_that_are_not_forked_are_not_tried() -> None:
    made = loader(Gathering(50), 8, num_workers="auto", multiprocessing_context="spawn")
    assert set(made.choice.measured) == {"batches", "threads:2"}


class Drawing(Counting):
    """Draws from the process's own generators, as users' datasets may."""

    def __getitem__(self, index: int) -> dict[str, Any]:
        random.random(), np.random.rand(), torch.rand(1)
        return super().__getitem__(index)


def _states() -> tuple[Any, ...]:
    return random.getstate(), np.random.get_state(legacy=False)["state"]["key"].tolist(), torch.get_rng_state().tolist()


def test_measuring_leaves_no_trace() -> None:
    before = _states()
    for ds in (
        Drawing(40),
        Gathering(40, broken=frozenset({1, 5}), on_error="skip"),
        Gathering(9, broken=frozenset(range(9))),
    ):
        ds.set_epoch(3)
        made = loader(ds, 4, shuffle=True, num_workers="auto")
        assert (made.skipped, made.epoch, ds.epoch) == ([], 3, 3)
        assert made.state_dict()["read"] == 0
    assert _states() == before


def test_a_broken_dataset_is_told_by_the_pass() -> None:
    class Buggy(Counting):
        def __getitem__(self, index: int) -> dict[str, Any]:
            raise RuntimeError("a bug of the user's")

    made = loader(Buggy(40), 4, num_workers="auto")
    with pytest.raises(RuntimeError, match="a bug of the user's"):
        list(made)


def test_the_environment_settles_it_unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, "threads:3")
    made = loader(Counting(4), num_workers="auto")
    assert (made.backend, made.num_workers, dict(made.choice.measured)) == ("threads", 3, {})
    assert loader(Counting(4)).backend == "batches"  # who does not ask is not answered
    monkeypatch.setenv(ENVIRONMENT, "threads:many")
    with pytest.raises(ValueError, match=ENVIRONMENT):
        loader(Counting(4), num_workers="auto")


@given(
    st.dictionaries(
        st.sampled_from(["batches", "threads:2", "threads:4", "processes:4"]), st.floats(1, 1e6), min_size=1
    )
)
def test_the_choice_is_about_the_quickest(measured: dict[str, float]) -> None:
    chosen = best(measured, 32, 1.0)
    name = f"{chosen.backend}:{chosen.workers}" if chosen.workers else chosen.backend
    assert chosen.backend in BACKENDS
    assert measured[name] * 1.15**3 >= max(measured.values())
    assert measured[name] * 1.15 >= measured.get("batches", 0)


def test_pinning_without_a_gpu_is_told(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    made = loader(Counting(4))
    assert made.pin_memory is False
    assert caplog.text == ""
    assert loader(Counting(4), pin_memory=True).pin_memory is False
    assert "there is no GPU" in caplog.text


def test_batches_are_pinned_where_there_is_a_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    chosen: list[int] = []
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self, device=None: self.clone())
    asked = []
    monkeypatch.setattr(
        "augrecipes.data.loading.fetch.empty_pinned",
        lambda *what: asked.append(what) or torch.empty(what[0], dtype=what[1]),
    )
    for options in ({}, {"backend": "threads", "num_workers": 2}):
        made = loader(Gathering(9), 3, **options)
        assert made.pin_memory is True
        assert [b["index"].tolist() for b in made] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
        assert asked.pop() == ((3, 3, 8, 8), torch.uint8)
    assert set(chosen) == {3}
    assert loader(Gathering(9), pin_memory=False).pin_memory is False


def test_slow_samples_are_not_tried_often(monkeypatch: pytest.MonkeyPatch, clocks: OwnClocks) -> None:
    monkeypatch.setattr(trial, "_SLOW_SECONDS", 0.05)
    slow = Sleeping(40, clocks, 0.06)
    made = loader(slow, 8, num_workers="auto")
    assert (made.backend, made.num_workers, set(made.choice.measured)) == ("threads", 2, {"batches"})
    assert slow.read <= 8  # one batch


def test_a_function_of_the_users_is_not_tried_in_threads() -> None:
    assert "threads:2" not in loader(Gathering(40), 8, num_workers="auto", collate=list).choice.measured
    assert "threads:2" in loader(Gathering(40), 8, num_workers="auto", collate="list").choice.measured
