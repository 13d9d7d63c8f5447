"""Images whose channels lie in turn, scaled and shifted as they lie: the sink's work on the host in H×W×C."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from augrecipes.compiler.kernels.moves import CV_CHANNELS
from augrecipes.compiler.kernels.scratch import Scratch

# What a channel is multiplied by, and what is added; None where that would change nothing.
Affine = tuple[np.float32 | None, np.float32 | None]
_UINT8, _FLOAT32 = np.dtype(np.uint8), np.dtype(np.float32)
_BLOCK = 3 << 14  # values that are cast, scaled and shifted before the next ones: 196 kB of floats


class Turns:
    """Writes an H×W×C image, times the scales and plus the shifts of its channels, into an array of floats.

    Args:
        affines: of each channel.
        scratch: lends memory.
    """

    def __init__(self, affines: Sequence[Affine], scratch: Scratch) -> None:
        scales, shifts = zip(*affines, strict=True)
        self._scale, self._shift = _repeated(scales, 1), _repeated(shifts, 0)
        self._table = _table(affines[0]) if len(set(affines)) == 1 else None
        self._scratch = scratch

    def __call__(self, image: np.ndarray, out: np.ndarray) -> None:
        """One multiplication and one addition a value, a few rows at a time."""
        height, width, channels = image.shape
        direct = out.dtype == _FLOAT32 and out.flags.c_contiguous
        if direct and image.dtype == _UINT8 and channels <= CV_CHANNELS and self._table is not None:
            cv2.LUT(image, self._table, dst=out)  # the same numbers in one pass
            return
        scale, shift = self._scale, self._shift
        size = _block(channels)
        rows = max(1, size // (width * channels))
        for top in range(0, height, rows):
            part = out[top : top + rows]
            work = part if direct else self._scratch.array("work", part.shape, _FLOAT32)
            work[...] = image[top : top + rows]
            flat = work.reshape(-1)
            for start in range(0, flat.size, size):  # once, but for rows that are longer than a block
                values = flat[start : start + size]
                if scale is not None:
                    values *= scale[: values.size] if isinstance(scale, np.ndarray) else scale
                if shift is not None:
                    values += shift[: values.size] if isinstance(shift, np.ndarray) else shift
            if not direct:
                part[...] = work


def _table(affine: Affine) -> np.ndarray:
    """What becomes of the 256 levels."""
    scale, shift = affine
    table = np.arange(256, dtype=np.float32)
    if scale is not None:
        table *= scale
    if shift is not None:
        table += shift
    return table


def _block(channels: int) -> int:
    """How many values are worked on at a time: whole pixels."""
    return max(1, _BLOCK // channels) * channels


def _repeated(values: tuple[np.float32 | None, ...], neutral: float) -> np.ndarray | np.float32 | None:
    """One value for all channels, or the channels' values again and again; None where they change nothing."""
    if len(set(values)) == 1:
        return values[0]
    turn = np.array([neutral if value is None else value for value in values], np.float32)
    return np.tile(turn, _block(len(turn)) // len(turn))
