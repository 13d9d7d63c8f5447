"""Steps that resample, shared by targets of different scale: one geometry, in cells, carried out on each grid.

Positions are pixel centres. A cell c and a pixel d of a target with k pixels a cell show the same point where
d = (c + 1/2)·k − 1/2, so a matrix M between cells is S·M·S⁻¹ between pixels, where S multiplies by k and adds (k−1)/2.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import geometric

_CELLS = ("x_min", "x_max", "y_min", "y_max")


def resample(step: Any, params: dict[str, Any], image: np.ndarray, unit: int) -> np.ndarray:
    """The step with parameters that were drawn in cells, on a target with `unit` pixels a cell.

    Args:
        step: the transform whose own sizes, if it has any, are in the target's pixels.
        params: drawn on the common grid.
        image: of the target.
        unit: pixels along a cell.
    """
    rows, columns = params["shape"][:2]
    if "matrix" not in params and "scale" in params:
        scale = params["scale"]
        size = (max(1, round(rows * scale)) * unit, max(1, round(columns * scale)) * unit)
        area = step.area_for_downscale in ("image", "image_mask") and scale < 1.0
        return np.asarray(geometric.resize(image, size, cv2.INTER_AREA if area else step.interpolation))
    own = {**params, "shape": image.shape}
    if "crop_coords" in params:
        own["crop_coords"] = tuple(int(v) * unit for v in params["crop_coords"])
    if "matrix" in params:
        own["matrix"] = between_pixels(params["matrix"], unit)
    if "output_shape" in params:
        own["output_shape"] = tuple(int(n) * unit for n in params["output_shape"][:2])
    for name in _CELLS:
        if params.get(name, -1) >= 0:
            own[name] = int(params[name]) * unit
    out: np.ndarray = step.apply_with_params(own, image=image)["image"]
    return out


def between_pixels(matrix: np.ndarray, unit: int) -> np.ndarray:
    """A 3×3 matrix between cells as one between pixels.

    >>> between_pixels(np.array([[1.0, 0, 2], [0, 1, 0], [0, 0, 1]]), 4)[0].tolist()
    [1.0, 0.0, 8.0]
    """
    shift = (unit - 1) / 2
    forth = np.array([[unit, 0, shift], [0, unit, shift], [0, 0, 1]], np.float64)
    return np.asarray(forth @ matrix @ np.linalg.inv(forth))
