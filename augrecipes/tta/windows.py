"""Sliding windows over an image: places them, cuts targets to them, and samples and blends predictions on them."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, inf
from typing import Any

import numpy as np

from augrecipes.errors import DataError
from augrecipes.ops.box_formats import corners_px, from_corners_px
from augrecipes.ops.matrices import Matrix, Size, translation
from augrecipes.recipe.grammar import SlidingWindow
from augrecipes.recipe.model import Inputs
from augrecipes.tta.geometry import moved_corners, moved_keypoints, places_in, rows_of

_SAME = 1e-6  # px: places nearer than this to a pixel's centre are not interpolated


def sampled(planes: np.ndarray, matrix: Matrix, size: Size, *, nearest: bool) -> tuple[np.ndarray, np.ndarray]:
    """Resample planes on a grid of `size`; returns values, and which pixels of the grid lie within the planes.

    Args:
        planes: C×h×w.
        matrix: 3×3, the map from pixel centres of the grid to those of the planes.
        size: rows and columns of the grid.
        nearest: nearest neighbour, for labels; else bilinear, constant beyond the centres of edge pixels.

    Returns:
        C×H×W of the planes' dtype, and bool H×W.

    >>> planes = np.array([[[0.0, 4.0]]])
    >>> made, within = sampled(planes, np.array([[0.5, 0, 0], [0, 1, 0], [0, 0, 1]]), (1, 5), nearest=False)
    >>> made.tolist(), within.tolist()
    ([[[0.0, 2.0, 4.0, 4.0, 4.0]]], [[True, True, True, True, False]])
    """
    height, width = planes.shape[1:]
    (x, y), values = _places(matrix, size), planes
    x_low, x_part, x_within = _pixels(x, width, nearest)
    y_low, y_part, y_within = _pixels(y, height, nearest)
    x_high, y_high = np.minimum(x_low + 1, width - 1), np.minimum(y_low + 1, height - 1)
    if len(x_low) == y_low.shape[1] == 1:  # axis by axis
        for axis, low, high, part in ((2, x_low, x_high, x_part), (1, y_low, y_high, y_part)):
            if part.any() and not nearest:
                values = between(values.take(low.ravel(), axis), values.take(high.ravel(), axis), part)
            elif low.size != values.shape[axis] or (low.ravel() != np.arange(low.size)).any():
                values = values.take(low.ravel(), axis)
        return values, x_within & y_within
    values = planes[:, y_low, x_low]
    if not nearest and (x_part.any() or y_part.any()):
        values = between(values, planes[:, y_low, x_high], x_part)
        values = between(values, between(planes[:, y_high, x_low], planes[:, y_high, x_high], x_part), y_part)
    return values, x_within & y_within


def within(matrix: Matrix, size: Size, other: Size) -> np.ndarray:
    """Which pixels of a grid of `size` lie within another grid; `matrix` as in `sampled`, bool H×W.

    >>> within(np.array([[1, 0, -1], [0, 1, 0], [0, 0, 1]]), (1, 4), (1, 2)).tolist()
    [[False, True, True, False]]
    """
    x, y = _places(matrix, size)
    return np.asarray(_pixels(x, other[1], True)[2] & _pixels(y, other[0], True)[2])


def _places(matrix: Matrix, size: Size) -> list[np.ndarray]:
    """Columns and rows in the other grid: 1×W or H×1 where they depend on one axis only, else H×W."""
    axes = np.arange(size[1])[None], np.arange(size[0])[:, None], np.ones((1, 1))
    x, y, w = (sum(axis * part for axis, part in zip(axes, row, strict=True) if part) for row in matrix.tolist())
    return [np.asarray(x / w), np.asarray(y / w)]


def _pixels(at: np.ndarray, length: int, nearest: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pixel before each place along an axis, the fraction of the way to the next, and whether it is within."""
    within = (at > -0.5 - _SAME) & (at < length - 0.5 + _SAME)
    at = np.clip(at, 0, length - 1)
    low = np.floor(at + (0.5 if nearest else _SAME)).astype(np.intp)
    low = np.minimum(low, length - 1)
    part = at - low
    return low, np.where(np.abs(part) < _SAME, 0, part).astype(np.float32), within


def between(start: np.ndarray, end: np.ndarray, part: np.ndarray | float) -> np.ndarray:
    """Linear interpolation, exact where both values agree; between +∞ and -∞ the nearer. May overwrite `end`.

    >>> between(np.array([0, 3, np.inf, np.inf]), np.array([4, 3, 1, -np.inf]), 0.75).tolist()
    [3.0, 3.0, inf, -inf]
    """
    with np.errstate(invalid="ignore", over="ignore"):
        if start.dtype.kind == "f" and np.isfinite(start.sum() + end.sum()):
            np.multiply(np.subtract(end, start, out=end), part, out=end)  # in place: both are large
            return np.add(start, end, out=end)
        mixed = start * (1 - part) + end * part
        mixed = (mixed if start.dtype.kind == "f" else np.rint(mixed)).astype(start.dtype)
    ends = (start == end) | (part == 0) | (part == 1) | (np.isinf(start) & np.isinf(end))
    return np.where(ends, np.where(part > 0.5, end, start), mixed)


_THIN = 1e-3  # px, tolerance of a box's sides for rounding in normalised formats


