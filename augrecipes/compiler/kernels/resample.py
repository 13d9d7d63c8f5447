"""One resampling, as OpenCV does it fastest: on 1, 3 or 4 channels, from memory that is near."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, hypot
from typing import Any, TypeAlias

import cv2
import numpy as np

from augrecipes.compiler.kernels import resize_native, warp_native
from augrecipes.compiler.kernels.moves import IDENTITY, Moved, Symmetry
from augrecipes.compiler.kernels.scratch import Scratch
from augrecipes.compiler.kernels.undecoded import Undecoded
from augrecipes.compiler.kernels.unmade import Pixels, realised
from augrecipes.ops.warps import LINEAR, Matrix, multiply, scaling

Box: TypeAlias = tuple[int, int, int, int]  # y0, x0, y1, x1, ends exclusive
_RGB, _RGBA = 3, 4
_MARGIN = 2  # px around what a bilinear sample reads
_COLOURS = frozenset({np.dtype(np.uint8), np.dtype(np.float32)})  # what cv2.cvtColor takes
_CHANNELS = (1, _RGB, _RGBA)
_FAR = 1 << 30  # px
_LOCAL = frozenset({cv2.BORDER_CONSTANT, cv2.BORDER_REPLICATE})  # borders that need nothing but the nearest edge


@dataclass(frozen=True, slots=True)
class Shrinks:
    """What happens where the output is much smaller.

    Attributes:
        reduces: the picture is reduced first.
        scales: a picture that is not decoded yet is decoded smaller, where the decoder can.
    """

    reduces: bool = False
    scales: bool = False


@dataclass(frozen=True, slots=True)
class Sampling:
    """How pixels between pixels, and beyond the picture, are had: OpenCV's interpolation, border mode and fill."""

    interpolation: int = LINEAR
    border: int = cv2.BORDER_REPLICATE
    fill: Any = 0
    shrinks: Shrinks = Shrinks()


def resize(window: Moved, height: int, width: int, interpolation: int, scratch: Scratch) -> Moved:
    """A window scaled to `height` × `width` px; its turns are still pending."""
    if window.symmetry.transpose:
        height, width = width, height
    base = realised(window.base)
    out = scratch.array("resized", (height, width, base.shape[2]), base.dtype, beside=base)
    native = resize_native.here()
    if native is not None and native.resized(base, (height, width), interpolation, out) is not None:
        return Moved(out, window.symmetry)
    if base.shape[2] in _CHANNELS:
        cv2.resize(base, (width, height), dst=out, interpolation=interpolation)
    else:
        for c in range(base.shape[2]):
            plane = np.ascontiguousarray(base[..., c])
            out[..., c] = cv2.resize(plane, (width, height), interpolation=interpolation)
    return Moved(out, window.symmetry)


def warp(picture: Moved, matrix: Matrix, height: int, width: int, how: Sampling, scratch: Scratch) -> np.ndarray:
    """A picture seen through `matrix` (from output to picture), `height` × `width` px."""
    if picture.symmetry != IDENTITY:
        matrix = multiply(symmetry_matrix(picture.symmetry, *picture.shape[:2]), matrix)
    part, matrix = read_part(picture.base, matrix, height, width, how, scratch)
    channels = picture.shape[2]
    out = scratch.array("warped", (height, width, channels), part.dtype, beside=part)
    if (native := warp_native.here()) is not None:
        kind: warp_native.Kind = "perspective" if matrix[6] or matrix[7] else "affine"
        value, size = _values(how.fill), (height, width)
        if native.sampled(kind, part, how.interpolation, how.border, value, size, matrix, out=out) is not None:
            return out
    m = np.array(matrix).reshape(3, 3)
    if channels == _RGB and part.dtype in _COLOURS:
        # OpenCV warps four channels in half the time of three (benchmarks/fast.py).
        near = scratch.array("near", (*part.shape[:2], _RGBA), part.dtype)
        four = scratch.array("four", (height, width, _RGBA), part.dtype)
        _warp(cv2.cvtColor(part, cv2.COLOR_RGB2RGBA, dst=near), m, four, how)
        return cv2.cvtColor(four, cv2.COLOR_RGBA2RGB, dst=out)
    if channels in (1, _RGB, _RGBA):
        _warp(part, m, out, how)
        return out
    for c in range(channels):
        plane = np.empty((height, width, 1), part.dtype)
        _warp(np.ascontiguousarray(part[..., c : c + 1]), m, plane, how, channel=c)
        out[..., c] = plane[..., 0]
    return out


