"""Memory that one thread needs to carry out samples: what steps put between them, files decoded, and results."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from augrecipes.native.libjpeg import Codec

_LEAST, _KEPT = 1 << 16, 1 << 25  # bytes for steps at first; and of decoded pixels that are kept for the next batch


class Workspace:
    """Memory of one thread.

    Attributes:
        numbers: how the head of a program names it, from `decode` to `workspace` in native/layout.def: addresses of the
            decoder, its memory and its pixels, bytes of these; the steps' memory, and bytes of it.
    """

    def __init__(self) -> None:
        self._pixels = np.empty(0, np.uint8)
        self._codec: Codec | None = None
        self._memory: Any = None
        self.grow(_LEAST)

    def _number(self) -> None:
        decoder = 0, 0, 0, 0
        if self._codec is not None:
            memory, pixels = ctypes.addressof(self._memory), self._pixels.ctypes.data
            decoder = self._codec.address, memory, pixels, len(self._pixels)
        self.numbers = *decoder, self._scratch.ctypes.data, len(self._scratch)

    def grow(self, size: int) -> None:
        """Have so many bytes for steps."""
        self._scratch = np.empty(size, np.uint8)
        self._number()

    def decode(self, codec: Codec, most: int) -> None:
        """Be ready to decode parts of files that take so many bytes at most."""
        if self._memory is None:
            self._memory = codec.memory()
        if most > len(self._pixels):
            self._pixels = np.empty(most, np.uint8)
        self._codec = codec
        self._number()

    def decoded(self) -> None:
        """No more is decoded for now: keep what most images take."""
        self._codec = None
        if len(self._pixels) > _KEPT:
            self._pixels = np.empty(0, np.uint8)
        self._number()
