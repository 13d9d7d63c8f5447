"""Merges predictions on views on the source's grid: labels of images, masks, images, boxes and keypoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial, reduce
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from augrecipes.errors import DataError, counted, logger
from augrecipes.ops.box_formats import corners_px, from_corners_px
from augrecipes.ops.dihedral import Symmetry
from augrecipes.ops.matrices import Matrix, Size, scaling, symmetry_matrix, translation
from augrecipes.tta.geometry import (
    array_of,
    moved_corners,
    moved_keypoints,
    of_corners,
    places_in,
    rows_of,
    size_of_view,
    undone,
    view_of,
)
from augrecipes.tta.windows import Canvas, between, sampled, weights, within

if TYPE_CHECKING:
    from augrecipes.tta.image_views import Evaluation, ImageViews


Arrays = list[np.ndarray]
_SLACK = 0.25  # share of an overlap: boxes near its middle are kept in both windows, and fused


def mean(arrays: Arrays) -> np.ndarray:
    """The mean of arrays, exact where all agree.

    >>> mean([np.float32([0.1, -np.inf])] * 3) == np.float32([0.1, -np.inf])
    array([ True,  True])
    """
    total = arrays[0] if arrays[0].dtype.kind in "iu" else arrays[0].astype(np.float64)
    for count, array in enumerate(arrays[1:], 2):
        total = between(total, array.astype(total.dtype, order="C"), 1 / count)
    return total.astype(arrays[0].dtype)


def median(arrays: Arrays) -> np.ndarray:
    """The median of arrays, the mean of two middle values; NaN where a value is NaN.

    >>> median([np.array([4, np.nan]), np.array([1, 5]), np.array([3, 6]), np.array([0, 7])]).tolist()
    [2.0, nan]
    """
    return mean([np.quantile(np.stack(arrays), 0.5, axis=0, method=way) for way in ("lower", "higher")])


# By the value of `how`.
MERGES: dict[str, Callable[[Arrays], np.ndarray]] = {
    "mean": mean,
    "max": lambda arrays: reduce(np.maximum, arrays),
    "median": median,
}


def voted(labels: Arrays) -> np.ndarray:
    """The majority vote at each place; of tied labels the least.

    >>> voted([np.array([1, 5, 4]), np.array([2, 5, 3]), np.array([2, 4, 2])]).tolist()
    [2, 5, 2]
    """
    ordered = np.sort(np.stack(labels), axis=0)
    votes = np.stack([(ordered == candidate).sum(axis=0, dtype=np.uint8) for candidate in ordered])
    return np.take_along_axis(ordered, votes.argmax(axis=0)[None], axis=0)[0]


def one_of(value: str, allowed: Iterable[str], name: str) -> str:
    """The value of argument `name`; DataError unless it is allowed."""
    if value not in [*allowed]:
        raise DataError(f"{name} is {' or '.join(map(repr, allowed))} here, got {value!r}")
    return value


def _of_one_shape(arrays: Arrays) -> Arrays:
    """The arrays; DataError where their shapes differ."""
    if len(shapes := {str(array.shape): None for array in arrays}) > 1:
        raise DataError(f"predictions on views of one window have one shape, got {' and '.join(shapes)}")
    return arrays


def _floats(prediction: Any) -> np.ndarray:
    """A prediction as float32, or as float64 if its dtype needs that."""
    array = array_of(prediction)
    return array.astype(np.promote_types(array.dtype, np.float32), copy=False)


def _by_window(views: ImageViews, predictions: Iterable[Any]) -> Iterator[tuple[int, list[tuple[Symmetry, Any]]]]:
    """The number of each window with its (symmetry, prediction) pairs; DataError for too few or too many."""
    remaining, count = iter(predictions), len(views.symmetries)
    for number in range(len(views.windows)):
        group = [*islice(remaining, count)]
        if len(group) < count:
            raise DataError(f"one prediction is due for each of {len(views)} views, got {number * count + len(group)}")
        yield number, list(zip(views.symmetries, group, strict=True))
    for _ in remaining:
        raise DataError(f"one prediction is due for each of {len(views)} views, got more")


def _labels(views: ImageViews, predictions: Iterable[Any], how: str, fill: float | None) -> np.ndarray:
    merge = MERGES[one_of(how, MERGES, "how")]
    groups = (group for _, group in _by_window(views, predictions))
    return merge(_of_one_shape([_floats(prediction) for group in groups for _, prediction in group]))


def _grids(views: ImageViews, predictions: Iterable[Any], how: str, fill: float | None, *, images: bool) -> np.ndarray:
    """Merge masks, or images that may be finer than the view by an integer factor."""
    canvas, scale, like, several = None, 1, np.empty(0), len(views.windows) > 1
    first = not images or views.evaluation.channels_first
    for number, group in _by_window(views, predictions):
        geometry, like = views.geometry(number), array_of(group[0][1])
        labels = not images and like.ndim == 2 and like.dtype.kind in "iub"
        how = one_of(how, ["mean"] if labels else MERGES, "how")
        read = array_of if labels or like.dtype in (np.int64, np.uint64) else _floats  # floats cannot hold these
        merge = voted if labels else MERGES[how]
        planes = merge(_of_one_shape([_on_window(read(prediction), symmetry, first) for symmetry, prediction in group]))
        finer = planes.shape[1] / geometry.after[0], planes.shape[2] / geometry.after[1]
        scale = (_scale if images else _mask_scale)(finer, views.evaluation, geometry.after)
        coarser = np.linalg.inv(scaling(scale, scale))
        rows, columns = (slice(span.start * scale, span.end * scale) for span in views.windows[number])
        size = rows.stop - rows.start, columns.stop - columns.start
        planes, visible = sampled(planes, scaling(*finer) @ geometry.pixels @ coarser, size, nearest=labels)
        for matrix, cut in geometry.cuts:
            visible = visible & within(matrix @ coarser, size, cut)
        canvas = canvas or Canvas((views.size[0] * scale, views.size[1] * scale), planes, labels=labels)
        canvas.add(planes, visible * (weights(*size) if several else np.float32(1)), rows, columns)
    assert canvas is not None  # there is a window
    if fill is not None and like.dtype.kind in "iu" and np.array(fill).astype(like.dtype) != fill:
        raise DataError(f"{like.dtype} holds no fill={fill}: give predictions of a dtype that does, such as int64")
    merged = canvas.done(fill)
    merged = np.rint(merged).astype(like.dtype) if like.dtype.kind in "iu" and merged.dtype.kind == "f" else merged
    return merged[0] if like.ndim == 2 else merged if first else np.moveaxis(merged, 0, -1)


def _on_window(array: np.ndarray, symmetry: Symmetry, channels_first: bool) -> np.ndarray:
    """Undo the symmetry of a prediction on a view; returns C×H×W."""
    if array.ndim not in (2, 3) or not array.size:
        raise DataError(f"a prediction for each pixel is H×W, or has its channels, too; got shape {array.shape}")
    array = array[None] if array.ndim == 2 else array if channels_first else np.moveaxis(array, -1, 0)
    return view_of(array, undone(symmetry))


def _scale(finer: tuple[float, float], evaluation: Evaluation, view: Size) -> int:
    """The factor by which an image is finer than its view."""
    scale, scales = finer[0], evaluation.scales
    if scale != finer[1] or not scale.is_integer() or (scales and scale not in scales):
        known = " or ".join(f"{times:g}" for times in sorted(scales)) or "a whole number of"
        got = f"{finer[0] * view[0]:g}×{finer[1] * view[1]:g}"
        raise DataError(f"an image is {known} times as fine as its view of {view[0]}×{view[1]} px, got {got} px")
    return int(scale)


def _mask_scale(finer: tuple[float, float], evaluation: Evaluation, view: Size) -> int:
    """Scale 1, as a mask is stretched to its view; the log reports each factor once.

    Raises:
        DataError: the factors of both sides differ by more than a pixel.
    """
    factors = f"{1 / finer[0]:.3g} × {1 / finer[1]:.3g} to its view of {view[0]}×{view[1]} px"
    if abs(finer[0] - finer[1]) > 1 / view[0] + 1 / view[1]:
        raise DataError(f"a mask is H×W or C×H×W with its view's sides, and this one would be stretched by {factors}")
    if finer != (1, 1) and factors not in evaluation.stretches:
        evaluation.stretches.add(factors)
        logger.warning("a mask is stretched by %s, rows by columns", factors)
    return 1


def _to_source(views: ImageViews, number: int, symmetry: Symmetry, steps: Matrix) -> tuple[Matrix, Size]:
    """The matrix from a view of a window after `steps` to the source, and the size of the view."""
    (rows, columns), size = views.windows[number], size_of_view(symmetry, views.geometry(number).after)
    back = np.linalg.inv(steps) @ symmetry_matrix(undone(symmetry), size)
    return np.asarray(translation(columns.start, rows.start) @ back), size


def _boxes(views: ImageViews, predictions: Iterable[Any], how: str, fill: float | None) -> dict[str, np.ndarray]:
    one_of(how, ("mean", "wbf"), "how")
    if (declared := views.evaluation.inputs.boxes) is None:
        raise DataError("the recipe's inputs declare no boxes, so that their format is not known")
    parts: list[Arrays] = []
    for number, group in _by_window(views, predictions):
        rows, columns = views.windows[number]
        for symmetry, prediction in group:
            if not isinstance(prediction, Mapping) or prediction.get("boxes") is None:
                raise DataError(f"boxes are mappings of `boxes`, `scores` and `labels`, got {prediction!r:.80}")
            matrix, size = _to_source(views, number, symmetry, views.geometry(number).pixels)
            corners = corners_px(rows_of(prediction["boxes"], "boxes"), declared.format, *size)
            corners, labels = moved_corners(corners, of_corners(matrix)), prediction.get("labels")
            scores = array_of(prediction.get("scores", ()), "scores").astype(np.float64)
            labels = np.zeros(len(corners), np.int64) if labels is None else array_of(labels, "labels", "biufUSO")
            if not (len(corners),) == scores.shape == labels.shape or not ((scores >= 0) & (scores <= 1)).all():
                raise DataError(f"each of {len(corners)} boxes has a score in 0..1 and, if any has one, a label")
            x, y = (corners[:, :2] + corners[:, 2:]).T / 2
            own = rows.owns(y, _SLACK) & columns.owns(x, _SLACK) | np.isnan(x + y)
            parts.append([corners[own], scores[own], labels[own]])
    merged = map(np.concatenate, zip(*[part for part in parts if len(part[0])] or parts[:1], strict=True))
    corners, scores, labels = _with_area(*merged, log=True)
    corners, scores, labels = fused(corners, scores, labels, len(views.symmetries))
    if declared.clip:
        corners = corners.clip(0, [views.size[1], views.size[0]] * 2)
        corners, scores, labels = _with_area(corners, scores, labels)  # boxes in padding lose their area
    boxes = from_corners_px(corners, declared.format, *views.size)
    return {"boxes": boxes, "scores": scores.astype(np.float32), "labels": labels}


def _with_area(corners: np.ndarray, *others: np.ndarray, log: bool = False) -> Arrays:
    """Boxes with some area, or with NaN, and the other arrays' rows for these."""
    flat = (corners[:, 2:] <= corners[:, :2]).any(axis=1)
    if log and flat.any():
        logger.warning("%s of no area left out of the fusion", counted(int(flat.sum()), "box"))
    return [rows[~flat] for rows in (corners, *others)]


