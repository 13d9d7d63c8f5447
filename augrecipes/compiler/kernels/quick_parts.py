"""Connected parts of masks, numbered and drawn from, without a pass over the whole mask for each of them.

For quick_functions.py, which holds each to the class that calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import dropout
from augrecipes.compat.replaced_functions import with_names
from augrecipes.compiler.kernels.places import Places


def label(mask: np.ndarray, return_num: bool) -> Any:
    """Which part of one value each pixel of a mask belongs to, from 1, by value; 0: of none. And how many there are."""
    if mask.dtype != np.uint8 or mask.ndim > 2 or mask.size == 0:
        return dropout.label(mask, return_num)
    labeled, count = np.zeros(mask.shape, np.int32), 0
    for value in np.flatnonzero(cv2.calcHist([mask], [0], None, [255], [1, 256])) + 1:
        found, parts = cv2.connectedComponents((mask == value).astype(np.uint8))
        labeled = np.where(parts, parts + count, labeled) if count else parts
        count += found - 1
    return labeled, count


def _points(mask: np.ndarray, num_points: int, random_generator: np.random.Generator) -> Any:
    """Some pixels of each part of a mask, n×2, and how large their parts are; None where there is no part."""
    _, labels, boxes, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8))
    points, sizes = [], []
    for part, (x, y, width, height, count) in enumerate(boxes.tolist()[1:], 1):
        origin, places = (x, y), Places(labels[y : y + height, x : x + width] == part)
        points += [places[k][::-1] + origin for k in random_generator.choice(count, size=num_points).tolist()]
        sizes += [np.sqrt(count)] * num_points
    return (np.array(points), np.array(sizes)) if points else None


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "get_holes_from_mask": with_names(dropout.get_holes_from_mask, sample_points_from_components=_points),
    "label": label,
}
