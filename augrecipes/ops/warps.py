"""Steps that resample by one 3×3 matrix: what the optimiser knows of each, and which matrix its parameters mean.

Positions are pixel centres. A matrix takes (x, y, 1) of an output pixel to the place in the input that it shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np  # checking a recipe is quick because nothing heavy is imported

Params: TypeAlias = Mapping[str, Any]
# Rows of a 3×3 matrix, one after another. Plain floats: numpy takes longer than the arithmetic.
Matrix: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]

NEAREST, LINEAR, CUBIC, AREA = range(4)  # cv2.INTER_NEAREST, cv2.INTER_LINEAR, cv2.INTER_CUBIC, cv2.INTER_AREA


@dataclass(frozen=True, slots=True)
class Warp:
    """What one step does to the grid.

    Attributes:
        matrix: from output to input.
        height: of the output, px.
        width: of the output, px.
        interpolation: cv2's number.
        border: cv2's border mode where the step may look outside its input; None where it only ever repeats the edge.
        fill: of a constant border, for the image.
        fill_mask: the same for a mask.
    """

    matrix: Matrix
    height: int
    width: int
    interpolation: int
    border: int | None = None
    fill: Any = 0
    fill_mask: Any = 0
    mask_interpolation: int = NEAREST


def scaling(x: float, y: float, x0: float = 0.0, y0: float = 0.0) -> Matrix:
    """Sizes change by 1/x and 1/y, pixel areas on pixel areas; (x0, y0): the corner of the window that is read.

    >>> scaling(2.0, 2.0)[2]
    0.5
    """
    return (x, 0.0, x0 + 0.5 * x - 0.5, 0.0, y, y0 + 0.5 * y - 0.5, 0.0, 0.0, 1.0)


def resize(step: Any, params: Params) -> Warp:
    """Resize."""
    return _resized(step, params, step.height, step.width)


def by_scale(step: Any, params: Params) -> Warp:
    """SmallestMaxSize and LongestMaxSize, which round, and RandomScale, which does not."""
    height, width = params["shape"][:2]
    scale = params["scale"]
    if hasattr(step, "scale_limit"):
        return _resized(step, params, int(height * scale), int(width * scale))
    return _resized(step, params, max(1, round(height * scale)), max(1, round(width * scale)))


def resized_crop(step: Any, params: Params) -> Warp:
    """RandomResizedCrop and RandomSizedCrop."""
    x_min, y_min, x_max, y_max = params["crop_coords"]
    height, width = step.size
    rows, columns = y_max - y_min, x_max - x_min
    matrix = scaling(columns / width, rows / height, x_min, y_min)
    return Warp(matrix, height, width, _interpolation(step, shrinks=rows > height or columns > width))


def affine(step: Any, params: Params) -> Warp:
    """Affine, SafeRotate and ShiftScaleRotate."""
    height, width = (round(float(n)) for n in params["output_shape"][:2])
    return _bordered(step, inverse(params["matrix"]), height, width)


def rotate(step: Any, params: Params) -> Warp:
    """Rotate, which may cut off its border afterwards."""
    matrix = inverse(params["matrix"])
    if not step.crop_border:
        return _bordered(step, matrix, *params["shape"][:2])
    x_min, y_min = int(params["x_min"]), int(params["y_min"])
    moved = multiply(matrix, (1.0, 0.0, x_min, 0.0, 1.0, y_min, 0.0, 0.0, 1.0))
    return _bordered(step, moved, int(params["y_max"]) - y_min, int(params["x_max"]) - x_min)


def perspective(step: Any, params: Params) -> Warp:
    """Perspective. With keep_size the matrix is rescaled about the first pixel's centre, as albumentations does."""
    matrix = inverse(params["matrix"])
    if not step.keep_size:
        return _bordered(step, matrix, int(params["max_height"]), int(params["max_width"]))
    height, width = params["shape"][:2]
    back = (params["max_width"] / width, 0.0, 0.0, 0.0, params["max_height"] / height, 0.0, 0.0, 0.0, 1.0)
    return _bordered(step, multiply(matrix, back), height, width)


def multiply(a: Matrix, b: Matrix) -> Matrix:
    """The product a·b: first `b`, then `a`.

    >>> multiply(scaling(2.0, 2.0), scaling(0.5, 0.5)) == scaling(1.0, 1.0)
    True
    """
    a0, a1, a2, a3, a4, a5, a6, a7, a8 = a
    b0, b1, b2, b3, b4, b5, b6, b7, b8 = b
    if a6 == a7 == b6 == b7 == 0.0 and a8 == b8 == 1.0:
        return (
            a0 * b0 + a1 * b3, a0 * b1 + a1 * b4, a0 * b2 + a1 * b5 + a2,
            a3 * b0 + a4 * b3, a3 * b1 + a4 * b4, a3 * b2 + a4 * b5 + a5,
            0.0, 0.0, 1.0,
        )  # fmt: skip
    return (
        a0 * b0 + a1 * b3 + a2 * b6, a0 * b1 + a1 * b4 + a2 * b7, a0 * b2 + a1 * b5 + a2 * b8,
        a3 * b0 + a4 * b3 + a5 * b6, a3 * b1 + a4 * b4 + a5 * b7, a3 * b2 + a4 * b5 + a5 * b8,
        a6 * b0 + a7 * b3 + a8 * b6, a6 * b1 + a7 * b4 + a8 * b7, a6 * b2 + a7 * b5 + a8 * b8,
    )  # fmt: skip


def inverse(matrix: np.ndarray) -> Matrix:
    """The inverse of a 3×3 array; what tilts nothing does not do so by a rounding either, and is sampled in less time.

    >>> import numpy as np
    >>> inverse(np.diag([0.7, 0.9, 1.0]))[6:]
    (0.0, 0.0, 1.0)
    """
    (a, b, c), (d, e, f), (g, h, i) = matrix.tolist()
    p, q, r = e * i - f * h, f * g - d * i, d * h - e * g
    k = 1.0 / (a * p + b * q + c * r)
    last = (0.0, 0.0, 1.0) if g == h == 0.0 and i == 1.0 else (r * k, (b * g - a * h) * k, (a * e - b * d) * k)
    return (
        p * k, (c * h - b * i) * k, (b * f - c * e) * k,
        q * k, (a * i - c * g) * k, (c * d - a * f) * k,
        *last,
    )  # fmt: skip


def _resized(step: Any, params: Params, height: int, width: int) -> Warp:
    rows, columns = params["shape"][:2]
    shrinks = height < rows or width < columns
    return Warp(scaling(columns / width, rows / height), height, width, _interpolation(step, shrinks=shrinks))


def _interpolation(step: Any, *, shrinks: bool) -> int:
    area = shrinks and step.area_for_downscale in ("image", "image_mask")
    return AREA if area else int(step.interpolation)


def _bordered(step: Any, matrix: Matrix, height: int, width: int) -> Warp:
    return Warp(matrix, height, width, int(step.interpolation), int(step.border_mode), step.fill, step.fill_mask)