def _keypoints(views: ImageViews, predictions: Iterable[Any], how: str, fill: float | None) -> np.ndarray:
    merge = MERGES[one_of(how, ("mean", "median"), "how")]
    placed, lost, visible = Arrays(), dict[int, np.ndarray](), set[int]()
    if (declared := views.evaluation.inputs.keypoints) is None:
        raise DataError("the recipe's inputs declare no keypoints, so that their format is not known")
    for number, group in _by_window(views, predictions):
        (rows, columns), steps = views.windows[number], views.geometry(number).pixels
        back = [(prediction, _to_source(views, number, symmetry, steps)[0]) for symmetry, prediction in group]
        moved = [moved_keypoints(prediction, declared.format, matrix) for prediction, matrix in back]
        points = merge(_of_one_shape(moved))
        x, y = points[:, places_in(declared.format)].T
        own = rows.owns(y) & columns.owns(x) | (len(views.windows) == 1)
        gone = np.isnan(x + y) & ~own
        placed.append(points[own])
        lost |= {k: points[[k]] for k in np.flatnonzero(gone).tolist()}
        visible |= {*np.flatnonzero(~gone).tolist()}
    return np.concatenate([*placed, *(point for k, point in lost.items() if k not in visible)]).astype(np.float32)


# By the value of `kind`.
MERGED: dict[str, Callable[[ImageViews, Iterable[Any], str, float | None], Any]] = {
    "labels": _labels,
    "mask": partial(_grids, images=False),
    "image": partial(_grids, images=True),
    "boxes": _boxes,
    "keypoints": _keypoints,
}


