"""Transforms of albumentations with native passes for their loops over pixels, circles or segments; the same bits."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import geometric, pixel
from augrecipes.compiler.kernels.fast_apply import takes
from augrecipes.native.kernels import Library

_UNIT = np.arange(256, dtype=np.float32) / 255  # levels as shares of the full range
_COMPACTNESS, _ITERATIONS = 10.0, 10  # of SLIC


def glass_blur(step: Any, kernels: Library, img: np.ndarray, dxy: np.ndarray, **_: Any) -> np.ndarray | None:
    """GlassBlur of an image of any dtype that OpenCV blurs; `dxy`: the displacement of each pixel in each iteration."""
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
            # Of pixels with channels albumentations swaps views, so that both pixels end up with one value.
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
    """Superpixels: SLIC in a native pass, and the means of all segments at once."""
    if img.dtype != np.uint8 or not np.any(replace_samples):
        return None
    shape, side = img.shape, max(img.shape[:2])
    if step.max_size is not None and side > step.max_size:
        scale = step.max_size / side
        img = geometric.resize(img, (int(shape[0] * scale), int(shape[1] * scale)), step.interpolation)
    if n_segments > img.shape[0] * img.shape[1]:
        return None  # the class raises its error
    labels = _segments(kernels, img, n_segments).reshape(-1) + 1  # 0: in no segment
    counts, planes = np.bincount(labels), img.reshape(labels.size, -1).copy()
    present = np.flatnonzero(counts)
    present = present[1:] if present[0] == 1 else present  # albumentations takes segment 1 for background
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


_LEVELS = np.arange(256, dtype=np.uint8)
_FAR = 1 << 15  # px from the first pixel, of the middle of a disc
_LARGEST = 512  # radius of a disc


def sun_flare(
    step: Any, kernels: Library, img: np.ndarray, flare_center: tuple[int, int], circles: list[Any], **_: Any
) -> np.ndarray | None:
    """RandomSunFlare: circles blended in inside their bounding box; the sun's rings as one lookup table per ring."""
    rings = step.src_radius // 10
    if step.method != "overlay" or not takes(img) or rings > _LEVELS[-1]:
        return None
    (height, width), out = img.shape[:2], img.copy()
    overlay, left, top, right, bottom = img.copy(), width, height, 0, 0
    for alpha, (x, y), radius, color in circles:
        cv2.circle(overlay, (x, y), radius, color, -1)
        left, right = max(min(left, x - radius), 0), min(max(right, x + radius + 1), width)
        top, bottom = max(min(top, y - radius), 0), min(max(bottom, y + radius + 1), height)
        if left < right and top < bottom:
            over, under = (layer[top:bottom, left:right] for layer in (overlay, out))
            under[:] = pixel.add_weighted(np.ascontiguousarray(over), alpha, np.ascontiguousarray(under), 1 - alpha)
    bright = sum(alpha * radius for alpha, _, radius, _ in circles) / sum(radius for _, _, radius, _ in circles) * 5
    alphas = np.linspace(0.0, min(bright, 1.0), num=rings).tolist()
    radii = np.linspace(1, step.src_radius, num=rings).astype(int).tolist()
    levels, sun = (np.full((1, 256, 3), level, np.uint8) for level in (_LEVELS[:, None], step.src_color))
    covering, tables = np.zeros((height, width), np.uint8), np.empty((rings + 1, 256, 3), np.uint8)
    after: Any = levels
    for ring, alpha, radius in zip(range(rings, 0, -1), alphas, radii[::-1], strict=True):
        after = cv2.LUT(pixel.add_weighted(sun, alpha * alpha * alpha, levels, 1 - alpha * alpha * alpha), after)
        tables[ring] = after[0]
        cv2.circle(covering, flare_center, radius, ring, -1)  # large to small: a pixel keeps its smallest ring
    kernels.kernel("through_tables", "plpp")(covering.ctypes.data, covering.size, tables.ctypes.data, out.ctypes.data)
    return out


