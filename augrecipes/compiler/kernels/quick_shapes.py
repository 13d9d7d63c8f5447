"""Shapes that are bent, and images with circles and colours laid over them, done quicker than by albumentations.

For quick_functions.py, which holds each to the class that calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import geometric, pixel
from augrecipes.compiler.kernels import lens_native, warp_native
from augrecipes.native.kernels import library

Maps = tuple[np.ndarray | None, np.ndarray | None]  # x and y, H×W float32
_F32 = np.float32
_LEVELS = np.arange(256, dtype=np.uint8)
_MOST = 512  # points of a grid that the kernel takes
_POINTS = 4096  # whose distances stay in the cache
_RGB = 3
_NUMBER = 4  # rows of what OpenCV's Python may take for a number
_LARGE = 128  # rows of a matrix that OpenCV multiplies as it does all larger ones


def _done(name: str, arguments: str, *given: Any) -> bool:
    """Whether a kernel did its work with numbers and contiguous arrays."""
    kernels = library()
    if kernels is None:
        return False
    places = (one.ctypes.data if isinstance(one, np.ndarray) else one for one in given)
    return kernels.kernel(name, arguments)(*places) == 0


def create_piecewise_affine_maps(
    image_shape: tuple[int, int],
    grid: tuple[int, int],
    scale: float,
    absolute_scale: bool,
    random_generator: np.random.Generator,
) -> Maps:
    """Where each pixel is taken from: the mean of where points of a grid are, by how near they are."""
    (height, width), (rows, columns) = image_shape[:2], grid
    if library() is None or min(height, width, rows, columns, scale) <= 0 or rows * columns > _MOST:
        own: Maps = geometric.create_piecewise_affine_maps(image_shape, grid, scale, absolute_scale, random_generator)
        return own
    down, across = np.linspace(0, height - 1, rows, dtype=_F32), np.linspace(0, width - 1, columns, dtype=_F32)
    x, y = (each.reshape(-1) for each in np.meshgrid(across, down))
    spread = scale / 3 if absolute_scale else scale * min(width, height) / 3
    moved = random_generator.normal(0, spread, (rows, columns, 2)).astype(_F32).reshape(-1, 2)
    to_x, to_y = np.clip(x + moved[:, 1], 0, width - 1), np.clip(y + moved[:, 0], 0, height - 1)
    map_x, map_y = np.empty((2, height, width), _F32)
    points = np.stack([x, y, to_x, to_y]).astype(_F32, copy=False)
    _done("means_of_moves", "plllpp", points, x.size, height, width, map_x, map_y)
    return np.clip(map_x, 0, width - 1, out=map_x), np.clip(map_y, 0, height - 1, out=map_y)


def tps_transform(
    target_points: np.ndarray, control_points: np.ndarray, nonlinear_weights: np.ndarray, affine_weights: np.ndarray
) -> np.ndarray:
    """Points n×2 moved by a thin-plate spline, float32, some at a time."""
    given = target_points, control_points, nonlinear_weights, affine_weights
    points, control, bends, flat = (np.ascontiguousarray(one, dtype=_F32) for one in given)
    out, count = np.empty((len(points), 2), _F32), len(control)
    apart, more, sums = (np.empty((rows, _POINTS), _F32) for rows in (count, count, 2))
    for at in range(0, len(points), _POINTS):
        some, size = points[at : at + _POINTS], min(_POINTS, len(points) - at)
        small = len(points) < _LARGE
        if small or not _done("points_apart", "plplpp", some, size, control, count, apart, more):
            own: np.ndarray = geometric.tps_transform(*given)
            return own
        logs, to = cv2.log(more, more), out[at:]
        _done("bend_points", "plpplppppp", some, size, apart, logs, count, bends, flat, *sums, to)
    return out


def distort_image(image: np.ndarray, generated_mesh: np.ndarray, interpolation: int) -> np.ndarray:
    """An image whose cells are seen in perspective: each warped where it will be, and not all over the image."""
    (height, width), made, warps = image.shape[:2], np.zeros_like(image), warp_native.here()
    for cell in generated_mesh:
        (x1, y1, x2, y2), ends = cell[:4], cell[4:].reshape(4, 2)
        matrix: Any = cv2.getPerspectiveTransform(np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]], _F32), ends)
        x, y, across, down = cv2.boundingRect(ends.astype(np.int32))
        top, bottom = min(max(y, 0), height - _NUMBER - 1), min(max(y + down, _NUMBER + 1), height)
        window, warped = (top, max(x, 0), bottom, min(x + across, width)), None
        if warps is not None and 0 <= top < bottom and window[1] < window[3]:
            to: Any = cv2.invert(matrix)[1].ravel().tolist()
            warped = warps.sampled(
                "perspective", image, interpolation, cv2.BORDER_CONSTANT, 0, (height, width), to, window=window
            )
        if warped is None:
            own: np.ndarray = geometric.distort_image(image, generated_mesh, interpolation)
            return own
        within, here = np.zeros((height, width), np.uint8), (slice(top, bottom), slice(window[1], window[3]))
        cv2.fillConvexPoly(within, ends.astype(np.int32), 255)
        cv2.copyTo(warped, np.ascontiguousarray(within[here]), made[here])
    return made


def chromatic_aberration(
    img: np.ndarray,
    primary_distortion_red: float,
    secondary_distortion_red: float,
    primary_distortion_blue: float,
    secondary_distortion_blue: float,
    interpolation: int,
) -> np.ndarray:
    """A uint8 image of three channels, whose red and blue go through lenses of their own."""
    red, blue = (primary_distortion_red, secondary_distortion_red), (primary_distortion_blue, secondary_distortion_blue)
    kernels, made = library(), img.copy()
    for channel, amounts in ((0, red), (2, blue)):
        known = kernels is not None and img.dtype == np.uint8 and lens_native.same_bits(kernels)
        maps = lens_native.made(kernels, img.shape[:2], *amounts, 0) if kernels is not None and known else None
        if maps is None:
            own: np.ndarray = pixel.chromatic_aberration(img, *red, *blue, interpolation)
            return own
        plane = cv2.remap(np.ascontiguousarray(img[..., channel]), *maps, interpolation, None, cv2.BORDER_REPLICATE)
        cv2.insertChannel(plane, made, channel)
    return made


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
        "distort_image": distort_image,
        "tps_transform": tps_transform,
    },
    "fpixel": {
        "add_rain": add_rain,
        "add_sun_flare_overlay": add_sun_flare_overlay,
        "chromatic_aberration": chromatic_aberration,
        "pixel_dropout": pixel_dropout,
    },
}
