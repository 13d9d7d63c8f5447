"""One of the places where a mask is not zero, without a list of them all: what a window is drawn around."""

from __future__ import annotations

from typing import Any

import numpy as np

from augrecipes.compat.albumentations import A
from augrecipes.compat.replaced_functions import with_functions

_SAMPLER = "get_params_dependent_on_data"


def with_quick_places(step: Any) -> Any:
    """The transform, whose sampler looks up the one place that it has drawn, where it lists all to draw from."""
    if getattr(type(step), _SAMPLER, None) is A.CropNonEmptyMaskIfExists.get_params_dependent_on_data:
        with_functions(step, (_SAMPLER,), {"argwhere": places}, "np")
    return step


def places(mask: np.ndarray) -> Any:
    """What np.argwhere gives, as a sequence, of a mask H×W; of any other array that very list.

    >>> found = places(np.array([[0, 3], [1, 0], [0, 0], [2, 2]]))
    >>> len(found), found[3].tolist()
    (4, [3, 1])
    """
    return Places(mask) if mask.ndim == 2 else np.argwhere(mask)


class Places:
    """The rows and columns where a mask H×W is not zero, row by row."""

    def __init__(self, mask: np.ndarray) -> None:
        self._mask = mask
        self._ends = np.cumsum(np.count_nonzero(mask, axis=1))

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __getitem__(self, number: int) -> np.ndarray:
        row = int(np.searchsorted(self._ends, number, side="right"))
        columns = np.flatnonzero(self._mask[row])
        return np.array((row, columns[number - int(self._ends[row])]))
