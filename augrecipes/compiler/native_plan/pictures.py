"""Pictures as the kernels read them: arrays as they lie, files as far as a window of them goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.undecoded import Decodable, Undecoded, is_encoded

_MASKS = (np.dtype(np.uint8), np.dtype(bool))
Picture = np.ndarray | Decodable
# Pixels as they lie, and the row and the column of the picture that they begin at.
Pixels = tuple[np.ndarray, int, int]


def is_picture(picture: Any, *, files: bool) -> bool:
    """Whether it is a file, or where no `files` are taken a uint8 picture H×W×C whose pixels lie side by side."""
    if files:
        return is_encoded(picture)
    return (
        type(picture) is np.ndarray
        and picture.ndim == 3
        and picture.size > 0
        and picture.dtype == np.uint8
        and _lies_well(picture)
    )


def is_mask(mask: Any, picture: Picture) -> bool:
    """Whether it is one of uint8 or bool, H×W or H×W×1, that lies on the picture and whose pixels lie side by side."""
    return (
        type(mask) is np.ndarray
        and mask.dtype in _MASKS
        and (mask.ndim == 2 or (mask.ndim == 3 and mask.shape[2] == 1))
        and mask.shape[:2] == picture.shape[:2]
        and mask.strides[1] == 1
    )


def as_picture(mask: np.ndarray) -> np.ndarray:
    """Such a mask as H×W×1 of uint8."""
    return mask.view(np.uint8).reshape(*mask.shape[:2], 1)


def pixels_of(picture: Picture, window: Sequence[int]) -> Pixels | None:
    """The pixels of a window (top, left, bottom, right) at least; of a file no more. None where it is not known.

    Raises:
        DataError: the file is damaged there.
    """
    if isinstance(picture, np.ndarray):
        return picture, 0, 0
    top, left, bottom, right = window
    if not (0 <= top < bottom and 0 <= left < right):
        return None
    pixels = Undecoded(picture, top, left, bottom, right).array()
    return pixels if _lies_well(pixels) else np.ascontiguousarray(pixels), top, left


def _lies_well(pixels: np.ndarray) -> bool:
    return pixels.strides[1] == pixels.shape[2] and pixels.strides[2] == 1
