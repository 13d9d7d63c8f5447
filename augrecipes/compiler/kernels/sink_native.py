"""The sink's arithmetic in one native pass; `sink.py`, which defines it, does the work where there is no kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from augrecipes.native.library import VALUES, library

_ONCE = np.zeros(1, np.int64)


class NativeSink:
    """Scales and shifts of one output for pictures of some channels, and the kernel that carries them out.

    Args:
        affines: (scale, shift) of each channel that leaves, None where it changes nothing.
        chw: the layout.
        bgr: the channels leave in turned order.
    """

    def __init__(self, affines: Sequence[tuple[Any, Any]], chw: bool, bgr: bool) -> None:
        found = library()
        self._kernel = None if found is None else found.kernel("sink", "pplllillpppillll")
        self._chw, self._bgr = chw, bgr
        taken = affines[::-1] if bgr else affines  # the kernel counts channels as they come in
        self._scales = np.array([1.0 if scale is None else scale for scale, _ in taken], np.float32)
        self._shifts = np.array([-0.0 if shift is None else shift for _, shift in taken], np.float32)
        self._numbers = self._scales.ctypes.data, self._shifts.ctypes.data, _ONCE.ctypes.data

    @property
    def here(self) -> bool:
        """Whether there is a kernel."""
        return self._kernel is not None

    def __call__(self, image: np.ndarray, out: np.ndarray) -> bool:
        """Write an H×W×C image, which may be a turned view, into `out`; False where that is Python's to do."""
        return self.many(image[None], out[None])

    def many(self, images: np.ndarray, out: np.ndarray) -> bool:
        """The same for images N×H×W×C side by side."""
        count, channels = len(images), images.shape[3]
        between, row, pixel, beside = images.strides
        size = out.itemsize
        if self._kernel is None or (beside != 1 and channels > 1) or any(stride % size for stride in out.strides):
            return False
        each, *steps = (stride // size for stride in out.strides)
        apart, down, across = steps if self._chw else (steps[2], steps[0], steps[1])
        target = out.ctypes.data
        if self._bgr:
            target, apart = target + (channels - 1) * apart * size, -apart
        scales, shifts, once = self._numbers
        offsets = None if count == 1 else np.arange(count) * between  # kept until the kernel returns
        pictures = images.ctypes.data, once if offsets is None else offsets.ctypes.data, *images.shape, row, pixel
        done = self._kernel(*pictures, scales, shifts, target, VALUES[out.dtype], each, down, across, apart)
        return done == 0
