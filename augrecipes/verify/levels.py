"""Pictures compared by value: an output's range undone, and the difference in levels of 0..255."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.recipe.model import Output


@dataclass(frozen=True, slots=True)
class LevelDifference:
    """How two pictures differ: the largest and the mean difference in levels, and the share of pixels that do."""

    largest: float
    mean: float
    share: float


def levels_of(image: NDArray[Any], output: Output) -> NDArray[np.float32]:
    """An output as levels of 0..255, float32 H×W×C.

    >>> levels_of(np.ones((3, 4, 5), np.float32), Output(range=(-1.0, 1.0)))[0, 0].tolist()
    [255.0, 255.0, 255.0]
    """
    values = (image if output.layout == "hwc" else np.moveaxis(image, 0, -1)).astype(np.float32)
    if image.dtype == np.uint8:
        return values
    if output.normalize is not None:
        mean, std = (np.array(v, np.float32) for v in (output.normalize.mean, output.normalize.std))
        return (values * std + mean) * np.float32(255)
    low, high = output.range
    return (values - np.float32(low)) * np.float32(255 / (high - low))


def difference(a: NDArray[Any], b: NDArray[Any], output: Output) -> LevelDifference:
    """How two outputs of one shape differ; equal bits are no difference, whatever they hold.

    >>> a = np.zeros((1, 2, 1), np.uint8)
    >>> difference(a, a + np.array([[[0], [3]]], np.uint8), Output(dtype="uint8", layout="hwc"))
    LevelDifference(largest=3.0, mean=1.5, share=0.5)
    """
    if np.array_equal(a, b, equal_nan=a.dtype != np.uint8):
        return LevelDifference(0.0, 0.0, 0.0)
    apart = np.abs(levels_of(a, output) - levels_of(b, output))
    apart = np.nan_to_num(apart, nan=np.inf, posinf=np.inf)
    return LevelDifference(float(apart.max()), float(apart.mean()), float((apart > 0).any(axis=-1).mean()))
