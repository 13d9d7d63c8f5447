"""Images compared by value, masks by their labels, boxes and keypoints by their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.ops.registry import effective
from augrecipes.recipe.model import Mode, Output, Recipe
from augrecipes.verify.maps import Map, shrunk


@dataclass(frozen=True, slots=True)
class LevelDifference:
    """How two images differ: the largest and the mean difference in levels, and the share of pixels that do."""

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
    """How far masks of places took their pixels from where the image comes from: the largest, px of the source.

    Args:
        masks: what became of a `places_mask` of either axis, h×w.
        where: the image's map.
        seen: bool h×w, the pixels whose map can be trusted.
    """
    found = [
        np.abs(-1 - mask - along)[seen & (mask < 0)] for mask, along in zip(masks, (where.x, where.y), strict=True)
    ]
    return max(float(away.max(initial=0.0)) for away in found)


def beyond(plain: NDArray[Any], fast: NDArray[Any], where: Map) -> int:
    """Pixels, off all edges, where one mask of places shows the source and the other what lies beyond it."""
    return int(shrunk((plain < 0) ^ (fast < 0), where.smear()).sum())


MOST_ASTRAY_PX = 0.5
_ACROSS = 7  # points along each side of the image
_HALF = 1.5  # px: half a side of the boxes that stand for points


def largest_difference(a: Any, b: Any) -> float:
    """Between two lists of boxes or keypoints; infinite where they are not equally many.

    >>> largest_difference(np.zeros((2, 4)), np.zeros((2, 4))), largest_difference(np.zeros((2, 4)), np.zeros((1, 4)))
    (0.0, inf)
    """
    mine, its = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if mine.shape != its.shape:
        return float("inf")
    return float(np.abs(mine - its).max()) if mine.size else 0.0


@dataclass(frozen=True, slots=True)
class PointGrid:
    """Points spread over an image, as keypoints and as small boxes.

    Attributes:
        points: float32 (n, 2), x and y of pixel centres.
    """

    points: NDArray[np.float32]

    @classmethod
    def over(cls, height: int, width: int) -> PointGrid:
        """Points within an image, on whole pixels."""
        share = (np.arange(_ACROSS) + 0.5) / _ACROSS
        x, y = np.meshgrid(np.floor(share * width), np.floor(share * height))
        return cls(np.stack([x.ravel(), y.ravel()], axis=1).astype(np.float32))

    def targets(self, *, boxes: bool, keypoints: bool) -> dict[str, Any]:
        """The points as a pipeline takes them; labels are the points' numbers."""
        made: dict[str, Any] = {}
        if boxes:
            middle = self.points + 0.5  # boxes count from the corner of a pixel
            made["boxes"] = np.hstack([middle - _HALF, middle + _HALF])
            made["box_labels"] = np.arange(len(self.points))
        if keypoints:
            made["keypoints"] = self.points
            made["point_labels"] = np.arange(len(self.points))
        return made

    def astray(self, done: dict[str, Any], where: Map, seen: NDArray[np.bool_]) -> dict[str, float]:
        """How far boxes and keypoints lie from where the output shows their points, px of the output.

        Args:
            done: what came out.
            where: the output's map.
            seen: bool h×w, the pixels whose map can be trusted; points elsewhere do not count.
        """
        found = {}
        if "boxes" in done:
            boxes = np.asarray(done["boxes"], np.float64).reshape(-1, 4)
            height, width = where.x.shape
            # A box that was cut at the frame has its middle elsewhere.
            whole = (boxes[:, :2] > 0).all(axis=1) & (boxes[:, 2] < width) & (boxes[:, 3] < height)
            middle = (boxes[whole, :2] + boxes[whole, 2:]) / 2 - 0.5
            found["boxes"] = _astray(middle, self.points[np.asarray(done["box_labels"], int)[whole]], where, seen)
        if "keypoints" in done:
            # Where a border reflects, a point may come out several times.
            points = np.asarray(done["keypoints"], np.float64)[:, :2]
            found["keypoints"] = _astray(points, self.points[np.asarray(done["point_labels"], int)], where, seen)
        return found


def _astray(found: NDArray[Any], meant: NDArray[Any], where: Map, seen: NDArray[np.bool_]) -> float:
    """The largest distance over the points that the output shows, by the map's value and slope at the nearest px."""
    height, width = where.x.shape
    columns, rows = np.rint(found[:, 0]).astype(int), np.rint(found[:, 1]).astype(int)
    within = (columns >= 1) & (columns < width - 1) & (rows >= 1) & (rows < height - 1)
    columns, rows, found, meant = columns[within], rows[within], found[within], meant[within]
    shown = seen[rows, columns]
    if not shown.any():
        return 0.0
    at = rows[shown], columns[shown]
    # Where the image shows the point: from the nearest px, by the inverse of the slopes.
    right, down = where.in_output(meant[shown, 0] - where.x[at], meant[shown, 1] - where.y[at], at)
    far = np.hypot(columns[shown] + right - found[shown, 0], rows[shown] + down - found[shown, 1])
    return float(far.max())
