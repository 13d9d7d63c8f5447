"""Steps whose own methods call other functions than those of albumentations' modules, or of numpy: quicker or safer.

Safer are light from a corner, and images of one row or column that are warped or whose grey channel is repeated.
albumentations asks OpenCV how far each pixel lies from the corner: builds of OpenCV with Intel's IPP round that by
where the result lies in memory, and by how many threads OpenCV has. And where a side has one pixel, `reflect_101` has
nothing to reflect, and OpenCV's cubic interpolation looks for it without end. Its other interpolations take that pixel
wherever they look; so does this one of the same pixel twice. The functions have the names, arguments and results of
albumentations' own.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import A, dropout, geometric, pixel

# What transforms call the modules.
_HOMES = {"fdropout": dropout, "fgeometric": geometric, "fpixel": pixel, "np": np}
Functions = Mapping[str, Callable[..., Any]]


def with_functions(step: Any, methods: tuple[str, ...], instead: Functions, home: str = "fgeometric") -> Any:
    """The transform, whose `methods` find the functions `instead` in place of the module's own of the same names.

    A method that does not ask for one of them stays as it is, and so does one that the step has been given already.
    `home` is what it calls the module: one of `_HOMES`.
    """
    quick = _Instead(instead, _HOMES[home])
    for name in methods:
        found: list[Any] = [vars(cls)[name] for cls in type(step).__mro__ if name in vars(cls)]
        method: Any = next((one for one in found if not one.__module__.startswith("augrecipes.ops")), None)
        # What our own classes call by `inherited` stands beneath their methods.
        held = vars(step) if method in found[:1] else vars(step).setdefault("beneath", {})
        if name in held or getattr(method, "__globals__", {}).get(home) is not _HOMES[home]:
            continue
        if not instead.keys().isdisjoint(method.__code__.co_names):
            seen = {**method.__globals__, home: quick}
            made = FunctionType(method.__code__, seen, name, method.__defaults__, method.__closure__)
            made.__kwdefaults__ = method.__kwdefaults__
            held[name] = MethodType(made, step)
    if isinstance(step, A.BasicTransform):
        step._set_keys()  # albumentations keeps the functions that it calls
    return step


def with_names(function: Callable[..., Any], **instead: Any) -> Callable[..., Any]:
    """A function of albumentations, without its decorators, that finds other values under some global names."""
    plain: Any = inspect.unwrap(function)
    return FunctionType(plain.__code__, {**plain.__globals__, **instead})


class _Instead:
    """A module with some functions replaced."""

    def __init__(self, instead: Functions, home: Any) -> None:
        self.__dict__.update(instead)
        self._home, self.names = home, frozenset(instead)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._home, name)


def with_steady_corner(step: Any) -> Any:
    """The transform, which lights a corner, if that is its mode, by `lit_from_corner`."""
    corner = {"apply_corner_illumination": lit_from_corner}
    return with_functions(step, ("apply",), corner, "fpixel") if step.mode == "corner" else step


def lit_from_corner(img: np.ndarray, intensity: float, corner: int) -> np.ndarray:
    """What albumentations' function of these arguments gives where OpenCV is without IPP, to the last bit.

    Grey images, too, which that one refuses where they have a channel.

    Args:
        img: uint8 or float32, H×W×C or H×W.
        intensity: how much darker it is at the far end of a diagonal.
        corner: 0 to 3, from the upper left one clockwise.

    >>> lit_from_corner(np.full((4, 3), 100, np.uint8), 0.5, 0).tolist()
    [[100, 90, 80], [90, 85, 77], [80, 77, 71], [70, 68, 63]]
    """
    height, width = img.shape[:2]
    rows, columns = np.arange(height, dtype=np.float32), np.arange(width, dtype=np.float32)
    rows, columns = rows[:: -1 if corner in (2, 3) else 1], columns[:: -1 if corner in (1, 2) else 1]
    light = np.sqrt((rows * rows)[:, None] + columns * columns)
    less: Any = -intensity / math.sqrt(height * height + width * width)
    one: Any = 1
    light = cv2.add(cv2.multiply(light, less), one)  # numpy rounds the product otherwise
    if img.ndim > light.ndim:
        light = np.repeat(light[..., None], img.shape[2], axis=2)
    return pixel.clipped(pixel.multiply_by_array)(img, light)


def with_whole_channels(step: Any) -> Any:
    """The transform, whose grey images keep their rows, columns and channel where albumentations takes some for others.

    >>> with_whole_channels(A.ToGray(p=1.0))(image=np.zeros((9, 1, 3), np.uint8))["image"].shape
    (9, 1, 3)
    """
    return with_functions(step, ("apply",), _WHOLE, "fpixel")


def in_channels(grayscale_image: np.ndarray, num_output_channels: int = 3) -> np.ndarray:
    """A grey image H×W or H×W×1 as so many channels; of one channel as it came.

    albumentations asks OpenCV to merge what is left without axes of one: of one pixel that writes behind its memory.
    """
    if num_output_channels == 1:
        return grayscale_image
    return np.asarray(cv2.merge([grayscale_image.reshape(grayscale_image.shape[:2])] * num_output_channels))


def sharpen_gaussian(img: np.ndarray, *how: Any) -> np.ndarray:
    """An image less its blur; of a grey one OpenCV's blur has no channel, and the difference would have three axes."""
    if img.shape[2:] != (1,):
        return np.asarray(pixel.sharpen_gaussian(img, *how))
    return np.asarray(pixel.sharpen_gaussian(img[..., 0], *how))[..., None]