@dataclass(frozen=True, slots=True)
class Span:
    """The extent of a window along an axis, px.

    Attributes:
        start: the first pixel.
        end: the exclusive end.
        low: the middle of the overlap with the window before; −∞ for the first.
        high: the middle of the overlap with the next window; ∞ for the last.
    """

    start: int
    end: int
    low: float
    high: float

    def owns(self, at: np.ndarray, slack: float = 0.0) -> np.ndarray:
        """Which places, px along the axis, belong to this window; `slack` adds that share of each overlap."""
        low = self.low - slack * 2 * (self.low - self.start) if self.low > -inf else self.low
        high = self.high + slack * 2 * (self.end - self.high) if self.high < inf else self.high
        return np.asarray((at >= low) & (at < high))


Window = tuple[Span, Span]  # rows and columns


def spans(length: int, tile: SlidingWindow | None) -> tuple[Span, ...]:
    """The windows along an axis of `length` px, evenly spaced; one for the whole axis if it is shorter than a window.

    >>> [(span.start, span.end) for span in spans(10, SlidingWindow(4, 0.25))]
    [(0, 4), (3, 7), (6, 10)]
    """
    if tile is None or length <= tile.size:
        return (Span(0, length, -inf, inf),)
    gaps = ceil((length - tile.size) / max(1, int(tile.size * (1 - tile.overlap))))
    starts = [k * (length - tile.size) // gaps for k in range(gaps + 1)]
    middles = [(a + tile.size + b) / 2 for a, b in pairwise(starts)]
    cells = zip(starts, [-inf, *middles], [*middles, inf], strict=True)
    return tuple(Span(start, start + tile.size, low, high) for start, low, high in cells)


def cut(targets: Mapping[str, Any], window: Window, size: Size, inputs: Inputs) -> dict[str, Any]:
    """Cut targets to a window of an image of `size`: boxes are clipped, keypoints outside are left out.

    Only the window of an image is read, by slicing rows and columns.
    """
    rows, columns = window
    height, width = own = rows.end - rows.start, columns.end - columns.start
    inside, origin = dict(targets), translation(-columns.start, -rows.start)
    for name in ("image", "mask"):
        if inside.get(name) is not None:
            inside[name] = np.array(inside[name][rows.start : rows.end, columns.start : columns.end])
    if (boxes := inputs.boxes) and inside.get("boxes") is not None:
        corners = moved_corners(corners_px(rows_of(inside["boxes"], "boxes"), boxes.format, *size), origin)
        visible = np.clip(corners, 0, [width, height] * 2)
        sides, whole = (boxes[:, 2:] - boxes[:, :2] for boxes in (visible, corners))
        hidden = np.prod(sides, axis=1) < boxes.min_visibility * np.prod(whole, axis=1)
        inside["boxes"] = from_corners_px(visible, boxes.format, *own)
        _keep(inside, "boxes", boxes.labels, ~(hidden | np.any(sides <= _THIN, axis=1)))  # NaN stays
    if (points := inputs.keypoints) and inside.get("keypoints") is not None:
        inside["keypoints"] = moved = moved_keypoints(inside["keypoints"], points.format, origin).astype(np.float32)
        at = moved[:, places_in(points.format)]
        if points.remove_invisible:
            _keep(inside, "keypoints", points.labels, ~np.any((at < 0) | (at >= [width, height]), axis=1))
    return inside


def _keep(targets: dict[str, Any], name: str, labels: str | None, keep: np.ndarray) -> None:
    """Keep some rows of a target, and their labels."""
    for key in (name, labels):
        if key is not None and (rows := targets.get(key)) is not None:
            targets[key] = rows[keep] if isinstance(rows, np.ndarray) else [rows[k] for k in np.flatnonzero(keep)]


def weights(rows: int, columns: int) -> np.ndarray:
    """The weight of each pixel of a window in overlaps: a raised cosine (Hann window) that is never zero.

    >>> weights(3, 3).tolist()
    [[0.0625, 0.25, 0.0625], [0.25, 1.0, 0.25], [0.0625, 0.25, 0.0625]]
    """
    cosines = (np.sin(np.pi * (np.arange(n) + 0.5) / n) ** 2 for n in (rows, columns))
    return np.outer(*cosines).astype(np.float32)


class Canvas:
    """An image to which windows are added by a running weighted mean.

    Where all windows agree, the result is exact. Labels are not averaged: the window with the greatest weight at a
    pixel decides.

    Args:
        size: rows and columns of the image.
        like: a window, C×h×w, for channels and dtype.
        labels: whether the windows hold labels.
    """

    def __init__(self, size: Size, like: np.ndarray, *, labels: bool) -> None:
        self.planes = np.zeros((len(like), *size), like.dtype)
        self.weight, self._labels = np.zeros(size, np.float32), labels

    def add(self, planes: np.ndarray, weight: np.ndarray, rows: slice, columns: slice) -> None:
        """Blend a window in; a weight of 0 marks pixels that the window does not show."""
        region, before = self.planes[:, rows, columns], self.weight[rows, columns]
        if (planes.shape, planes.dtype) != (region.shape, region.dtype):
            got = f"{len(region)} of {region.dtype} and {len(planes)} of {planes.dtype}"
            raise DataError(f"predictions on windows have as many channels, of one dtype, got {got}")
        if self._labels or not before.any():
            np.copyto(region, planes, where=weight > before)
            np.maximum(before, weight, out=before)
            return
        before += weight
        region[...] = between(region, planes.copy(), np.divide(weight, before, out=0 * before, where=before > 0))

    def done(self, fill: float | None) -> np.ndarray:
        """The image; DataError where no window shows a pixel and there is no `fill`."""
        unseen = self.weight == 0
        if unseen.any():
            if fill is None:
                raise DataError(
                    f"{np.count_nonzero(unseen):,} of {unseen.size:,} px of the source are in no view, as steps of "
                    "evaluation cut them off: choose a value for them, such as fill=0"
                )
            self.planes[:, unseen] = fill
        return self.planes