_IOU = 0.55  # intersection over union


def fused(boxes: np.ndarray, scores: np.ndarray, labels: np.ndarray, views: int) -> tuple[np.ndarray, ...]:
    """Weighted boxes fusion of several views (Solovyev, Wang & Gabruseva 2021, arXiv:1910.13302).

    By falling score each box joins the cluster of its label whose fused box it overlaps most, where the intersection
    over union is above 0.55; otherwise it begins a cluster. A cluster's box is the mean of its boxes weighted by their
    scores; its score is the mean of their scores, times the share of views with a box in it.

    Args:
        boxes: float (n, 4), x_min, y_min, x_max, y_max; boxes with NaN stay alone.
        scores: (n,) in 0..1.
        labels: (n,) of any comparable dtype.
        views: number of views that could have seen each box.

    Returns:
        Fused boxes, scores and labels, the highest score first.

    >>> two = np.array([[0, 0, 10, 10], [0, 0, 10, 12]])
    >>> [one.tolist() for one in fused(two, np.array([0.75, 0.25]), np.array([3, 3]), 4)]
    [[[0.0, 0.0, 10.0, 10.5]], [0.25], [3]]
    """
    sums, means, weight = np.zeros((len(boxes), 4)), np.zeros((len(boxes), 4)), np.zeros(len(boxes))
    members, named, count = np.zeros(len(boxes), int), np.empty(len(boxes), labels.dtype), 0
    for k in np.argsort(-scores, kind="stable"):
        shared = np.where((named[:count] == labels[k]) & ((iou := _overlaps(means[:count], boxes[k])) > _IOU), iou, 0)
        at = int(np.argmax(shared)) if shared.any() else count
        count += at == count
        named[at], members[at] = labels[k], members[at] + 1
        sums[at] += boxes[k] * scores[k]
        weight[at] += scores[k]
        means[at] = sums[at] / weight[at] if weight[at] else boxes[k]
    mean_scores = weight[:count] / members[:count] * np.minimum(members[:count], views) / views
    order = np.argsort(-mean_scores, kind="stable")
    return means[order], mean_scores[order], named[order]


def _overlaps(boxes: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Intersection over union of each of `boxes` with `box`."""
    sides = np.minimum(boxes[:, 2:], box[2:]) - np.maximum(boxes[:, :2], box[:2])
    both = np.prod(np.maximum(sides, 0), axis=1)
    areas = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1) + np.prod(box[2:] - box[:2])
    return np.asarray(both / np.maximum(areas - both, 1e-12))
