"""Steps that are slow, and time that passes only where a test lets it: what is found does not depend on the machine."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import albumentations as A
import numpy as np
import pytest
from numpy.random import default_rng

from augrecipes.bench import step, sweep, timing, training
from augrecipes.compiler.run import clock
from augrecipes.compiler.run.clock import Clock
from augrecipes.data import fetch
from augrecipes.data.collate import Collate

_BATCH = 1e-3  # seconds that a batch takes besides its steps
_TICK = 1e-6  # seconds that a look at the clock takes: nothing takes no time


def work(seconds: float) -> None:
    """Keep the processor busy for so much of this thread's time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def wait(seconds: float) -> None:
    """Do nothing."""
    time.sleep(seconds)


class Dawdle(A.ImageOnlyTransform):  # type: ignore[misc]
    """Works for `ms`."""

    ms: ClassVar[float] = 0.0

    def apply(self, img: np.ndarray, **params: Any) -> np.ndarray:
        work(Dawdle.ms / 1e3)
        return img


class Nap(A.ImageOnlyTransform):  # type: ignore[misc]
    """Waits for 10 ms."""

    def apply(self, img: np.ndarray, **params: Any) -> np.ndarray:
        wait(0.01)
        return img


class MovedClock:
    """A clock on the wall and one of the processor.

    Attributes:
        noise: how much longer or shorter work takes each time, as the deviation of its logarithm.
        stalls: the share of work that takes five times as long on the wall, as if others had the core meanwhile.
    """

    def __init__(self) -> None:
        self.noise = self.stalls = 0.0
        self._wall = self._cpu = 0.0
        self._draw, self._lock = default_rng(0), threading.Lock()

    def perf_counter(self) -> float:
        """The clock on the wall."""
        self.work(_TICK, even=True)
        return self._wall

    def process_time(self) -> float:
        """The clock of the processor."""
        self.work(_TICK, even=True)
        return self._cpu

    def work(self, seconds: float, *, even: bool = False) -> None:
        """The processor is busy for so long."""
        with self._lock:
            if not even:
                seconds *= self._draw.lognormal(0, self.noise)
            self._cpu += seconds
            self._wall += 5 * seconds if not even and self._draw.random() < self.stalls else seconds

    def wait(self, seconds: float) -> None:
        """Nothing is done for so long."""
        with self._lock:
            self._wall += seconds

    def sleep(self, seconds: float) -> None:
        """As `time.sleep`."""
        self.wait(seconds)


def installed(monkeypatch: pytest.MonkeyPatch) -> MovedClock:
    """The clock of a comparison, and of the steps that take time; batches from other processes keep the real one."""
    made = MovedClock()
    for module in (clock, timing, training, sweep):
        monkeypatch.setattr(module, "perf_counter", made.perf_counter)
    monkeypatch.setattr(timing, "process_time", made.process_time)
    monkeypatch.setattr(Clock, "charge", _of_ticks(made, Clock.charge))
    monkeypatch.setattr(step, "time", made)
    here = sys.modules[__name__]
    monkeypatch.setattr(here, "work", made.work)
    monkeypatch.setattr(here, "wait", made.wait)
    # A batch is collated of samples, or joined of parts that were read at once.
    monkeypatch.setattr(Collate, "__call__", _taking_time(made, Collate.__call__))
    monkeypatch.setattr(fetch, "joined", _taking_time(made, fetch.joined))
    return made


def _of_ticks(clock: MovedClock, charge: Callable[..., None]) -> Callable[..., None]:
    """What programs say of real time, by this clock: each part has taken a tick."""

    def charged(spent: Clock, parts: Iterable[tuple[str, float]]) -> None:
        ticks = [(what, _TICK) for what, _ in parts]
        clock.work(_TICK * len(ticks), even=True)
        charge(spent, ticks)

    return charged


def _taking_time(clock: MovedClock, collate: Callable[..., Any]) -> Callable[..., Any]:
    def collated(*args: Any) -> Any:
        clock.work(_BATCH)
        return collate(*args)

    return collated
