"""Weighted boxes fusion: boxes that several views agree on become one, in the middle of them by their scores."""

from __future__ import annotations

import numpy as np

_IOU = 0.55  # intersection over union


def fused(boxes: np.ndarray, scores: np.ndarray, labels: np.ndarray, views: int) -> tuple[np.ndarray, ...]:
    """Boxes of several views as one list, the highest score first (Solovyev, Wang & Gabruseva 2021, arXiv:1910.13302).

    By falling score each box joins the cluster of its label whose fused box it overlaps most, where the intersection
    over union is above 0.55; otherwise it begins one. A cluster's box is the mean of its boxes weighted by their
    scores, and its score the mean of their scores, times the part of the views that have one in it.

    Args:
        boxes: float (n, 4), x_min, y_min, x_max, y_max; NaN is like nothing else.
        scores: (n,) in 0..1.
        labels: (n,) of any kind that compares.
        views: that could each have seen every box.

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
    found = weight[:count] / members[:count] * np.minimum(members[:count], views) / views
    order = np.argsort(-found, kind="stable")
    return means[order], found[order], named[order]


def _overlaps(boxes: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Intersection over union of each box with one."""
    sides = np.minimum(boxes[:, 2:], box[2:]) - np.maximum(boxes[:, :2], box[:2])
    both = np.prod(np.maximum(sides, 0), axis=1)
    areas = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1) + np.prod(box[2:] - box[:2])
    return np.asarray(both / np.maximum(areas - both, 1e-12))
