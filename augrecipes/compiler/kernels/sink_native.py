"""The sink's arithmetic in one native pass; `sink.py`, which defines it, does the work where there is no kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from augrecipes.native.kernels import library, written_as

_KEPT = 99  # layouts of results


class NativeSink:
    """Scales and shifts of one output for pictures of some channels, and the kernel that carries them out.

    Args:
        affines: (scale, shift) of each channel that leaves, None where it changes nothing.
        chw: the layout.
        bgr: the channels leave in turned order.
    """

    def __init__(self, affines: Sequence[tuple[Any, Any]], chw: bool, bgr: bool) -> None:
        found = library()
        self._kernel = None if found is None else found.kernel("sink", "plllipppillll")
        self._chw, self._bgr = chw, bgr
        taken = affines[::-1] if bgr else affines  # the kernel counts channels as they come in
        self._scales = np.array([1.0 if scale is None else scale for scale, _ in taken], np.float32)
        self._shifts = np.array([-0.0 if shift is None else shift for _, shift in taken], np.float32)
        # Of each of three channels, for kernels that make the picture as well.
        self.values = tuple((*v.tolist(), *[0.0] * (3 - len(v)))[:3] for v in (self._scales, self._shifts))
        # The same of each of four.
        self.four = tuple((*v.tolist(), *[0.0] * (4 - len(v))) for v in (self._scales, self._shifts))
        self._numbers = self._scales.ctypes.data, self._shifts.ctypes.data
        self._place = np.zeros((3, 1), np.int64)
        self._layouts: dict[tuple[tuple[int, ...], int], tuple[int, ...] | None] = {}

    @property
    def here(self) -> bool:
        """Whether there is a kernel."""
        return self._kernel is not None

    def __call__(self, image: np.ndarray, out: np.ndarray) -> bool:
        """Write an H×W×C image, which may be a turned view, into `out`; False where that is Python's to do."""
        row, pixel, beside = image.strides
        if beside != 1 and image.shape[2] > 1:
            return False
        place = self._place
        place[0, 0], place[1, 0], place[2, 0] = image.ctypes.data, row, pixel
        return self.many(place, image.shape, out[None])

    def many(self, places: np.ndarray, shape: tuple[int, ...], out: np.ndarray) -> bool:
        """The same for images of one shape.

        Args:
            places: int64 (3, n): the address of each, and its strides in bytes from row to row and pixel to pixel.
            shape: of each, H×W×C.
            out: (n, …).
        """
        if self._kernel is None or not out.flags.aligned or (written := self.strides(out, shape[2])) is None:
            return False
        start, *strides = written
        steps = written_as(out), *strides
        return (
            self._kernel(places.ctypes.data, places.shape[1], *shape, *self._numbers, out.ctypes.data + start, *steps)
            == 0
        )

    def strides(self, out: np.ndarray, channels: int) -> tuple[int, ...] | None:
        """Where in `out` the first channel begins, in bytes, and its strides as the kernel has them; kept."""
        key = out.strides, out.itemsize
        if key not in self._layouts:
            size = out.itemsize
            each, *steps = (stride // size for stride in out.strides)
            apart, down, across = steps if self._chw else (steps[2], steps[0], steps[1])
            found = (
                ((channels - 1) * apart * size, each, down, across, -apart)
                if self._bgr
                else (0, each, down, across, apart)
            )
            if len(self._layouts) > _KEPT:
                self._layouts.clear()
            self._layouts[key] = None if any(stride % size for stride in out.strides) else found
        return self._layouts[key]