def symmetry_matrix(symmetry: Symmetry, height: int, width: int) -> Matrix:
    """From the output of a turn, `height` × `width` px, to its input.

    >>> symmetry_matrix(Symmetry(flip_x=True), 4, 6)[:3]
    (-1.0, 0.0, 5.0)
    """
    sx, tx = (-1.0, width - 1.0) if symmetry.flip_x else (1.0, 0.0)
    sy, ty = (-1.0, height - 1.0) if symmetry.flip_y else (1.0, 0.0)
    if symmetry.transpose:
        return (0.0, sy, ty, sx, 0.0, tx, 0.0, 0.0, 1.0)
    return (sx, 0.0, tx, 0.0, sy, ty, 0.0, 0.0, 1.0)


def _warp(part: np.ndarray, matrix: np.ndarray, out: np.ndarray, how: Sampling, channel: int = 0) -> None:
    size, flags = (out.shape[1], out.shape[0]), how.interpolation | cv2.WARP_INVERSE_MAP
    value = _values(how.fill)[channel : channel + _RGBA]
    if matrix[2, 0] or matrix[2, 1]:
        cv2.warpPerspective(part, matrix, size, dst=out, flags=flags, borderMode=how.border, borderValue=value)
    else:
        cv2.warpAffine(part, matrix[:2], size, dst=out, flags=flags, borderMode=how.border, borderValue=value)


def _values(fill: Any) -> list[float]:
    """A border's value for each channel."""
    return list(fill) if np.ndim(fill) else [fill] * _RGBA


def read_part(
    base: Pixels, matrix: Matrix, height: int, width: int, how: Sampling, scratch: Scratch
) -> tuple[np.ndarray, Matrix]:
    """What is read of the picture, reduced where the output is much smaller."""
    read = box(matrix, height, width)
    k = reduction(matrix) if how.shrinks.reduces and how.interpolation == LINEAR and base.shape[2] in _CHANNELS else 1
    reduced = _reduced(base, read, k, how, scratch) if k > 1 else None
    if reduced is not None:
        part, y0, x0 = reduced
        matrix = multiply(scaling(1 / k, 1 / k), multiply(_shift(-x0, -y0), matrix))
    else:
        near, y0, x0 = _part(base, read, how)
        part = realised(near)
        matrix = multiply(_shift(-x0, -y0), matrix) if y0 or x0 else matrix
    return part, matrix


def _part(base: Pixels, box: Box, how: Sampling) -> tuple[Pixels, int, int]:
    """What is read of the picture, and where it begins."""
    rows, columns = base.shape[:2]
    y0, x0, y1, x1 = box
    within = y0 >= 0 and x0 >= 0 and y1 <= rows and x1 <= columns
    if not within and how.border not in _LOCAL:
        return base, 0, 0  # a reflection may read from anywhere
    y0, x0, y1, x1 = max(y0, 0), max(x0, 0), min(y1, rows), min(x1, columns)
    if y0 >= y1 or x0 >= x1:
        return base[:1, :1], 0, 0  # nothing of the picture is seen
    return base[y0:y1, x0:x1], y0, x0


