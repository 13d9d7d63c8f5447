"""MATLAB's `imresize(…, 'bicubic')` on numpy arrays, bit for bit: most published LR files were made by it."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

# Output values per block of the loop over taps: small enough for the processor's cache.
_BLOCK = 1 << 14


class Taps(NamedTuple):
    """The weights that resample one axis.

    Attributes:
        rows: for every output row the input rows that it reads, n × taps.
        weights: their weights, float64, n × taps; each row's sum is 1.
    """

    rows: np.ndarray
    weights: np.ndarray


def imresize(
    image: np.ndarray,
    height: int,
    width: int,
    *,
    round_between: bool = True,
    full_range: tuple[float, float] = (0.0, 1.0),
) -> np.ndarray:
    """Resize an image by Keys' cubic kernel (a = −1/2), widened where the image shrinks (antialiasing).

    The axis that shrinks most is resampled first, rows (the height) first when both are equal; beyond the edge the
    image is mirrored, edge included. Weights are those of pixel centres, normalised, in float64; taps are summed from
    first to last, so that ties between two levels are rounded as in MATLAB.

    Args:
        image: H×W or H×W×C, uint8, uint16 or float32, any number of channels, never changed.
        height: rows of the result, at least 1.
        width: columns of the result, at least 1.
        round_between: round integer images between the two passes, as MATLAB does; false: keep float64, as most ports
            do. Float images are never rounded.
        full_range: the range to which float images are clipped.

    Returns:
        The resized image, same dtype: integers rounded half up and clipped to the dtype's range, floats clipped to
        `full_range`.

    Raises:
        TypeError: another dtype.
        ValueError: not two or three axes, an empty image, or a size below 1.

    Source: R. Keys, "Cubic convolution interpolation for digital image processing", IEEE Transactions on Acoustics,
    Speech, and Signal Processing 29(6), 1981; order, edges and rounding as the published LR files show them.

    >>> ramp = np.arange(0, 64, 4, dtype=np.uint8).reshape(1, 16).repeat(4, axis=0)
    >>> imresize(ramp, 1, 4)
    array([[ 5, 22, 38, 55]], dtype=uint8)
    """
    if image.dtype not in (np.uint8, np.uint16, np.float32):
        raise TypeError(f"imresize takes uint8, uint16 or float32 images, got {image.dtype}")
    if image.ndim not in (2, 3) or 0 in image.shape:
        raise ValueError(f"imresize takes an image of shape H×W or H×W×C, none of them 0, got {image.shape}")
    if height < 1 or width < 1:
        raise ValueError(f"the new size must be at least 1 × 1, got {height} × {width}")
    down, across = taps(image.shape[0], height), taps(image.shape[1], width)
    columns_first = width * image.shape[0] < height * image.shape[1]
    current = image.swapaxes(0, 1) if columns_first else image
    first, second = (across, down) if columns_first else (down, across)
    between = _along_rows(current, first)
    is_whole = image.dtype.kind == "u"
    if is_whole and round_between:
        between = _to_levels(between, image.dtype)
    result = _along_rows(between.swapaxes(0, 1), second)
    if not columns_first:
        result = result.swapaxes(0, 1)
    if is_whole:
        return np.ascontiguousarray(_to_levels(result, image.dtype))
    return np.ascontiguousarray(np.clip(result, *full_range, dtype=np.float32, casting="unsafe"))


@lru_cache(maxsize=64)
def taps(length: int, target: int) -> Taps:
    """The input rows (of `length`) and weights of each of `target` output rows.

    >>> taps(8, 4).rows[0].tolist()
    [2, 1, 0, 0, 1, 2, 3, 4]
    """
    scale = target / length
    shrink = min(scale, 1.0)
    reach = 4.0 / shrink
    # Positions count from 1, as in MATLAB, where pixel centres are integers.
    centres = np.arange(1, target + 1) / scale + 0.5 * (1 - 1 / scale)
    first_taps = np.floor(centres - reach / 2)
    positions = first_taps[:, None] + np.arange(int(np.ceil(reach)) + 2)
    weights = shrink * _keys(shrink * (centres[:, None] - positions))
    weights /= weights.sum(axis=1, keepdims=True)
    used = np.flatnonzero(weights.any(axis=0))
    inside = slice(used[0], used[-1] + 1)
    positions, weights = positions[:, inside].astype(np.int64) - 1, np.ascontiguousarray(weights[:, inside])
    mirrored = positions % (2 * length)
    rows = np.minimum(mirrored, 2 * length - 1 - mirrored)
    return Taps(rows, weights)


def _keys(distance: np.ndarray) -> np.ndarray:
    """Keys' kernel with a = −1/2."""
    x = np.abs(distance)
    x2 = x * x
    x3 = x2 * x
    near, far = 1.5 * x3 - 2.5 * x2 + 1, -0.5 * x3 + 2.5 * x2 - 4 * x + 2
    return near * (x <= 1) + far * ((x > 1) & (x <= 2))


def _along_rows(image: np.ndarray, plan: Taps) -> np.ndarray:
    """Resample along the first axis in float64, without rounding."""
    flat = np.ascontiguousarray(image).reshape(len(image), -1)
    out = np.zeros((len(plan.rows), flat.shape[1]))
    block = max(1, _BLOCK // flat.shape[1])
    for start in range(0, len(out), block):
        part = slice(start, start + block)
        for rows, weights in zip(plan.rows[part].T, plan.weights[part].T, strict=True):
            out[part] += flat[rows] * weights[:, None]
    return out.reshape(len(out), *image.shape[1:])


def _to_levels(values: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Round half up, saturate, and convert to an integer dtype; `values` is overwritten."""
    values += values.dtype.type(0.5)
    return np.clip(values, 0, np.iinfo(dtype).max, out=values).astype(dtype)
