"""Maps of displacements as albumentations makes them, to the last bit, with fewer passes over fewer temporaries."""

from __future__ import annotations

from functools import cache, partial
from types import MethodType
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import A, geometric
from augrecipes.compat.replaced_functions import with_functions
from augrecipes.compiler.kernels import field_native
from augrecipes.native.kernels import Library, library

_SAMPLER = "get_params_dependent_on_data"
_F32 = np.float32
_ROUGH, _NOTHING = 17, 1e-6  # weights of an approximate field; noise that is none
_MOST = 128  # points of a grid: of more, numpy adds the halves
_GRIDS = (1, 1), (2, 3), (4, 4), (5, 12), (16, 8)  # that show in which order numpy adds


def with_quick_maps(step: Any) -> Any:
    """The transform, whose sampler makes its maps of displacements by the functions of this file."""
    if (
        _SAMPLER not in vars(step)
        and getattr(type(step), _SAMPLER, None) is A.ElasticTransform.get_params_dependent_on_data
    ):
        setattr(step, _SAMPLER, MethodType(elastic, step))
    if isinstance(step, A.PiecewiseAffine) and (kernels := library()) is not None and _same_bits(kernels):
        with_functions(step, (_SAMPLER,), {"create_piecewise_affine_maps": partial(piecewise_affine_maps, kernels)})
    return step


def elastic(step: Any, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """What ElasticTransform draws: where each pixel is, and a smooth field of noise on top.

    Albumentations adds in float64 and rounds, which is what adding in float32 gives.
    """
    del data
    height, width = params["shape"][:2]
    shape, random, size = (1 if step.same_dxdy else 2, height, width), step.random_generator, _ROUGH * step.approximate
    if step.noise_distribution == "gaussian":
        noise = random.standard_normal(shape, dtype=_F32)
        most = max(noise.max(), -noise.min())
        if most > _NOTHING:
            noise /= most
    else:
        noise = random.uniform(-1, 1, size=shape).astype(_F32)
    flat = noise.reshape(-1, width)
    if not field_native.smooth(flat, step.sigma, size, step.alpha):
        cv2.GaussianBlur(flat, (size, size), step.sigma, dst=flat, borderType=cv2.BORDER_REPLICATE)
        noise *= step.alpha
    across, down = np.arange(width, dtype=_F32), np.arange(height, dtype=_F32)[:, None]
    return {"map_x": noise[0] + across, "map_y": noise[-1] + down}


def piecewise_affine_maps(
    kernels: Library,
    image_shape: tuple[int, int],
    grid: tuple[int, int],
    scale: float,
    absolute_scale: bool,
    random_generator: np.random.Generator,
) -> Any:
    """Where PiecewiseAffine takes each pixel from: the mean of where points of a grid are, by how near they are."""
    (height, width), (rows, columns) = image_shape[:2], grid
    if min(height, width, rows, columns, scale) <= 0 or rows * columns > _MOST:
        return geometric.create_piecewise_affine_maps(image_shape, grid, scale, absolute_scale, random_generator)
    down, across = np.linspace(0, height - 1, rows, dtype=_F32), np.linspace(0, width - 1, columns, dtype=_F32)
    x, y = (each.reshape(-1) for each in np.meshgrid(across, down))
    spread = scale / 3 if absolute_scale else scale * min(width, height) / 3
    moved = random_generator.normal(0, spread, (rows, columns, 2)).astype(_F32).reshape(-1, 2)
    to_x, to_y = np.clip(x + moved[:, 1], 0, width - 1), np.clip(y + moved[:, 0], 0, height - 1)
    map_x, map_y = np.empty((2, height, width), _F32)
    points = np.stack([x, y, to_x, to_y]).astype(_F32, copy=False)
    sizes = x.size, height, width
    kernels.kernel("means_of_moves", "plllpp")(points.ctypes.data, *sizes, map_x.ctypes.data, map_y.ctypes.data)
    return np.clip(map_x, 0, width - 1, out=map_x), np.clip(map_y, 0, height - 1, out=map_y)


@cache
def _same_bits(kernels: Library) -> bool:
    """Whether the kernel gives the bits of the installed numpy: asked once a process."""
    each = [((9, 21), grid, 0.1, False) for grid in _GRIDS]
    ours = [piecewise_affine_maps(kernels, *given, np.random.default_rng(3)) for given in each]
    its = [geometric.create_piecewise_affine_maps(*given, np.random.default_rng(3)) for given in each]
    return np.array_equal(ours, its)