_WHOLE: Functions = {
    "grayscale_to_multichannel": in_channels,
    "to_gray": with_names(pixel.to_gray, grayscale_to_multichannel=in_channels),
    "sharpen_gaussian": sharpen_gaussian,
}


def comes_back(step: Any) -> Any:
    """The transform, which no group has taken up yet, so that it comes back from images of one row or column.

    >>> from augrecipes.compat.albumentations import A
    >>> step = comes_back(A.Rotate((30, 30), interpolation=cv2.INTER_CUBIC, border_mode=cv2.BORDER_REFLECT_101, p=1))
    >>> step(image=np.full((1, 3, 3), 7, np.uint8))["image"].ravel().tolist()
    [7, 7, 7, 7, 7, 7, 7, 7, 7]
    """
    if getattr(step, "border_mode", None) == cv2.BORDER_REFLECT_101:
        for method, sampling in (("apply", "interpolation"), ("apply_to_mask", "mask_interpolation")):
            if getattr(step, sampling, None) == cv2.INTER_CUBIC:
                with_functions(step, (method,), _FUNCTIONS)
    return step


def doubled(image: np.ndarray, interpolation: int, border: int) -> np.ndarray:
    """An image H×W or H×W×C; its sides of one pixel doubled where OpenCV would not come back from them.

    >>> doubled(np.zeros((1, 5, 3)), cv2.INTER_CUBIC, cv2.BORDER_REFLECT_101).shape
    (2, 5, 3)
    """
    if interpolation != cv2.INTER_CUBIC or border != cv2.BORDER_REFLECT_101:
        return image
    for axis in (0, 1):
        if image.shape[axis] == 1:
            image = np.repeat(image, 2, axis)
    return image


def warp_affine(
    image: np.ndarray, matrix: np.ndarray, interpolation: int, fill: Any, border_mode: int, output_shape: Any
) -> np.ndarray:
    """An image through a matrix from it to the result; as it is where that is nearly the identity."""
    twice = doubled(image, interpolation, border_mode)
    made: np.ndarray = geometric.warp_affine(twice, matrix, interpolation, fill, border_mode, output_shape)
    return image if made is twice else made


def perspective(
    img: np.ndarray,
    matrix: np.ndarray,
    max_width: int,
    max_height: int,
    border_val: Any,
    border_mode: int,
    keep_size: bool,
    interpolation: int,
) -> np.ndarray:
    """The same in perspective; with `keep_size` scaled back to the size of the image."""
    twice = doubled(img, interpolation, border_mode)
    if twice is not img and keep_size:  # of the image as it came
        height, width = img.shape[:2]
        matrix = np.dot(np.diag([width / max_width, height / max_height, 1.0]), matrix)
        max_width, max_height, keep_size = width, height, False
    sizes = max_width, max_height
    return geometric.perspective(twice, matrix, *sizes, border_val, border_mode, keep_size, interpolation)


