"""Photographs, and a step that takes as long as it is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest
from slow_steps import Dawdle, Nap

import augrecipes as ar
from augrecipes.ops import registry


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight JPEGs of 240×320."""
    folder = tmp_path_factory.mktemp("photos")
    y, x = np.mgrid[:240, :320]
    for k in range(8):
        made = np.stack([128 + 90 * np.sin(x / 9 + k), 128 + 90 * np.cos(y / (5 + k)), (x + y) / 3], axis=-1)
        assert cv2.imwrite(str(folder / f"{k}.jpg"), made.astype(np.uint8))
    return folder


@pytest.fixture
def dawdle() -> Iterator[type[Dawdle]]:
    """Works for `Dawdle.ms` at every call; `Nap` waits instead."""
    ar.register(Dawdle)
    ar.register(Nap)
    yield Dawdle
    for name in ("Dawdle", "Nap"):
        registry._registered.pop(name, None)
    Dawdle.ms = 0.0
