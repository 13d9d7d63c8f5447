"""PiecewiseAffine with albumentations' bits: its maps in one native pass, where numpy passes over each point."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import geometric
from augrecipes.compiler.kernels.elastic import FastRemap
from augrecipes.native.kernels import Library, library

_F32 = np.float32
_LEAST, _MOST = 2, 128  # rows or columns of a grid; points of it: of more, numpy adds the halves
_GRIDS = (1, 1), (2, 3), (4, 4), (5, 12), (16, 8)  # that show in which order numpy adds


class FastPiecewiseAffine(FastRemap):
    """PiecewiseAffine."""

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """Draw what the class draws."""
        step: Any = self
        draw: Any = super().get_params_dependent_on_data  # type: ignore[misc]
        kernels = library()
        if kernels is None or not same_bits(kernels):
            return dict(draw(params, data))
        rows, columns = (max(step.py_random.randint(*limits), _LEAST) for limits in (step.nb_rows, step.nb_cols))
        scale, size = step.py_random.uniform(*step.scale), params["shape"][:2]
        found = maps(kernels, size, (rows, columns), scale, step.absolute_scale, step.random_generator)
        return dict(zip(("map_x", "map_y"), found, strict=True))


def maps(
    kernels: Library,
    image_shape: tuple[int, int],
    grid: tuple[int, int],
    scale: float,
    absolute_scale: bool,
    random_generator: np.random.Generator,
) -> Any:
    """Where each pixel is taken from: the mean of where points of a grid are, by how near they are."""
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
def same_bits(kernels: Library) -> bool:
    """Whether the kernel gives the bits of the installed numpy: asked once a process."""
    each = [((9, 21), grid, 0.1, False) for grid in _GRIDS]
    ours = [maps(kernels, *arguments, np.random.default_rng(0)) for arguments in each]
    its = [geometric.create_piecewise_affine_maps(*arguments, np.random.default_rng(0)) for arguments in each]
    return np.array_equal(ours, its)
