"""Memory of batches that is used again when nobody holds the batch any more.

It is the system's own, not malloc's: each of malloc's arenas, of which every reading thread has one, would grow to the
most that it ever held, and keep that. Here what is more than a few batches goes back when a pass is over.

A fresh tensor of 150 MiB costs 38,000 page faults, which take as long as light work on its samples does. Nobody has to
say that a batch is done with: its memory comes back when the last tensor, array or view of it is gone.
"""

from __future__ import annotations

import mmap
import threading
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np
import torch

# Smaller pieces are malloc's business, which keeps them (see `augrecipes.data.loading.allocator`).
LEAST_BYTES = 1 << 20
_ALIGNED = 64


class Pool:
    """Lends memory, and lends it again when it has come back.

    >>> pool = Pool()
    >>> first = pool.empty((1 << 20,), torch.uint8)
    >>> at, view = first.data_ptr(), first[5:].numpy()
    >>> del first
    >>> pool.empty((1 << 20,), torch.uint8).data_ptr() == at  # the view is still there
    False
    >>> del view
    >>> pool.empty((1 << 20,), torch.uint8).data_ptr() == at
    True
    """

    def __init__(self) -> None:
        self._free: list[np.ndarray[Any, Any]] = []
        self._lock = threading.RLock()  # the garbage collector may bring memory back in the middle of anything

    def empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """A tensor that is not filled yet."""
        size = prod(shape) * dtype.itemsize
        if size < LEAST_BYTES:
            return torch.empty(shape, dtype=dtype)
        lease = _Lease(self, self._take(size), size)
        # The tensor holds the array, which holds the lease.
        return torch.from_numpy(np.asarray(lease)).view(dtype).reshape(shape)

    def clear(self, but: int = 0) -> None:
        """Let go of what nobody uses, `but` for so many bytes at most: those that came back last."""
        with self._lock:
            kept, self._free = self._free[::-1], []
            for memory in kept:
                but -= len(memory)
                if but >= 0:
                    self._free.insert(0, memory)

    def _take(self, size: int) -> np.ndarray[Any, Any]:
        with self._lock:
            for k in reversed(range(len(self._free))):  # what came back last is likeliest in the cache
                if size <= len(self._free[k]) - _ALIGNED <= 2 * size:
                    return self._free.pop(k)
        return _of_the_system(size + _ALIGNED)

    def _bring_back(self, memory: np.ndarray[Any, Any]) -> None:
        with self._lock:
            self._free.append(memory)


def _of_the_system(size: int) -> np.ndarray[Any, Any]:
    """Memory that goes back to the system with the array."""
    if not hasattr(mmap, "MAP_PRIVATE"):  # Windows has no other kind
        return np.frombuffer(mmap.mmap(-1, size), np.uint8)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):  # as numpy asks for its own large arrays
        with suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8)


class _Lease:
    """Memory as numpy sees it, for as long as anyone does."""

    def __init__(self, pool: Pool, memory: np.ndarray[Any, Any], size: int) -> None:
        self._pool, self._memory = pool, memory
        at = -(-memory.ctypes.data // _ALIGNED) * _ALIGNED
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": (size,), "data": (at, False)}

    def __del__(self) -> None:
        self._pool._bring_back(self._memory)
