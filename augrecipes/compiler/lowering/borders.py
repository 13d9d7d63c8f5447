"""What pads, or may pad before it cuts, as numbers of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import geometric
from augrecipes.compiler.kernels.resize_native import KERNELS
from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS, OPTIONS
from augrecipes.ops.native_op import NativeOp, params_getter

_PADS = ("pad_top", "pad_bottom", "pad_left", "pad_right")
_PAIR, _ALL_SIDES = 2, 4


def random_window(step: Any) -> NativeOp | None:
    """A window of a size anywhere in the image."""
    return _window(step, DRAWS.RANDOM_CROP)


def centre_window(step: Any) -> NativeOp | None:
    """A window of a size in the middle."""
    return _window(step, DRAWS.CENTER_CROP)


def _window(step: Any, draw: int) -> NativeOp | None:
    return _cut(step, draw, (step.height, step.width, step.pad_if_needed, _position(step.pad_position)))


def fixed_window(step: Any) -> NativeOp | None:
    """The same window of every image."""
    box = (step.x_min, step.y_min, step.x_max, step.y_max)
    if not step.pad_if_needed:
        return NativeOp(DRAWS.NOTHING, EFFECTS.CROPS, box, params_getter("crop_coords"))
    return _cut(step, DRAWS.PADDED_BOX, (*box, _position(step.pad_position)))


def _cut(step: Any, draw: int, arguments: tuple[float, ...]) -> NativeOp | None:
    if not step.pad_if_needed:
        return NativeOp(draw, EFFECTS.CROPS, arguments, _seen)
    border = _border(step.border_mode, step.fill)
    return None if border is None else NativeOp(draw, EFFECTS.PADS_AND_CROPS, arguments, _seen, border)


def _seen(params: Mapping[str, Any]) -> tuple[float, ...]:
    """The window, and the border before it."""
    pads = params["pad_params"] or dict.fromkeys(_PADS, 0)
    return (*map(float, params["crop_coords"]), *(float(pads[name]) for name in _PADS))


def padding(step: Any) -> NativeOp | None:
    """A border as wide as it is written on each side."""
    sides = step.padding
    if isinstance(sides, int):
        sides = [sides] * 4
    elif len(sides) == _PAIR:
        sides = [*sides, *sides]
    left, top, right, bottom = sides
    return _pads(step, DRAWS.NOTHING, (top, bottom, left, right))


def padding_if_needed(step: Any) -> NativeOp | None:
    """A border that makes the image as large as it has to be, or a multiple of a size."""
    least = (-1 if n is None else n for n in (step.min_height, step.min_width))
    divisors = (n or 0 for n in (step.pad_height_divisor, step.pad_width_divisor))
    return _pads(step, DRAWS.PADDING, (*least, *divisors, _position(step.position)))


def _pads(step: Any, draw: int, arguments: tuple[float, ...]) -> NativeOp | None:
    border = _border(step.border_mode, step.fill)
    return None if border is None else NativeOp(draw, EFFECTS.PADS, arguments, params_getter(*_PADS), border)


def cut_or_padded(step: Any) -> NativeOp | None:
    """Some pixels, or some part of the image, off or around each side."""
    parts = step.px is None
    amount: Any = step.percent if parts else step.px
    if isinstance(amount, int | float):
        draws, pairs = 0, [(amount, amount)] * 4
    elif len(amount) == _PAIR:
        draws, pairs = 4 if step.sample_independently else 1, [amount] * 4
    elif all(isinstance(n, int | float) for n in amount):
        draws, pairs = 0, [(n, n) for n in amount]
    elif not any(isinstance(pair, int | float) or len(pair) != _PAIR for pair in amount):
        draws, pairs = 4, amount
    else:
        return None
    plain = not any(isinstance(fill, list | tuple) for fill in (step.fill, step.fill_mask))  # of others, one is drawn
    border = _border(step.border_mode, step.fill) if plain else None
    if border is None or (step.keep_size and step.interpolation not in KERNELS) or len(pairs) != _ALL_SIDES:
        return None
    keeps = step.interpolation if step.keep_size else -1
    ends = tuple(n for pair in pairs for n in pair)
    return NativeOp(DRAWS.SIDES, EFFECTS.CROPS_AND_PADS, (parts, draws, *ends), _cut_and_padded, (*border, 0, keeps))


def _cut_and_padded(params: Mapping[str, Any]) -> tuple[float, ...]:
    """The window, and the border around it; without a window, what is left of the result is the image."""
    top, bottom, left, right = params["pad_params"] or (0, 0, 0, 0)
    rows, columns = params["result_shape"]
    window = params["crop_params"] or (0, 0, columns - left - right, rows - top - bottom)
    return tuple(map(float, (*window, top, bottom, left, right)))


def _position(name: str) -> int:
    """Where an image lies within what is added to it."""
    return int(getattr(OPTIONS, name.upper()))


def _border(mode: int, fill: Any) -> tuple[float, ...] | None:
    """The border, and a constant one's pixel for 1, 2, 3 and 4 channels; None where there is none for each of them.

    A fill of fewer numbers than channels is left to OpenCV.
    """
    if mode != cv2.BORDER_CONSTANT:
        return (mode, 0, 0, 0, 0)
    if isinstance(fill, list | tuple):
        fill = tuple(fill)
    pixels = []
    for channels in range(1, LIMITS.MOST_CHANNELS + 1):
        one = np.zeros((1, 1, channels), np.uint8)
        try:
            made = geometric.pad_with_params(one, 0, 0, 0, 1, mode, fill)
        except cv2.error:
            return None
        pixels.append(int.from_bytes(made.reshape(2, -1)[1].astype(np.uint8).tobytes(), "little"))
    return (mode, *pixels)
