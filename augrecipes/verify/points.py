"""Boxes and keypoints compared: equal in both, and where the picture shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.verify.maps import Map

MOST_ASTRAY_PX = 0.5
_ACROSS = 7  # points along each side of the picture
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
    """Points spread over a picture, as keypoints and as small boxes.

    Attributes:
        points: float32 (n, 2), x and y of pixel centres.
    """

    points: NDArray[np.float32]

    @classmethod
    def over(cls, height: int, width: int) -> PointGrid:
        """Points within a picture, on whole pixels."""
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
    # Where the picture shows the point: from the nearest px, by the inverse of the slopes.
    right, down = where.in_output(meant[shown, 0] - where.x[at], meant[shown, 1] - where.y[at], at)
    far = np.hypot(columns[shown] + right - found[shown, 0], rows[shown] + down - found[shown, 1])
    return float(far.max())