def remap(
    img: np.ndarray, map_x: np.ndarray, map_y: np.ndarray, interpolation: int, border_mode: int, value: Any = None
) -> np.ndarray:
    """An image whose pixels are taken from where two maps H×W say."""
    twice = doubled(img, interpolation, border_mode)
    return geometric.remap(twice, map_x, map_y, interpolation, border_mode, value)


# Of Affine: draws a matrix about the outer corner of the first pixel, where albumentations has the middle of the image.
_CORNERS: Functions = {"center": lambda shape: (-0.5, -0.5), "center_bbox": lambda shape: (0.0, 0.0)}
about_corner = with_names(A.Affine.get_params_dependent_on_data, fgeometric=_Instead(_CORNERS, geometric))


_FUNCTIONS: Functions = {"warp_affine": warp_affine, "perspective": perspective, "remap": remap}


# Samplers with their matrices written out: the same draws, in half the time. Rotate, Affine and ShiftScaleRotate make
# two matrices a sample, each the product of six small arrays: longer than the output conversion (benchmarks/fast.py).

Axes = Mapping[str, float]


def with_matrix(step: Any, matrix: Callable[..., Any]) -> Any:
    """The transform, whose sampler makes its matrices by one of the functions below."""
    return with_functions(step, ("get_params_dependent_on_data",), {"create_affine_transformation_matrix": matrix})


def affine_matrix(translate: Axes, shear: Axes, scale: Axes, rotate: float, shift: tuple[float, float]) -> np.ndarray:
    """Centre · Translate · Shear · Rotate · Scale · Centre⁻¹, 3×3 float64; angles in degrees.

    >>> affine_matrix({"x": 1, "y": 0}, {"x": 0, "y": 0}, {"x": 2, "y": 2}, 0, (1.5, 1.5)).tolist()
    [[2.0, 0.0, -0.5], [0.0, 2.0, -1.5], [0.0, 0.0, 1.0]]
    """
    angle = math.radians(rotate % 360)
    c, s = math.cos(angle), math.sin(angle)
    tx, ty = math.tan(math.radians(shear["x"])), math.tan(math.radians(shear["y"]))
    kx, ky, (x, y) = scale["x"], scale["y"], shift
    a, b = (c - tx * s) * kx, (s + tx * c) * ky
    d, e = (ty * c - s) * kx, (ty * s + c) * ky
    return np.array(
        ((a, b, x + translate["x"] - a * x - b * y), (d, e, y + translate["y"] - d * x - e * y), (0.0, 0.0, 1.0))
    )


def same_matrix(translate: Axes, shear: Axes, scale: Axes, rotate: float, shift: tuple[float, float]) -> np.ndarray:
    """What albumentations' function of these arguments gives, to the last bit.

    Without shear all its products but the last multiply by 0 and 1 only, or round once: those are written out. The last
    is made as it makes it, since only that library knows in which order it adds.

    >>> same_matrix({"x": 1, "y": 0}, {"x": 0, "y": 0}, {"x": 2, "y": 2}, 0, (1.5, 1.5)).tolist()
    [[2.0, 0.0, -0.5], [0.0, 2.0, -1.5], [0.0, 0.0, 1.0]]
    """
    if shear["x"] or shear["y"]:
        return geometric.create_affine_transformation_matrix(translate, shear, scale, rotate, shift)
    angle = np.deg2rad(rotate % 360)
    c, s = float(np.cos(angle)), float(np.sin(angle))
    (x, y), kx, ky = shift, scale["x"], scale["y"]
    # 0 is added as sums of products have it: of -0 it makes 0.
    m: np.ndarray = np.array(
        (
            (c * kx + 0.0, s * ky + 0.0, translate["x"] + x + 0.0),
            (-s * kx + 0.0, c * ky + 0.0, translate["y"] + y + 0.0),
            (0.0, 0.0, 1.0),
        )
    ) @ np.array(((1.0, 0.0, -x), (0.0, 1.0, -y), (0.0, 0.0, 1.0)))
    m[2] = 0, 0, 1
    return m
