"""Steps that do nothing, slowly."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import albumentations as A
import numpy as np


class Dawdle(A.ImageOnlyTransform):  # type: ignore[misc]
    """Keeps the processor busy for `ms` of this thread's time."""

    ms: ClassVar[float] = 0.0

    def apply(self, img: np.ndarray, **params: Any) -> np.ndarray:
        end = time.thread_time() + Dawdle.ms / 1e3
        while time.thread_time() < end:
            pass
        return img


class Nap(A.ImageOnlyTransform):  # type: ignore[misc]
    """Waits for 10 ms."""

    def apply(self, img: np.ndarray, **params: Any) -> np.ndarray:
        time.sleep(0.01)
        return img
