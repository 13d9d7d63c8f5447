"""Scratch: buffers that a kernel writes to again and again, so that no sample waits for fresh pages of memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class Scratch:
    """Arrays by name, each kept at the largest size that was asked for. One thread at a time.

    >>> scratch = Scratch()
    >>> a = scratch.array("warp", (4, 4, 3), np.dtype(np.uint8))
    >>> b = scratch.array("warp", (2, 2, 3), np.dtype(np.uint8))
    >>> np.shares_memory(a, b)
    True
    """

    def __init__(self) -> None:
        self._bytes: dict[str, np.ndarray] = {}

    def array(
        self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], beside: np.ndarray | None = None
    ) -> np.ndarray:
        """An uninitialised array; a fresh one where the buffer is what holds `beside`, which is still to be read."""
        size = dtype.itemsize
        for n in shape:
            size *= n
        buffer = self._bytes.get(name)
        if buffer is None or buffer.size < size:
            buffer = self._bytes[name] = np.empty(size, np.uint8)
        if beside is not None and np.may_share_memory(buffer, beside):
            return np.empty(shape, dtype)
        return np.ndarray(shape, dtype, buffer)


def is_free(array: np.ndarray, held: Sequence[Any]) -> bool:
    """Whether an array has memory of its own, as it should lie, that nobody else holds.

    >>> a = np.zeros((2, 2, 3), np.uint8)
    >>> is_free(a, ()), is_free(a, (a,)), is_free(a[:1], ())
    (True, False, False)
    """
    for one in held:
        if array is one:
            return False
    flags = array.flags
    return flags.owndata and flags.c_contiguous and flags.writeable
