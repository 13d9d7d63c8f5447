"""Quarter turns and transpositions by OpenCV, where albumentations copies a turned view value by value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.moves import symmetry_of
from augrecipes.compiler.kernels.twins import Apply, Case, Twin


def _turning(step: Any) -> Apply:
    name = type(step).__name__

    def turn(img: np.ndarray, **drawn: Any) -> np.ndarray:
        return symmetry_of(name, drawn).apply(img)

    return turn


def _cases(cls: type) -> Iterator[Case]:
    step = cls()
    for seed in range(20):
        step.set_random_seed(seed)
        yield step, step.get_params()


TWIN = Twin(_turning, _cases)
