"""Samplers that draw what a class draws, to the bit, in fewer steps: matrices of affine warps, windows about a mask."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from augrecipes.compat import Mixin
from augrecipes.compat.albumentations import drawn_affine, preprocessed_mask
from augrecipes.ops.matrices import Matrix, Size

_PLAIN = {"x": 1, "y": 1}
_NOTHING = {"x": 0, "y": 0}
_LAST = (0.0, 0.0, 1.0)


class FastRotate(Mixin):  # type: ignore[misc]
    """Rotate, whose two matrices are multiplied in fewer steps."""

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """Draw what the class draws."""
        if self.crop_border:
            return dict(super().get_params_dependent_on_data(params, data))
        angle = self.py_random.uniform(*self.limit)
        return {
            **dict.fromkeys(("x_min", "x_max", "y_min", "y_max"), -1),
            **affine_matrices(_NOTHING, _NOTHING, _PLAIN, angle, params["shape"][:2]),
        }


class FastAffine(Mixin):  # type: ignore[misc]
    """Affine and ShiftScaleRotate, the same."""

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """Draw what the class draws."""
        if self.fit_output:
            return dict(super().get_params_dependent_on_data(params, data))
        size = params["shape"][:2]
        translate, shear, scale = drawn_affine(self, size)
        rotate = self.py_random.uniform(*self.rotate)
        matrices = affine_matrices(translate, shear, scale, rotate, size)
        return {"rotate": rotate, "scale": scale, **matrices, "output_shape": size}


def affine_matrices(
    translate: Mapping[str, float], shear: Mapping[str, float], scale: Mapping[str, float], rotate: float, size: Size
) -> dict[str, Matrix]:
    """The matrices that albumentations multiplies for pixel centres and for boxes, bit for bit.

    Products with 0 and 1 are exact, so that only those are left to numpy that round: of shears and rotation, and with
    the shift of the image's middle to the origin.
    """
    angle = math.radians(rotate % 360)
    cos, sin = float(np.cos(angle)), float(np.sin(angle))
    linear = ((cos, sin), (-sin, cos))
    if shear["x"] or shear["y"]:
        x, y = np.tan(math.radians(shear["x"])), np.tan(math.radians(shear["y"]))
        sheared = np.array(((1, x, 0), (y, 1, 0), _LAST)) @ np.array(((cos, sin, 0), (-sin, cos, 0), _LAST))
        linear = sheared[:2, :2].tolist()
    (a, b), (c, d) = ((row[0] * scale["x"] + 0.0, row[1] * scale["y"] + 0.0) for row in linear)  # no -0, as in sums
    matrices = {}
    for name, half in (("matrix", 0.5), ("bbox_matrix", 0.0)):
        x, y = size[1] / 2 - half, size[0] / 2 - half
        back = np.array(((a, b, x + translate["x"]), (c, d, y + translate["y"]), _LAST))
        matrices[name] = back @ np.array(((1, 0, -x), (0, 1, -y), _LAST))
    return matrices


class FastMaskCrop(Mixin):  # type: ignore[misc]
    """CropNonEmptyMaskIfExists, which looks up the place that it drew; albumentations lists all to draw from."""

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """Draw what the class draws."""
        mask = preprocessed_mask(self, data["mask"]) if "mask" in data else np.zeros(0)
        if mask.ndim != 2 or not mask.any():
            return dict(super().get_params_dependent_on_data(params, data))
        counts = np.add.reduce(mask != 0, axis=1, dtype=np.min_scalar_type(mask.shape[1]))  # intp takes thrice as long
        row_ends = np.cumsum(counts)  # among all places
        number = self.py_random.choice(range(int(row_ends[-1])))
        y = int(np.searchsorted(row_ends, number, side="right"))
        columns = np.flatnonzero(mask[y])
        x = int(columns[number - int(row_ends[y])])  # from the end of the row
        left, top = (at - self.py_random.randint(0, side - 1) for at, side in ((x, self.width), (y, self.height)))
        left, top = np.clip(left, 0, mask.shape[1] - self.width), np.clip(top, 0, mask.shape[0] - self.height)
        return {"crop_coords": (left, top, left + self.width, top + self.height)}
