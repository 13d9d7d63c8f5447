"""GlassBlur, UnsharpMask and Superpixels, whose loops over pixels or segments are native passes: the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import geometric
from augrecipes.compiler.kernels.fast_apply import takes
from augrecipes.native.kernels import Library

_UNIT = np.arange(256, dtype=np.float32) / 255  # levels as shares of the full range
_COMPACTNESS, _ITERATIONS = 10.0, 10  # of SLIC


def glass_blur(step: Any, kernels: Library, img: np.ndarray, dxy: np.ndarray, **_: Any) -> np.ndarray | None:
    """GlassBlur of an image of any dtype that OpenCV blurs; `dxy`: how far each pixel that moves goes, each time."""
    far, (height, width) = step.max_delta, img.shape[:2]
    inner = (height - 2 * far) * (width - 2 * far)
    plain = dxy.dtype == np.int64 and dxy.flags.c_contiguous and step.mode in ("fast", "exact")
    if min(height, width) <= 2 * far or dxy.shape != (inner, step.iterations, 2) or not plain or step.sigma <= 0:
        return None
    blurred = cv2.GaussianBlur(np.array(img), sigmaX=step.sigma, ksize=(0, 0))
    size = blurred.itemsize * (blurred.shape[2] if blurred.ndim == 3 else 1)
    sizes = (2 * step.iterations, height, width, size, far)
    for iteration in range(step.iterations):
        moves = dxy[:, iteration].ctypes.data
        if step.mode == "fast":
            before = blurred.copy()
            swap_all = kernels.kernel("swap_all", "ppplllll")
            answer = swap_all(blurred.ctypes.data, before.ctypes.data, moves, *sizes)
        else:
            # Where pixels have channels, albumentations swaps views of them: both become the other one.
            swap_each = kernels.kernel("swap_each", "ppllllli")
            answer = swap_each(blurred.ctypes.data, moves, *sizes, int(blurred.ndim == 2))
        if answer != 0:
            return None
    return np.asarray(cv2.GaussianBlur(blurred, sigmaX=step.sigma, ksize=(0, 0))).reshape(img.shape)


def unsharp_mask(
    step: Any, kernels: Library, img: np.ndarray, ksize: int, sigma: float, alpha: float, **_: Any
) -> np.ndarray | None:
    """UnsharpMask: one pass between its two blurs, and one after them."""
    if not takes(img):
        return None
    size, mask, out = (ksize, ksize), np.empty(img.shape, np.float32), np.empty_like(img)
    sharp, source = cv2.GaussianBlur(cv2.LUT(img, _UNIT), size, sigma), (img.ctypes.data, _UNIT.ctypes.data, img.size)
    kernels.kernel("sharpen_all", "pplffpp")(*source, alpha, step.threshold, sharp.ctypes.data, mask.ctypes.data)
    soft = cv2.GaussianBlur(mask, size, sigma)
    kernels.kernel("sharpen_some", "pplppp")(*source, sharp.ctypes.data, soft.ctypes.data, out.ctypes.data)
    return out


def superpixels(
    step: Any, kernels: Library, img: np.ndarray, replace_samples: Sequence[bool], n_segments: int, **_: Any
) -> np.ndarray | None:
    """Superpixels: SLIC in a native pass, and means of all segments at once instead of one by one."""
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
    present = np.flatnonzero(counts)
    present = present[1:] if present[0] == 1 else present  # its first segment is taken for the background
    chosen = np.zeros(counts.size, bool)
    chosen[present] = np.asarray(replace_samples)[np.arange(present.size) % len(replace_samples)]
    where = chosen[labels]
    for channel in planes.T:
        means = np.bincount(labels, channel, counts.size) / np.maximum(counts, 1)
        np.copyto(channel, np.round(means).astype(np.uint8)[labels], where=where)
    flattened = planes.reshape(img.shape)
    return geometric.resize(flattened, shape[:2], step.interpolation) if flattened.shape != shape else flattened


def _segments(kernels: Library, image: np.ndarray, count: int) -> np.ndarray:
    """The number of the segment of each pixel of an image, H×W int32."""
    (height, width), channels = image.shape[:2], image.shape[2] if image.ndim > 2 else 1
    values = np.ascontiguousarray(image.astype(np.float32) / np.max(image + 1e-6), np.float64)
    step = int((height * width / count) ** 0.5)
    grid = np.meshgrid(np.arange(step // 2, width, step), np.arange(step // 2, height, step))
    centres = np.stack(grid, axis=-1).reshape(-1, 2).astype(np.int64)
    labels, distances = np.empty((height, width), np.int32), np.empty((height, width))
    sums = np.empty((len(centres), 3), np.int64)
    kernels.kernel("segments", "plllplldlppp")(
        values.ctypes.data, height, width, channels, centres.ctypes.data, len(centres), step, _COMPACTNESS,
        _ITERATIONS, sums.ctypes.data, distances.ctypes.data, labels.ctypes.data,
    )  # fmt: skip
    return labels
