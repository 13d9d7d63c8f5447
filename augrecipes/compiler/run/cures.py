"""Cures for the errors that steps raise about images that they cannot take."""

from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import variables
from augrecipes.errors import counted

_LONGEST_SIDE, _MOST_PLANES, _SMALL = 32_766, 128, 16  # px, of OpenCV's warps; channels that it takes; px


def error_text(error: Exception, channels: int | None) -> str:
    """An error in one line, with a cure where the image that was being processed suggests one.

    Args:
        error: raised by albumentations or OpenCV.
        channels: channels of the sample's image; None: not known.
    """
    text = str(error).strip() or "no message"
    if isinstance(error, cv2.error):
        text = f"OpenCV refuses this: {error.err or text}"
    else:
        text = f"{type(error).__name__}: {text}"
    shape = _shape(error)
    if shape is None:
        return text
    sides, count = shape[:2], shape[2] if len(shape) > 2 else 1
    # Other exceptions are deliberate, and their messages say what is wrong.
    by_chance = isinstance(error, ZeroDivisionError | IndexError | cv2.error) or "broadcast" in text or "range" in text
    if max(sides) > _LONGEST_SIDE and not isinstance(error, ZeroDivisionError):
        cure = (
            f"has a side of more than {_LONGEST_SIDE:,} px, which OpenCV does not take here: cut it first (RandomCrop)"
        )
    elif min(sides) < _SMALL and by_chance:
        cure = "is too small for this step: enlarge or pad images first (SmallestMaxSize, PadIfNeeded)"
    elif count > _MOST_PLANES and by_chance:
        cure = f"has more than {_MOST_PLANES} channels, which OpenCV does not take here: give some by `add_targets`"
    elif channels is not None and count != channels:
        cure = f"goes along with one of {counted(channels, 'channel')}: give all images of a sample as many"
    else:
        return text
    return f"an image of {'×'.join(map(str, sides))} px with {counted(count, 'channel')} {cure} ({text})"


def _shape(error: Exception) -> tuple[int, ...] | None:
    """The shape of the image that was being processed, or for which parameters were being drawn."""
    for local in reversed([*variables(error)]):
        for name in ("img", "image", "mask"):
            if isinstance(local.get(name), np.ndarray) and local[name].ndim > 1:
                return tuple(map(int, local[name].shape))
        params: Any = local.get("params")
        if isinstance(params, dict) and "shape" in params:
            return tuple(map(int, params["shape"]))
    return None
