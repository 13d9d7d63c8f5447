"""Photographs, a step that takes as long as it is told, and a clock that tests move."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_data import Dawdle, MovedClock, Nap, installed
from support.folders import draw_waves

import augrecipes as ar
from augrecipes.bench import sweep


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight JPEGs of 240×320."""
    return draw_waves(tmp_path_factory.mktemp("photos"), 8, (240, 320), "jpg")


@pytest.fixture
def dawdle(own_classes: None) -> Iterator[type[Dawdle]]:
    """Works for `Dawdle.ms` at every call; `Nap` waits instead."""
    ar.register(Dawdle)
    ar.register(Nap)
    yield Dawdle
    Dawdle.ms = 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> MovedClock:
    """Time passes only where the planted steps take it."""
    return installed(monkeypatch)


@pytest.fixture
def recorded(clock: MovedClock, monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Epochs of a sweep are read, and take so many seconds a batch in this process, half with two."""
    plain = sweep._epoch

    def set_seconds(seconds: float) -> None:
        def epoch(batches: Any) -> Any:
            return np.full(len(plain(batches)), seconds / max(batches.num_workers, 1))

        monkeypatch.setattr(sweep, "_epoch", epoch)

    return set_seconds
