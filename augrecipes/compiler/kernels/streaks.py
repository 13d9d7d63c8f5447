"""The line of pixels along which MotionBlur blurs, point by point: numpy's calls for so few points took longer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import A, blur
from augrecipes.compat.instead import with_functions


def with_quick_streak(step: Any) -> Any:
    """The transform, whose sampler draws its line by `streak`."""
    if getattr(type(step), "get_params", None) is A.MotionBlur.get_params:
        with_functions(step, ("get_params",), {"create_motion_kernel": streak}, "fblur")
    return step


def streak(kernel_size: int, angle: float, direction: float, allow_shifted: bool, random_state: Any) -> np.ndarray:
    """What albumentations' function of these arguments gives, to the last bit, and with its draws.

    Args:
        kernel_size: pixels on each side, odd.
        angle: of the line, degrees.
        direction: -1..1, from one end to the other where 0 is both.
        allow_shifted: the line may lie beside the centre.
        random_state: draws where.

    >>> streak(3, 0.0, 0.0, False, None).tolist()
    [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
    """
    reach, last = kernel_size // 2, kernel_size - 1
    if not last or not math.isfinite(angle + direction):
        made: np.ndarray = blur.create_motion_kernel(kernel_size, angle, direction, allow_shifted, random_state)
        return made
    radians = np.deg2rad(angle)
    dx, dy = float(np.cos(radians)), float(np.sin(radians))
    direction = min(max(direction, -1.0), 1.0)
    start = float(-reach) if direction <= 0 else -reach * (1 - direction)
    end = float(reach) if direction >= 0 else reach * (1 + direction)
    shift_x = shift_y = 0.0
    if allow_shifted:
        shift_x, shift_y = random_state.uniform(-1, 1) * reach / 2, random_state.uniform(-1, 1) * reach / 2
    kernel = np.zeros((kernel_size, kernel_size), np.float32)
    apart = (end - start) / last
    for number in range(kernel_size):
        along = end if number == last else number * apart + start
        x, y = round(reach + dx * along + shift_x), round(reach + dy * along + shift_y)
        kernel[min(max(y, 0), last), min(max(x, 0), last)] = 1
    return kernel
