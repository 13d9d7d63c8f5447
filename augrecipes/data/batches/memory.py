"""Memory for what is read: shared in a worker, pinned where a GPU waits for it, rows of a batch where there is one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from functools import cache
from math import prod
from typing import Any, cast

import numpy as np
import torch
from torch.utils.data import get_worker_info

from augrecipes.compat.torch import empty_shared
from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.data.batches.epoch import current
from augrecipes.errors import LoaderError

Empty = Callable[[tuple[int, ...], torch.dtype], torch.Tensor]

SHARED = "/dev/shm"
# How long a worker waits for others' batches to leave shared memory.
PATIENCE_SECONDS = 5.0
# Smaller tensors are not worth asking the file system.
_SMALL_BYTES = 1 << 20
_MIB = 1 << 20


def empty(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """A tensor that is not filled yet; in shared memory when this is a DataLoader worker.

    Raises:
        LoaderError: shared memory has no room for it, where writing to it would kill the worker.
    """
    if get_worker_info() is None:
        return torch.empty(shape, dtype=dtype)
    _wait_for_room(prod(shape) * dtype.itemsize)
    return empty_shared(shape, dtype)  # one copy less than moving the batch there afterwards


def empty_pinned(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """A tensor that is not filled yet, in memory that a GPU can read by itself."""
    return torch.empty(shape, dtype=dtype, pin_memory=True)


def free_shared() -> int | None:
    """Bytes that are free in shared memory, or None where the system has no such place."""
    try:
        state = os.statvfs(SHARED)
    except (OSError, AttributeError):
        return None
    return state.f_bavail * state.f_frsize


def _wait_for_room(wanted: int) -> None:
    if wanted < _SMALL_BYTES:
        return
    until = time.monotonic() + PATIENCE_SECONDS
    while (free := free_shared()) is not None and free < wanted:
        if time.monotonic() > until:
            raise LoaderError(
                f"a batch takes {wanted // _MIB} MiB, and {SHARED} has {free // _MIB} MiB free. "
                f'backend="threads" needs no {SHARED}; fewer workers, smaller batches or a lower prefetch_factor need '
                "less of it; a container is given more by --shm-size"
            )
        time.sleep(0.01)


def room(key: str) -> Allocate | None:
    """Memory of the batch that is being read for one value of a sample; None: the sample has to bring its own."""
    now = current()
    return None if now is None or now.room is None else now.room(key)


def rooms(keys: Iterable[str]) -> dict[str, Allocate] | None:
    """`room` for several keys."""
    now = current()
    return None if now is None or now.room is None else {key: now.room(key) for key in keys}


class Result:
    """A tensor that numpy code fills: it asks for the memory, and what it returns is that memory or its first rows.

    Args:
        given: the memory of a batch, where there is one.

    >>> result = Result()
    >>> array = result.allocate((3, 2), np.dtype(np.float32))
    >>> array[:] = 5
    >>> result.tensor(array[:2])
    tensor([[5., 5.],
            [5., 5.]])
    """

    def __init__(self, given: Allocate | None = None) -> None:
        self._made: torch.Tensor | None = None
        self._given = given

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """An array to fill."""
        if self._given is not None:
            return self._given(shape, dtype)
        self._made = empty(shape, torch_dtype(dtype))
        return cast("np.ndarray[Any, Any]", self._made.numpy())

    def tensor(self, array: np.ndarray[Any, Any]) -> torch.Tensor:
        """The tensor over `array`: all of what was allocated last, or its first rows."""
        if self._made is None:
            return torch.from_numpy(array)
        return self._made[: len(array)]


@cache
def torch_dtype(dtype: np.dtype[Any]) -> torch.dtype:
    """torch's name of a dtype of numpy."""
    return torch.from_numpy(np.empty(0, dtype)).dtype
