"""What helps against errors that steps raise about an image that they cannot take."""

from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import variables
from augrecipes.errors import counted

_LONGEST_SIDE, _MOST_PLANES, _SMALL = 32_766, 128, 16  # px, of OpenCV's warps; channels that it takes; px


def error_text(error: Exception, channels: int | None) -> str:
    """An error in a line, and what helps: by the image in whose treatment it was raised.

    Args:
        error: of albumentations or OpenCV.
        channels: of the sample's image; None: not known.
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
    # Of what other exceptions say the class itself has thought.
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
    """The shape of the image that was treated last, or that parameters were drawn for."""
    for known in reversed([*variables(error)]):
        for name in ("img", "image", "mask"):
            if isinstance(known.get(name), np.ndarray) and known[name].ndim > 1:
                return tuple(map(int, known[name].shape))
        params: Any = known.get("params")
        if isinstance(params, dict) and "shape" in params:
            return tuple(map(int, params["shape"]))
    return None
