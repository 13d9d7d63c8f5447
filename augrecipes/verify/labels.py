"""Masks compared: no label that was not there, and each from the place that the picture shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.ops.registry import effective
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.verify.maps import Map, shrunk

MOST_BESIDE_PX = 1.0  # of the source; albumentations' own nearest neighbour may be further


def fills(recipe: Recipe, mode: Mode) -> frozenset[float]:
    """The labels that borders may be filled with."""
    found = {0.0}
    for top in recipe.section(mode) or ():
        for step in top.walk():
            if not step.steps:
                found.update(_numbers(effective(step).get("fill_mask")))
    return frozenset(found)


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, int | float):
        yield float(value)


def invented(plain: NDArray[Any], fast: NDArray[Any], source: NDArray[Any], allowed: frozenset[float]) -> list[float]:
    """The labels of the optimised mask that neither the source, nor a fill, nor the unoptimised mask has."""
    known = set(np.unique(source).tolist()) | set(np.unique(plain).tolist()) | allowed
    return [label for label in np.unique(fast).tolist() if label not in known]


def beside(masks: Sequence[NDArray[Any]], where: Map, seen: NDArray[np.bool_]) -> float:
    """How far masks of places took their pixels from where the picture comes from: the largest, px of the source.

    Args:
        masks: what became of a `places_mask` of either axis, h×w.
        where: the picture's map.
        seen: bool h×w, the pixels whose map can be trusted.
    """
    found = [
        np.abs(-1 - mask - along)[seen & (mask < 0)] for mask, along in zip(masks, (where.x, where.y), strict=True)
    ]
    return max(float(away.max(initial=0.0)) for away in found)


def beyond(plain: NDArray[Any], fast: NDArray[Any], where: Map) -> int:
    """Pixels, off all edges, where one mask of places shows the source and the other what lies beyond it."""
    return int(shrunk((plain < 0) ^ (fast < 0), where.smear()).sum())
