"""ElasticTransform and PiecewiseAffine with albumentations' bits: native passes compute their maps and sample by them.

Where the installed numpy or OpenCV rounds differently from the kernels, the classes draw as in albumentations.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import cv2
import numpy as np

from augrecipes.compat import Mixin
from augrecipes.compat.albumentations import geometric
from augrecipes.compiler.kernels.opencv_bits import asked_once, remap
from augrecipes.native.kernels import Library, library

_F32 = np.float32
_APPROXIMATE_WEIGHTS, _ZERO = 17, 1e-6  # weights of an approximate field; the least noise that is normalised
_DEVIATIONS = 8  # standard deviations that OpenCV's float kernels span
# Fields and deviations at which the bits tell OpenCV's vector width, and where it fuses multiply and add.
_PROBED_FIELDS = (
    ((40, 67), 2.0), ((9, 100), 6.0), ((26, 45), 1.0), ((7, 7), 11.0), ((5, 66), 1.3), ((2, 2), 3.0), ((90, 11), 0.8),
)  # fmt: skip
_LEAST_LINES, _MOST_POINTS = 2, 128  # rows or columns; points: numpy sums more pairwise
_PROBED_GRIDS = (1, 1), (2, 3), (4, 4), (5, 12), (16, 8)  # these show in which order numpy adds


class FastRemap(Mixin):  # type: ignore[misc]
    """A transform that samples by two maps, see `remap`."""

    def apply(self, img: np.ndarray, map_x: np.ndarray, map_y: np.ndarray, **_: Any) -> np.ndarray:
        """Warp an image."""
        return remap(img, map_x, map_y, self.interpolation, self.border_mode, self.fill)

    def apply_to_mask(self, mask: np.ndarray, map_x: np.ndarray, map_y: np.ndarray, **_: Any) -> np.ndarray:
        """Warp a mask."""
        return remap(mask, map_x, map_y, self.mask_interpolation, self.border_mode, self.fill_mask)


class FastElastic(FastRemap):
    """ElasticTransform with native smoothing."""

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """Draw the class's maps: each pixel's own position plus a smooth field of noise.

        Albumentations adds in float64 and rounds, which gives the same bits as adding in float32.
        """
        height, width = params["shape"][:2]
        shape, size = (1 if self.same_dxdy else 2, height, width), _APPROXIMATE_WEIGHTS * self.approximate
        if self.noise_distribution == "gaussian":
            noise = self.random_generator.standard_normal(shape, dtype=_F32)
            most = max(noise.max(), -noise.min())
            if most > _ZERO:
                noise /= most
        else:
            noise = self.random_generator.uniform(-1, 1, size=shape).astype(_F32)
        flat = noise.reshape(-1, width)
        if not smooth(flat, self.sigma, size, self.alpha):
            cv2.GaussianBlur(flat, (size, size), self.sigma, dst=flat, borderType=cv2.BORDER_REPLICATE)
            noise *= self.alpha
        across, down = np.arange(width, dtype=_F32), np.arange(height, dtype=_F32)[:, None]
        return {"map_x": noise[0] + across, "map_y": noise[-1] + down}


def smooth(field: np.ndarray, deviation: float, size: int, times: float) -> bool:
    """Smooth a field in place and multiply it; False where OpenCV must do it.

    Args:
        field: float32 H×W, contiguous.
        deviation: standard deviation of the weights, px.
        size: number of weights along each axis; 0: as many as the deviation needs.
        times: factor of the result.
    """
    kernels = library()
    if kernels is None or not smooths_as_opencv(kernels):
        return False
    return smooth_by(kernels, field, gaussian_weights(deviation, size), times)


def smooth_by(kernels: Library, field: np.ndarray, weights: np.ndarray, times: float) -> bool:
    """Smooth a field by kernels and weights, whatever OpenCV's bits; False: too large."""
    rows, columns = field.shape
    scratch = np.empty((rows + 1) * (columns + 128) + 16 * (columns + rows + 2 * len(weights) + 300), np.float32)
    kernel: Callable[..., int] = kernels.kernel("smooth_field", "pllplfp")
    answer = kernel(field.ctypes.data, rows, columns, weights.ctypes.data, len(weights), times, scratch.ctypes.data)
    return answer == 0


