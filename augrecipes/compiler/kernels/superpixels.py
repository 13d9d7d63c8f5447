"""Segments of alike pixels in a native pass; albumentations passes over the image for each of them: the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import geometric
from augrecipes.compiler.kernels.fast_apply import Apply
from augrecipes.native.kernels import Library

_COMPACT, _TURNS = 10.0, 10  # how near to its centre a segment keeps, and how often centres move


def superpixels(step: Any, kernels: Library) -> Apply:
    """What Superpixels does."""

    def superpixels(img: np.ndarray, replace_samples: Sequence[bool], n_segments: int, **_: Any) -> np.ndarray | None:
        if img.dtype != np.uint8 or not np.any(replace_samples):
            return None
        shape, side = img.shape, max(img.shape[:2])
        if step.max_size is not None and side > step.max_size:
            scale = step.max_size / side
            img = geometric.resize(img, (int(shape[0] * scale), int(shape[1] * scale)), step.interpolation)
        if n_segments > img.shape[0] * img.shape[1]:
            return None  # and the class fails
        labels = _segments(kernels, img, n_segments).reshape(-1) + 1  # 0: of none
        counts, planes = np.bincount(labels), img.reshape(labels.size, -1).copy()
        known = np.flatnonzero(counts)
        known = known[1:] if known[0] == 1 else known  # its first segment is taken for the background
        chosen = np.zeros(counts.size, bool)
        chosen[known] = np.asarray(replace_samples)[np.arange(known.size) % len(replace_samples)]
        where = chosen[labels]
        for channel in planes.T:
            means = np.bincount(labels, channel, counts.size) / np.maximum(counts, 1)
            np.copyto(channel, np.round(means).astype(np.uint8)[labels], where=where)
        done = planes.reshape(img.shape)
        return geometric.resize(done, shape[:2], step.interpolation) if done.shape != shape else done

    return superpixels


def _segments(kernels: Library, image: np.ndarray, count: int) -> np.ndarray:
    """The number of the segment of each pixel of an image, H×W int32."""
    (height, width), channels = image.shape[:2], image.shape[2] if image.ndim > 2 else 1
    values = np.ascontiguousarray(image.astype(np.float32) / np.max(image + 1e-6), np.float64)
    step = int((height * width / count) ** 0.5)
    first = np.meshgrid(np.arange(step // 2, width, step), np.arange(step // 2, height, step))
    centres = np.stack(first, axis=-1).reshape(-1, 2).astype(np.int64)
    labels, distances = np.empty((height, width), np.int32), np.empty((height, width))
    sums, arrays = np.empty((len(centres), 3), np.int64), (values, centres, distances, labels)
    at_values, at_centres, at_distances, at_labels = (array.ctypes.data for array in arrays)
    kernels.kernel("segments", "plllplldlppp")(
        at_values, height, width, channels, at_centres, len(centres), step, _COMPACT, _TURNS, sums.ctypes.data,
        at_distances, at_labels,
    )  # fmt: skip
    return labels
