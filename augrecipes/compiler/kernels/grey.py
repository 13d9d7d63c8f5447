"""Grey out of the largest, the smallest or the mean of three channels, plane by plane instead of pixel by pixel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.by_channel import Planes
from augrecipes.compiler.kernels.colour_native import takes
from augrecipes.compiler.kernels.twins import Apply, Case, Twin

_PARTS = 3


def _largest(red: np.ndarray, green: np.ndarray, blue: np.ndarray) -> np.ndarray:
    return cv2.max(cv2.max(red, green), blue)


def _middle(red: np.ndarray, green: np.ndarray, blue: np.ndarray) -> np.ndarray:
    """Half of the largest and the smallest, without its fraction."""
    least, most = cv2.min(cv2.min(red, green), blue), _largest(red, green, blue)
    return (least & most) + ((least ^ most) >> 1)  # their sum would not fit


def _mean(red: np.ndarray, green: np.ndarray, blue: np.ndarray) -> np.ndarray:
    """Without its fraction."""
    total = np.add(red, green, dtype=np.uint16)
    total += blue
    total //= _PARTS
    return total.astype(np.uint8)


_WAYS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "average": _mean,
    "desaturation": _middle,
    "max": _largest,
}


def _make(step: Any) -> Apply | None:
    way, channels, planes = _WAYS.get(step.method), step.num_output_channels, Planes()
    if way is None:
        return None

    def grey(img: np.ndarray, **_: Any) -> np.ndarray | None:
        if not takes(img) or min(img.shape[:2]) == 1:  # the step loses a side of one pixel
            return None
        made = way(*planes.of(img))
        return made if channels == 1 else cv2.merge([made] * channels)

    return grey


def _cases(cls: type) -> Iterator[Case]:
    for method in _WAYS:
        for channels in (1, 3):
            yield cls(method=method, num_output_channels=channels), {}


TWIN = Twin(_make, _cases)