def random_fog(
    step: Any, kernels: Library, img: np.ndarray, particle_positions: Sequence[tuple[int, int]],
    radiuses: Sequence[int], intensity: float, **_: Any,
) -> np.ndarray | None:  # fmt: skip
    """RandomFog: all discs of light are blended in order in one native pass."""
    alpha, count = step.alpha_coef * intensity, min(len(particle_positions), len(radiuses))
    if not takes(img) or not 0 <= alpha <= 1 or not count:
        return None
    discs, out = np.empty((count, 3), np.int64), img.copy()
    discs[:, :2], discs[:, 2] = particle_positions[:count], radiuses[:count]
    least, most = int(discs[:, 2].min()), int(discs[:, 2].max())
    if np.abs(discs).max() >= _FAR or least < 0 or most > _LARGEST:
        return None
    discs = discs.astype(np.int32)
    spans, starts = _spans(least, most)
    table = cv2.addWeighted(np.full_like(_LEVELS, 255), alpha, _LEVELS, 1 - alpha, 0).reshape(-1)
    blends, ends = np.empty(1 << 16, np.uint8), np.empty(img.shape[0] * (img.shape[1] + 1), np.int32)
    answer = kernels.kernel("discs", "plllplppippp")(
        out.ctypes.data, *out.shape, discs.ctypes.data, count, spans.ctypes.data, starts.ctypes.data, least,
        table.ctypes.data, blends.ctypes.data, ends.ctypes.data,
    )  # fmt: skip
    if answer != 0:
        return None
    size = max(3, min(img.shape[:2]) // 30)
    size += size % 2 == 0
    return np.asarray(cv2.GaussianBlur(out, (size, size), 0))


@cache
def _spans(least: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The row spans of discs of all radii, relative to their centres; and where each radius begins among them."""
    spans = [_span(radius) for radius in range(least, most + 1)]
    starts = np.cumsum([0, *(span.size for span in spans)]).astype(np.int32)
    return np.concatenate(spans).astype(np.int32), starts


@cache
def _span(radius: int) -> np.ndarray:
    """The span of each of the 2·radius + 1 rows of a disc as OpenCV draws it."""
    side = 2 * radius + 1
    disc = cv2.circle(np.zeros((side, side), np.uint8), (radius, radius), radius, (1,), -1)
    first = disc.argmax(axis=1)
    return np.stack([first, first + disc.sum(axis=1, dtype=np.int64)], axis=1) - radius


_ROUNDING = 2.0**-24  # relative error of one rounding of a float32
# The least distance from an integer within which a level must be certain; a bound on sums; and at most one pixel in so
# many is computed twice.
_LEAST_CERTAIN, _LARGEST_SUM, _PIXELS_PER_DOUBT = 0.4, 2.0**30, 32
_NEAR = 1e-12  # what the order of three products changes, at most
_MOST_ASIDE = 1e-10  # what the order of summation may change in the noise, where it does not matter
# A relative perturbation of the covariance, larger than any order of summation makes, and along no axis of its own.
_ASIDE = 1e-12 * np.array([[1.0, -2.0, 3.0], [-2.0, -1.0, 2.0], [3.0, 2.0, 1.0]])


def fancy_pca(step: Any, kernels: Library, img: np.ndarray, alpha_vector: np.ndarray, **_: Any) -> np.ndarray | None:
    """FancyPCA, noise along the principal colours: three numbers from tables are added to each level.

    The pass rounds differently from albumentations, so that a sum next to a half might become another level. The kernel
    reports such pixels, a few in a thousand, which are then computed as albumentations does; all others are certain.

    The last bits of the covariance depend on the order of summation, and now and then the direction of a principal
    colour depends on these. Where a slightly perturbed covariance gives another noise, the covariance is summed in
    albumentations' order.
    """
    if not takes(img) or img.size < 3 * 64:
        return None
    count, sums = img.size // 3, np.empty(3, np.float32)
    kernels.kernel("sum_floats", "plpp")(img.ctypes.data, count, _UNIT.ctypes.data, sums.ctypes.data)
    centred = _UNIT[:, None] - sums / count
    covariance = _covariance(img, centred, kernels.kernel("moments", "plpp"))
    matrix, *others = (_directions(covariance + k * _ASIDE * covariance.trace(), alpha_vector) for k in (0, 1, -1))
    if (aside := max(np.abs(other - matrix).sum() for other in others)) > _MOST_ASIDE:
        colours = cv2.LUT(img, centred[None]).reshape(-1, 3)
        matrix, aside = _directions(np.cov(colours, rowvar=False), alpha_vector), 0.0
    tables = _tables(matrix, centred)
    largest: Any = np.abs(tables).max(axis=(1, 2))
    certain = 0.5 - 64 * _ROUNDING * 255 * (1 + float(np.abs(matrix).sum()))
    if certain < _LEAST_CERTAIN or not largest.sum() < _LARGEST_SUM:
        return None
    out, doubtful_count, places = (
        np.empty_like(img),
        np.zeros(1, np.int64),
        np.empty(count // _PIXELS_PER_DOUBT, np.int32),
    )
    kernels.kernel("channel_sums", "plpffplpp")(
        img.ctypes.data, count, tables.ctypes.data, 1, certain, places.ctypes.data, len(places),
        doubtful_count.ctypes.data, out.ctypes.data,
    )  # fmt: skip
    if doubtful_count[0] > len(places):
        return None
    doubtful = places[: doubtful_count[0]]
    redone = _redo(img.reshape(-1, 3)[doubtful], matrix, centred, _NEAR + float(aside))
    if redone is not None:
        out.reshape(-1, 3)[doubtful] = redone
    return None if redone is None else out


def _covariance(img: np.ndarray, centred: np.ndarray, moments: Any) -> np.ndarray:
    """np.cov of the centred colours, 3×3, up to the order of summation."""
    pixels, sums, entries = img.size // 3, np.empty((3, 4)), np.zeros((3, 256, 4))
    for colour in range(3):
        entries[colour, :, colour] = centred[:, colour]
    moments(img.ctypes.data, pixels, entries.ctypes.data, sums.ctypes.data)
    first, (red, green, blue), (red_green, green_blue, blue_red) = sums[:, :3]
    second = np.array([[red, red_green, blue_red], [red_green, green, green_blue], [blue_red, green_blue, blue]])
    return (second - np.outer(first, first) / pixels) / (pixels - 1)


def _directions(covariance: np.ndarray, alpha_vector: np.ndarray) -> np.ndarray:
    """The matrix 3×3 from centred colours to the noise, in 0..1."""
    values, vectors = np.linalg.eigh(covariance)
    order = values[::-1].argsort()
    return np.asarray(np.dot(vectors[:, order], np.diag(alpha_vector * values[order])))


def _tables(matrix: np.ndarray, centred: np.ndarray) -> np.ndarray:
    """Tables 3×256×4: what each level of an input channel adds to the three outputs; fourth columns sum to 1."""
    tables = np.zeros((3, 256, 4), np.float32)
    tables[..., :3] = 255 * matrix.T[:, None, :] * centred.T[:, :, None]
    for colour in range(3):
        tables[colour, :, colour] += np.arange(256)
    tables[0] += 1
    return tables


def _redo(colours: np.ndarray, matrix: np.ndarray, centred: np.ndarray, near: float) -> np.ndarray | None:
    """Pixels n×3 as the step computes them; None where the last bit of a sum might decide a level."""
    noise = np.dot(matrix, np.stack([centred[colours[:, c], c] for c in range(3)])).T
    sums = _UNIT[colours] + noise
    low, high = (np.rint(np.clip(sums + off, 0, 1).astype(np.float32) * np.float32(255)) for off in (-near, near))
    return low.astype(np.uint8) if np.array_equal(low, high) else None
