"""Steps that do nothing, slowly."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import albumentations as A
import numpy as np


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
