"""Shapes that are bent, and images with circles and colours laid over them, done quicker than by albumentations.

For quick_functions.py, which holds each to the class that calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import geometric, pixel
from augrecipes.native.kernels import library

Maps = tuple[np.ndarray | None, np.ndarray | None]  # x and y, H×W float32
_F32 = np.float32
_LEVELS = np.arange(256, dtype=np.uint8)
_MOST = 512  # points of a grid that the kernel takes
_RGB = 3
_NUMBER = 4  # rows of what OpenCV's Python may take for a number


def create_piecewise_affine_maps(
    image_shape: tuple[int, int],
    grid: tuple[int, int],
    scale: float,
    absolute_scale: bool,
    random_generator: np.random.Generator,
) -> Maps:
    """Where each pixel is taken from: the mean of where points of a grid are, by how near they are."""
    (height, width), (rows, columns) = image_shape[:2], grid
    kernels = library()
    if kernels is None or min(height, width, rows, columns, scale) <= 0 or rows * columns > _MOST:
        own: Maps = geometric.create_piecewise_affine_maps(image_shape, grid, scale, absolute_scale, random_generator)
        return own
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


def add_sun_flare_overlay(
    img: np.ndarray,
    flare_center: tuple[int, int],
    src_radius: int,
    src_color: tuple[int, ...],
    circles: list[Any],
) -> np.ndarray:
    """A uint8 image with small circles and a sun over it, mixed only where they are."""
    rings, kernels = src_radius // 10, library()
    if kernels is None or img.dtype != np.uint8 or img.shape[2:] != (_RGB,) or rings > _LEVELS[-1]:
        own: np.ndarray = pixel.add_sun_flare_overlay(img, flare_center, src_radius, src_color, circles)
        return own
    (height, width), made = img.shape[:2], np.array(img, order="C")
    overlay, left, top, right, bottom = made.copy(), width, height, 0, 0
    for alpha, (x, y), radius, color in circles:
        cv2.circle(overlay, (x, y), radius, color, -1)
        left, right = max(min(left, x - radius), 0), min(max(right, x + radius + 1), width)
        top, bottom = max(min(top, y - radius), 0), min(max(bottom, y + radius + 1), height)
        if left < right and top < bottom:
            over, under = (each[top:bottom, left:right] for each in (overlay, made))
            under[:] = pixel.add_weighted(np.ascontiguousarray(over), alpha, np.ascontiguousarray(under), 1 - alpha)
    bright = sum(alpha * radius for alpha, _, radius, _ in circles) / sum(radius for _, _, radius, _ in circles) * 5
    alphas, radii = np.linspace(0.0, min(bright, 1.0), num=rings).tolist(), np.linspace(1, src_radius, num=rings)
    levels, sun = (np.full((1, 256, _RGB), each, np.uint8) for each in (_LEVELS[:, None], src_color))
    which, tables = np.zeros((height, width), np.uint8), np.empty((rings + 1, 256, _RGB), np.uint8)
    after: Any = levels
    for ring, alpha, radius in zip(range(rings, 0, -1), alphas, radii.astype(int).tolist()[::-1], strict=True):
        after = cv2.LUT(pixel.add_weighted(sun, alpha * alpha * alpha, levels, 1 - alpha * alpha * alpha), after)
        tables[ring] = after[0]
        cv2.circle(which, flare_center, radius, ring, -1)  # the smallest of a pixel is the first that covers it
    kernels.kernel("through_tables", "plpp")(which.ctypes.data, which.size, tables.ctypes.data, made.ctypes.data)
    return made


def pixel_dropout(image: np.ndarray, drop_mask: np.ndarray, drop_values: np.ndarray) -> np.ndarray:
    """An image with other values where a mask of its shape says so, of all channels of a pixel alike."""
    alike = image.shape == drop_mask.shape == drop_values.shape and image.dtype == drop_values.dtype == np.uint8
    channels_alike = image.ndim == _RGB and drop_mask.strides[-1] == 0
    if not alike or not channels_alike or len(image) <= _NUMBER or image.size == 0:
        own: np.ndarray = pixel.pixel_dropout(image, drop_mask, drop_values)
        return own
    made = np.array(image, order="C")
    cv2.copyTo(np.ascontiguousarray(drop_values), np.ascontiguousarray(drop_mask[..., 0]).view(np.uint8), made)
    return made


def add_rain(
    img: np.ndarray,
    slant: float,
    drop_length: int,
    drop_width: int,
    drop_color: tuple[int, int, int],
    blur_value: int,
    brightness_coefficient: Any,
    rain_drops: np.ndarray,
) -> np.ndarray:
    """A uint8 image under rain; rain of one grey is drawn once for all channels."""
    if img.dtype != np.uint8 or img.shape[2:] != (_RGB,) or len(set(drop_color)) > 1 or not rain_drops.size:
        given = drop_width, drop_color, blur_value, brightness_coefficient, rain_drops
        own: np.ndarray = pixel.add_rain(img, slant, drop_length, *given)
        return own
    layer = np.zeros(img.shape[:2], np.uint8)
    lines: Any = np.stack((rain_drops, rain_drops + np.array([[slant, drop_length]])), axis=1).astype(np.int32)
    cv2.polylines(layer, lines, False, drop_color[:1], drop_width, lineType=cv2.LINE_4)
    if blur_value > 1:
        cv2.blur(layer, (blur_value, blur_value), dst=layer)
    made = cv2.add(img, cv2.merge([layer] * _RGB))
    if brightness_coefficient == 1.0:
        return made
    return cv2.LUT(made, cv2.multiply(_LEVELS, brightness_coefficient, dtype=cv2.CV_8U))


FUNCTIONS: dict[str, dict[str, Callable[..., Any]]] = {
    "fgeometric": {
        "create_piecewise_affine_maps": create_piecewise_affine_maps,
    },
    "fpixel": {
        "add_rain": add_rain,
        "add_sun_flare_overlay": add_sun_flare_overlay,
        "pixel_dropout": pixel_dropout,
    },
}