@lru_cache(maxsize=64)
def gaussian_weights(deviation: float, size: int = 0) -> np.ndarray:
    """The weights of OpenCV's GaussianBlur of floats; `size` 0: as many as the deviation needs.

    >>> len(gaussian_weights(6.0)), len(gaussian_weights(50.0, 17))
    (49, 17)
    """
    weights = cv2.getGaussianKernel(size or round(deviation * _DEVIATIONS + 1) | 1, deviation, cv2.CV_32F).ravel()
    weights.flags.writeable = False
    return weights


@asked_once
def smooths_as_opencv(kernels: Library) -> Any:
    """Whether the kernel reproduces the bits of the installed OpenCV's GaussianBlur."""
    random = np.random.default_rng(0)
    for shape, deviation in _PROBED_FIELDS:
        field = random.standard_normal(shape, np.float32)
        expected = cv2.GaussianBlur(field, (0, 0), deviation, borderType=cv2.BORDER_REPLICATE)
        yield smooth_by(kernels, field, gaussian_weights(deviation), 1.0) and np.array_equal(field, expected)


class FastPiecewiseAffine(FastRemap):
    """PiecewiseAffine with maps from a native pass."""

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """Draw the class's maps."""
        kernels = library()
        if kernels is None or not adds_as_numpy(kernels):
            return dict(super().get_params_dependent_on_data(params, data))
        grid = [max(self.py_random.randint(*limits), _LEAST_LINES) for limits in (self.nb_rows, self.nb_cols)]
        scale, size = self.py_random.uniform(*self.scale), params["shape"][:2]
        maps = piecewise_maps(kernels, size, grid, scale, self.absolute_scale, self.random_generator)
        return dict(zip(("map_x", "map_y"), maps, strict=True))


def piecewise_maps(
    kernels: Library, size: Any, grid: Any, scale: float, absolute: bool, random: np.random.Generator
) -> Any:
    """The maps x and y: the mean of the grid points' moves, weighted by their nearness to the pixel.

    Args:
        kernels: the native kernels, for grids that numpy does not sum pairwise.
        size: rows and columns of the image.
        grid: rows and columns of points.
        scale: three standard deviations of a point's move.
        absolute: `scale` is in px, not a share of the shorter side.
        random: the generator of the moves.
    """
    (height, width), (rows, columns) = size, grid
    if min(height, width, rows, columns, scale) <= 0 or rows * columns > _MOST_POINTS:
        return geometric.create_piecewise_affine_maps(size, grid, scale, absolute, random)
    down, across = np.linspace(0, height - 1, rows, dtype=_F32), np.linspace(0, width - 1, columns, dtype=_F32)
    x, y = (axis.reshape(-1) for axis in np.meshgrid(across, down))
    deviation = scale / 3 if absolute else scale * min(width, height) / 3
    moves = random.normal(0, deviation, (rows, columns, 2)).astype(_F32).reshape(-1, 2)
    to_x, to_y = np.clip(x + moves[:, 1], 0, width - 1), np.clip(y + moves[:, 0], 0, height - 1)
    map_x, map_y = np.empty((2, height, width), _F32)
    points = np.stack([x, y, to_x, to_y]).astype(_F32, copy=False)
    kernels.kernel("means_of_moves", "plllpp")(
        points.ctypes.data, x.size, height, width, map_x.ctypes.data, map_y.ctypes.data
    )
    return np.clip(map_x, 0, width - 1, out=map_x), np.clip(map_y, 0, height - 1, out=map_y)


@asked_once
def adds_as_numpy(kernels: Library) -> Any:
    """Whether the kernel reproduces the bits of the installed numpy's sums."""
    for grid in _PROBED_GRIDS:
        arguments = (9, 21), grid, 0.1, False
        expected = geometric.create_piecewise_affine_maps(*arguments, np.random.default_rng(0))
        yield np.array_equal(piecewise_maps(kernels, *arguments, np.random.default_rng(0)), expected)
