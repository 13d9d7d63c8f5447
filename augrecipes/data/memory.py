"""Memory for what is read: shared in a worker, pinned where a GPU waits for it, used again where nobody holds it.

What is used again is the system's own memory, not malloc's: each of malloc's arenas, of which every reading thread has
one, would grow to the most that it ever held, and keep that. A fresh tensor of 150 MiB costs 38,000 page faults, which
take as long as light work on its samples does. What is more than a few batches goes back when a pass is over.
"""

from __future__ import annotations

import mmap
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from math import prod
from typing import Any

import numpy as np
import torch
from torch.utils.data import get_worker_info

from augrecipes.compat.torch import empty_shared
from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.data.epochs import current

Empty = Callable[[tuple[int, ...], torch.dtype], torch.Tensor]
# Smaller tensors are not worth asking the system for, and malloc keeps their memory itself (see `tune_allocator`).
LEAST_BYTES = 1 << 20
# What a loader keeps of the memory of its batches from pass to pass.
BATCH_BYTES = 128 << 20


def empty(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """A tensor that is not filled yet; in a DataLoader's worker in shared memory, so that nobody moves it there."""
    return torch.empty(shape, dtype=dtype) if get_worker_info() is None else empty_shared(shape, dtype)


def empty_pinned(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """A tensor that is not filled yet, in memory that a GPU can read by itself."""
    return torch.empty(shape, dtype=dtype, pin_memory=True)


def room(key: str) -> Allocate | None:
    """Memory of the batch that is being read for one value of a sample; None: the sample has to bring its own."""
    now = current()
    return None if now is None or now.room is None else now.room(key)


class Pool:
    """Lends memory, and lends it again when it has come back: when the last tensor, array or view of it is gone.

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
        self._free: list[mmap.mmap] = []
        self._lock = threading.Lock()

    def empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """A tensor that is not filled yet."""
        size = prod(shape) * dtype.itemsize
        if size < LEAST_BYTES:
            return torch.empty(shape, dtype=dtype)
        memory = self._take(size)
        array = np.frombuffer(memory, np.uint8, size)  # whoever holds the tensor, or a part of it, holds this
        # An atomic call, as the garbage collector may make it in the middle of anything.
        weakref.finalize(array, self._free.append, memory).atexit = False
        return torch.from_numpy(array).view(dtype).reshape(shape)

    def clear(self, but: int = 0) -> None:
        """Let go of what nobody uses, `but` for so many bytes at most: those that came back last."""
        with self._lock:
            kept = []
            while self._free:
                memory = self._free.pop()
                but -= len(memory)
                kept += [memory] if but >= 0 else []
            self._free.extend(reversed(kept))

    def _take(self, size: int) -> mmap.mmap:
        with self._lock:
            for k in reversed(range(len(self._free))):  # what came back last is likeliest in the cache
                if size <= len(self._free[k]) <= 2 * size:
                    return self._free.pop(k)
        return _of_the_system(size)


def _of_the_system(size: int) -> mmap.mmap:
    """Memory that goes back to the system when nobody holds it."""
    if not hasattr(mmap, "MAP_PRIVATE"):  # Windows has no other kind
        return mmap.mmap(-1, size)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError, AttributeError):  # as numpy asks for its own large arrays, where there is such a thing
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


@cache
def torch_dtype(dtype: np.dtype[Any]) -> torch.dtype:
    """torch's name of a dtype of numpy."""
    return torch.from_numpy(np.empty(0, dtype)).dtype