def _reduced(base: Pixels, box: Box, k: int, how: Sampling, scratch: Scratch) -> tuple[np.ndarray, int, int] | None:
    """What is read, k × k pixels as one, and where it begins; None where it reads too far beyond the picture.

    What lies beyond is put there first: a border of the reduced picture would stand elsewhere.
    """
    inside = all(box[axis] + _MARGIN >= 0 and box[axis + 2] - _MARGIN <= base.shape[axis] for axis in (0, 1))
    if inside and how.shrinks.scales and isinstance(base, Undecoded):
        read = base.reduced(box[0] - k, box[1] - k, box[2] + k, box[3] + k, k)
        if read is not None:
            return read
    # Between two pixels of the coarse grid a sample reads k further; where none lies beyond, no border is blended in.
    border = cv2.BORDER_REPLICATE if inside else how.border
    (y0, y1, top, bottom), (x0, x1, left, right) = (
        _stretch(box[axis] - k, box[axis + 2] + k, base.shape[axis], k) for axis in (0, 1)
    )
    beyond = max(top, bottom) >= y1 - y0 or max(left, right) >= x1 - x0
    if beyond or (border == cv2.BORDER_WRAP and (top or bottom or left or right)):
        return None  # it would reflect, or go round, within the part and not within the picture
    part = realised(base[y0:y1, x0:x1])
    if top or bottom or left or right:
        size = (y1 - y0 + top + bottom, x1 - x0 + left + right, base.shape[2])
        room = scratch.array("bordered", size, base.dtype)
        part = cv2.copyMakeBorder(part, top, bottom, left, right, border, dst=room, value=_values(how.fill))
    small = (part.shape[0] // k, part.shape[1] // k, base.shape[2])
    out = cv2.resize(part, small[1::-1], dst=scratch.array("reduced", small, base.dtype), interpolation=cv2.INTER_AREA)
    return out.reshape(small), y0 - top, x0 - left


def _stretch(start: int, stop: int, limit: int, k: int) -> tuple[int, int, int, int]:
    """Of a stretch of rows: first and last that the picture has, and how many are missing before and behind.

    As many again are taken inside, where a border reflects. In all a whole multiple of `k`.
    """
    before, behind = max(-start, 0), max(stop - limit, 0)
    first, last = max(start, 0), min(stop, limit)
    if before:
        last = max(last, min(before + 1, limit))
    if behind:
        first = min(first, max(limit - 1 - behind, 0))
    missing = -(last - first + before + behind) % k
    inside = 0 if behind else min(missing, limit - last)
    return first, last + inside, before, behind + missing - inside


def _shift(x: float, y: float) -> Matrix:
    return (1.0, 0.0, x, 0.0, 1.0, y, 0.0, 0.0, 1.0)


def box(matrix: Matrix, height: int, width: int) -> Box:
    """Rows and columns, ends exclusive, that hold everything which the output reads. Unbounded behind a horizon."""
    a, b, c, d, e, f, g, h, i = matrix
    us, vs = [], []
    for x, y in ((0, 0), (width - 1, 0), (0, height - 1), (width - 1, height - 1)):
        w = g * x + h * y + i
        if w <= 0:
            return -_FAR, -_FAR, _FAR, _FAR
        us.append((a * x + b * y + c) / w)
        vs.append((d * x + e * y + f) / w)
    return (
        floor(max(min(vs), -_FAR)) - _MARGIN,
        floor(max(min(us), -_FAR)) - _MARGIN,
        ceil(min(max(vs), _FAR)) + _MARGIN + 1,
        ceil(min(max(us), _FAR)) + _MARGIN + 1,
    )


def reduction(matrix: Matrix) -> int:
    """By which whole factor a picture is reduced before a warp: 2, 4 or 8, where the warp shrinks by half as much more.

    Reducing by nearly all of what a warp shrinks, and sampling the coarse grid between its pixels, is softer than both
    the points and the area of the truth; from 3, 6 and 12 on it is nearer than several resamplings are (`verify`).
    """
    a, b, _, d, e, _, g, h, _ = matrix
    if g or h:
        return 1
    shrink = min(hypot(a, d), hypot(b, e))
    return 1 if shrink < 3 else 2 if shrink < 6 else 4 if shrink < 12 else 8
