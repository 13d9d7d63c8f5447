"""Some of the places where a mask is not zero, without a list of them all: what windows and holes are drawn around."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import A, dropout
from augrecipes.compat.replaced_functions import with_functions, with_names

_SAMPLER = "get_params_dependent_on_data"


def with_quick_places(step: Any) -> Any:
    """The transform, whose sampler looks up the places that it has drawn, where it lists all to draw from."""
    if getattr(type(step), _SAMPLER, None) is A.CropNonEmptyMaskIfExists.get_params_dependent_on_data:
        with_functions(step, (_SAMPLER,), {"argwhere": places}, "np")
    return with_functions(step, (_SAMPLER,), {"get_holes_from_mask": _holes}, "fdropout")


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


def _points(mask: np.ndarray, num_points: int, random_generator: np.random.Generator) -> Any:
    """Some pixels of each part of a mask, n×2, and how large their parts are; None where there is no part."""
    _, labels, boxes, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8))
    points, sizes = [], []
    for part, (x, y, width, height, count) in enumerate(boxes.tolist()[1:], 1):
        origin, found = (x, y), Places(labels[y : y + height, x : x + width] == part)
        points += [found[k][::-1] + origin for k in random_generator.choice(count, size=num_points).tolist()]
        sizes += [np.sqrt(count)] * num_points
    return (np.array(points), np.array(sizes)) if points else None


_holes = with_names(dropout.get_holes_from_mask, sample_points_from_components=_points)
