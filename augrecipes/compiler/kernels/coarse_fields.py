"""Smooth random fields of displacements, drawn on a coarse grid and interpolated to the image.

ElasticTransform blurs white noise of every pixel by a Gaussian with replicated borders. The result is a Gaussian
process, which its covariance describes fully, along each axis by itself. Here a cell of noise is two thirds of a
standard deviation wide; the first and the last pixel, whose noise weighs most near a border, are cells of their own. A
Gaussian narrower by the variance of a cubic B-spline turns the noise into coefficients, and the spline interpolates
them. Covariances agree with those of the blur to a hundredth of the variance, everywhere.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.kernels.counter_noise import normal_numbers
from augrecipes.compiler.kernels.fields import FastRemap
from augrecipes.native.kernels import Library, address_of, library
from augrecipes.ops.constants import border_word
from augrecipes.seeds import mix

_CELLS = 1.5  # per standard deviation
_REACH = 4  # standard deviations, as OpenCV's blur reaches
_SMALLEST = 16  # px of a side, and rows that kernels take at once
_WORDS = 2**32
_FAR = 10_000  # px of displacement: kernels hold places within 30,000 of the first pixel

Rows = NDArray[Any]  # float32


@dataclass(frozen=True, slots=True)
class RowMix:
    """A linear map of rows: each output row is a weighted sum of consecutive input rows.

    Attributes:
        weights: float32, output rows × taps.
        starts: for each output row its first input row.
    """

    weights: Rows
    starts: NDArray[np.int64]

    def apply(self, kernels: Library, rows: Rows, to: Rows, first: int = 0, across: float = 0, down: float = 0) -> Rows:
        """Write output rows from `first` on into `to`, adding `across` per column and `down` per row; return `to`."""
        starts, weights = self.starts[first:], self.weights[first:]
        kernels.kernel("mix_rows", "plpplffpl")(
            address_of(rows), rows.shape[1], address_of(weights), address_of(starts), weights.shape[1], across, down,
            address_of(to), len(to),
        )  # fmt: skip
        return to


@dataclass(frozen=True, slots=True)
class Axis:
    """How noise becomes a field along one axis.

    Attributes:
        cells: number of noise cells, those of the first and the last pixel included.
        nodes: number of the spline's nodes.
        smooths: from cells to the spline's coefficients.
        upsamples: from coefficients to pixels.
    """

    cells: int
    nodes: int
    smooths: RowMix
    upsamples: RowMix


@lru_cache(maxsize=64)
def axis(pixels: int, deviation: float) -> Axis:
    """The axis of a field of `pixels` px, blurred by a Gaussian of standard deviation `deviation` px.

    >>> axis(512, 6.0).cells
    130
    """
    count = math.ceil((pixels - 2) * _CELLS / deviation)
    width = (pixels - 2) / count
    narrow = math.sqrt(deviation**2 - width**2 / 3)
    nodes = 0.5 + (np.arange(-2, count + 2) + 0.5) * width
    reach = math.ceil(_REACH * narrow / width)
    taps = min(2 * reach + 1, count + 2)
    starts = np.clip(np.arange(-1 - reach, count + 3 - reach), 0, count + 2 - taps)
    cells = starts[:, None] + np.arange(taps)
    away = (nodes[:, None] - (0.5 + (cells - 0.5) * width)) / narrow
    weights = np.exp(-(away**2) / 2) * math.sqrt(width / (2 * math.pi)) / narrow
    for cell, side in ((0, nodes), (count + 1, pixels - 1 - nodes)):
        # The replicated border: this cell has all of the Gaussian beyond it.
        tails = [math.erfc((far - 0.5) / (narrow * math.sqrt(2))) / 2 for far in side.tolist()]
        weights = np.where(cells == cell, np.array(tails)[:, None], weights)
    position = (np.arange(pixels) - nodes[0]) / width
    node = np.floor(position)
    f = position - node
    spline = np.stack([(1 - f) ** 3, 3 * f**3 - 6 * f**2 + 4, 3 * (f + f**2 - f**3) + 1, f**3], axis=1) / 6
    to_pixels = RowMix(spline.astype(np.float32), node.astype(np.int64) - 1)
    return Axis(count + 2, count + 4, RowMix(weights.astype(np.float32), starts.astype(np.int64)), to_pixels)


@dataclass(frozen=True, slots=True)
class LazyMap:
    """The source x or y of every pixel, computed when `np.asarray` asks for them, H×W float32.

    Attributes:
        size: rows and columns of the image.
        rows: the field's coefficients along y, nodes × width.
        mixes: from `rows` to the field's rows.
        down: y: the first row of the field in `mixes`; None: this is x.
    """

    size: tuple[int, int]
    rows: Rows
    mixes: RowMix
    down: int | None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Rows:
        kernels: Any = library()
        places, is_x = np.empty(self.size, np.float32), self.down is None
        return self.mixes.apply(kernels, self.rows, places, self.down or 0, is_x, not is_x).astype(dtype or np.float32)


def field(kernels: Library, step: Any, height: int, width: int) -> tuple[LazyMap, LazyMap]:
    """Draw the maps x and y of an image. The field of y lies below that of x in one tall field."""
    rows, random = height if step.same_dxdy else 2 * height, step.random_generator
    down, across = axis(rows, step.sigma), axis(width, step.sigma)
    words = random.integers(0, _WORDS, 2).tolist()
    key = mix(random.sample_bits(), words[0])
    scale = step.alpha / maximum_quantile(rows * width, (words[1] + 0.5) / _WORDS)
    shape = across.cells, max(down.cells, _SMALLEST)
    noise = normal_numbers(kernels, key, math.prod(shape), 0.0, scale).reshape(shape)
    # Kernels take at least _SMALLEST columns: fewer nodes are padded with zeros.
    nodes = np.zeros((max(across.nodes, _SMALLEST), shape[1]), np.float32)
    smooth = np.zeros((max(down.nodes, _SMALLEST), len(nodes)), np.float32)
    columns = np.empty((width, len(smooth)), np.float32)
    across.smooths.apply(kernels, noise, nodes[: across.nodes])
    down.smooths.apply(kernels, cv2.transpose(nodes), smooth[: down.nodes])
    across.upsamples.apply(kernels, cv2.transpose(smooth), columns)
    size, across_rows = (height, width), cv2.transpose(columns)
    return LazyMap(size, across_rows, down.upsamples, None), LazyMap(size, across_rows, down.upsamples, rows - height)


def warp_by_field(image: NDArray[Any], x: LazyMap, y: LazyMap, border: int, fill: int) -> NDArray[Any] | None:
    """Sample an image bilinearly at x and y; None where the kernel does not take it.

    Args:
        image: uint8, contiguous, H×W or H×W×C.
        x: the map of columns.
        y: the map of rows.
        border: the border mode, as OpenCV numbers it.
        fill: the value of a constant border, a byte per channel.
    """
    kernels: Any = library()
    out, (height, width), channels = np.empty_like(image), x.size, image.size // math.prod(x.size)
    answer = kernels.kernel("bend", "plllii" + "ipppllp")(
        address_of(image), height, width, width * channels, channels, border, fill, address_of(x.rows),
        address_of(x.mixes.weights), address_of(x.mixes.starts), x.mixes.weights.shape[1], y.down, address_of(out),
    )  # fmt: skip
    return None if answer else out


def maximum_quantile(count: int, share: float) -> float:
    """The `share` quantile of the largest absolute value of `count` standard normal numbers.

    >>> round(maximum_quantile(2 * 512 * 512, 0.5), 2)
    4.84
    """
    return -NormalDist().inv_cdf(-math.expm1(math.log(share) / count) / 2)


class CoarseElastic(FastRemap):
    """ElasticTransform with fields drawn on a coarse grid, except for tiny images."""

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """Draw the two maps; for tiny images and without kernels as the class does."""
        (height, width), kernels = params["shape"][:2], library()
        if kernels is None or min(height, width) < _SMALLEST:
            return dict(super().get_params_dependent_on_data(params, data))
        return dict(zip(("map_x", "map_y"), field(kernels, self, height, width), strict=True))

    def apply(self, img: NDArray[Any], map_x: Any, map_y: Any, **_: Any) -> NDArray[Any]:
        """Warp an image; bilinear uint8 images without computing the maps."""
        fill = border_word(self.fill) if self.border_mode == cv2.BORDER_CONSTANT else 0
        fits = isinstance(map_x, LazyMap) and img.dtype == np.uint8 and img.flags.c_contiguous
        result = None
        if fits and self.interpolation == cv2.INTER_LINEAR and abs(self.alpha) < _FAR and fill >= 0:
            result = warp_by_field(img, map_x, map_y, self.border_mode, fill)
        return super().apply(img, np.asarray(map_x), np.asarray(map_y)) if result is None else result

    def apply_to_mask(self, mask: NDArray[Any], map_x: Any, map_y: Any, **_: Any) -> NDArray[Any]:
        """Warp a mask."""
        return super().apply_to_mask(mask, np.asarray(map_x), np.asarray(map_y))
