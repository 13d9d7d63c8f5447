"""Maps of displacements as albumentations makes them, to the last bit, with fewer passes over fewer temporaries."""

from __future__ import annotations

from types import MethodType
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import A
from augrecipes.compiler.kernels import field_native

Maps = tuple[np.ndarray, np.ndarray]  # x and y, H×W float32
_SAMPLER = "get_params_dependent_on_data"
_ROUGH, _NOTHING = 17, 1e-6  # weights of an approximate field; noise that is none


def with_quick_maps(step: Any) -> Any:
    """The transform, whose sampler makes its fields of displacements by the functions of this file."""
    if (
        _SAMPLER not in vars(step)
        and getattr(type(step), _SAMPLER, None) is A.ElasticTransform.get_params_dependent_on_data
    ):
        setattr(step, _SAMPLER, MethodType(elastic, step))
    return step


def elastic(step: Any, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """What ElasticTransform draws: where each pixel is, and a smooth field of noise on top.

    Albumentations adds in float64 and rounds, which is what adding in float32 gives.
    """
    del data
    height, width = params["shape"][:2]
    dx, dy = fields(
        (height, width),
        step.alpha,
        step.sigma,
        same_dxdy=step.same_dxdy,
        kernel_size=(_ROUGH, _ROUGH) if step.approximate else (0, 0),
        random_generator=step.random_generator,
        noise_distribution=step.noise_distribution,
    )
    across, down = np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32)[:, None]
    return {"map_x": dx + across, "map_y": dy + down}


def fields(
    image_shape: tuple[int, int],
    alpha: float,
    sigma: float,
    *,
    same_dxdy: bool,
    kernel_size: tuple[int, int],
    random_generator: np.random.Generator,
    noise_distribution: str,
) -> Maps:
    """Noise H×W float32 for x and for y, made smooth, as albumentations' `generate_displacement_fields` has it."""
    count = 1 if same_dxdy else 2
    if noise_distribution == "gaussian":
        made = random_generator.standard_normal((count, *image_shape), dtype=np.float32)
        most = max(made.max(), -made.min())
        if most > _NOTHING:
            made /= most
    else:
        made = random_generator.uniform(-1, 1, size=(count, *image_shape)).astype(np.float32)
    flat = made.reshape(-1, image_shape[1])
    if not field_native.smooth(flat, sigma, kernel_size[0], alpha):
        cv2.GaussianBlur(flat, kernel_size, sigma, dst=flat, borderType=cv2.BORDER_REPLICATE)
        made *= alpha
    return made[0], made[-1]
