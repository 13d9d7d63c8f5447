"""The tensors of one batch, written row by row while its samples are read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.data.batches.epoch import Room
from augrecipes.data.batches.memory import Empty, empty, torch_dtype

# Memory for some rows of a batch: (key, shape of a row, dtype) → array (n, *shape).
Take = Callable[[str, tuple[int, ...], np.dtype[Any]], "np.ndarray[Any, Any]"]


class BatchRows:
    """Memory for the samples of one batch.

    The tensor of a key is made when the first sample's size is known. Samples of that size are written into their rows,
    others get memory of their own. Rows may be asked for from several threads; no row is ever handed to two samples.

    Args:
        count: of samples.
        empty: makes a tensor of a shape and dtype.

    Attributes:
        uneven: keys whose samples differ in size.

    >>> rows = BatchRows(2)
    >>> for k in (0, 1):
    ...     rows.room(k)("image")((4,), np.dtype(np.uint8))[:] = k
    >>> rows.whole("image", [torch.zeros(4, dtype=torch.uint8)] * 2) is None  # these lie elsewhere
    True
    """

    def __init__(self, count: int, empty: Empty = empty) -> None:
        self.uneven: set[str] = set()
        self._count, self._empty = count, empty
        self._made: dict[str, tuple[torch.Tensor, np.ndarray[Any, Any]]] = {}
        self._lock = threading.Lock()

    def room(self, k: int) -> Room:
        """Memory for sample `k`, by key."""

        def of(key: str) -> Allocate:
            def allocate(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
                array = self._array(key, shape, dtype)
                return np.empty(shape, dtype) if array is None else array[k]

            return allocate

        return of

    def take(self, rows: range) -> Take:
        """Memory for several samples at once."""

        def taken(key: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
            array = self._array(key, shape, np.dtype(dtype))
            return np.empty((len(rows), *shape), dtype) if array is None else array[rows.start : rows.stop]

        return taken

    def whole(self, key: str, values: Sequence[torch.Tensor]) -> torch.Tensor | None:
        """The tensor of `key`, where `values`, one or more rows each, are its rows, all of them and in order."""
        if key not in self._made:
            return None
        made = self._made[key][0]
        if len(values) == 1 and values[0].shape == made.shape:  # of all rows at once
            (value,) = values
            here = value.data_ptr() == made.data_ptr() and value.dtype == made.dtype and value.is_contiguous()
            return made if here else None
        at, step = made.data_ptr(), made.stride(0) * made.element_size()
        for value in values:
            one = value.shape == made.shape[1:]
            many = value.ndim == made.ndim and value.shape[1:] == made.shape[1:]
            if value.data_ptr() != at or value.dtype != made.dtype or not (one or many) or not value.is_contiguous():
                return None
            at += step * (1 if one else len(value))
        return made if at == made.data_ptr() + step * self._count else None

    def _array(self, key: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any] | None:
        with self._lock:
            if key not in self._made:
                made = self._empty((self._count, *shape), torch_dtype(dtype))
                self._made[key] = made, made.numpy()
            array = self._made[key][1]
            if array.shape[1:] == shape and array.dtype == dtype:
                return array
            self.uneven.add(key)
            return None
