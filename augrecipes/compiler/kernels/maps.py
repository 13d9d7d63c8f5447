"""Maps of displacements as albumentations makes them, to the last bit, with fewer passes over fewer temporaries."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from types import MethodType
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import A
from augrecipes.compat.instead import Functions, with_functions
from augrecipes.compiler.kernels import field_native, lens_native

Maps = tuple[np.ndarray, np.ndarray]  # x and y, H×W float32; of a grid they are read-only views of a row and a column
_SAMPLER = "get_params_dependent_on_data"
_ROUGH, _NOTHING = 17, 1e-6  # weights of an approximate field; noise that is none


def with_quick_maps(step: Any) -> Any:
    """The transform, whose sampler makes its maps by the functions of this file."""
    if getattr(type(step), _SAMPLER, None) is A.ElasticTransform.get_params_dependent_on_data:
        setattr(step, _SAMPLER, MethodType(elastic, step))
    own: Functions = {
        "generate_grid": grid,
        "get_fisheye_distortion_maps": fisheye,
        "get_camera_matrix_distortion_maps": lens_native.camera,
    }
    return with_functions(step, (_SAMPLER,), own)


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


def grid(image_shape: Any, steps_x: Sequence[float], steps_y: Sequence[float], num_steps: int) -> Maps:
    """A grid whose columns and rows are stretched.

    >>> grid((2, 4), [1.0, 2.0, 1.0], [1.0, 1.0, 1.0], 2)[0][0].tolist()
    [0.0, 2.0, 2.0, 6.0]
    """
    height, width = image_shape[:2]
    across, down = _stretched(width, steps_x, num_steps), _stretched(height, steps_y, num_steps)
    return np.broadcast_to(across, (height, width)), np.broadcast_to(down[:, None], (height, width))


def _stretched(length: int, steps: Sequence[float], parts: int) -> np.ndarray:
    line, part, before = np.zeros(length, np.float32), length // parts, 0.0
    for number, step in enumerate(steps):
        start, behind = number * part, before + part * step
        count = min(start + part, length) - start
        if count > 1:
            _spread(before, behind, line[start : start + count])
        elif count == 1:
            line[start] = before
        before = behind
    return line


def _spread(first: float, last: float, out: np.ndarray) -> None:
    """np.linspace(first, last, len(out)) in a third of its time."""
    apart = (last - first) / (len(out) - 1)
    if not apart:
        out[...] = np.linspace(first, last, len(out))
        return
    values = np.arange(len(out), dtype=np.float64)
    values *= apart
    values += first
    values[-1] = last
    out[...] = values


def fisheye(image_shape: Any, k: float) -> Maps:
    """A lens that bends the more, the further from the centre."""
    height, width = image_shape[:2]
    centre_x, centre_y = width / 2, height / 2
    x, y, r = (np.empty((height, width), np.float32) for _ in range(3))
    x[...] = np.arange(width, dtype=np.float32) - centre_x
    y[...] = (np.arange(height, dtype=np.float32) - centre_y)[:, None]
    np.multiply(x, x, out=r)
    r += y * y
    np.sqrt(r, out=r)
    angle = np.arctan2(y, x)
    far = r / sqrt(max(centre_x, width - centre_x) ** 2 + max(centre_y, height - centre_y) ** 2)
    np.multiply(far, k, out=x)
    x *= far
    x += 1
    r *= x
    for made, turned, centre in ((x, np.cos, centre_x), (y, np.sin, centre_y)):
        np.multiply(r, turned(angle, out=made), out=made)
        np.add(made, centre, out=made)
    return x, y
