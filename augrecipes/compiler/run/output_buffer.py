"""`out=`: a result written straight into memory that the caller has, a row of a batch for instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.errors import DataError


def output_buffer(out: Any, what: str, sources: Sequence[Any], name: str = "out") -> Allocate:
    """An allocator that gives the memory of `out` to a result that fits it exactly.

    Args:
        out: a writable array, or whatever numpy can see as one without a copy, such as a torch tensor on the CPU; or a
            function (shape, dtype) → array, for who does not know the size beforehand.
        what: is to be written, for errors.
        sources: arrays that are still to be read when the result is written.
        name: of `out`, for errors.

    Raises:
        DataError: it cannot be written to, or overlaps a source; when it is asked for: another shape or dtype.

    >>> batch = np.zeros((2, 3, 4, 4), np.float32)
    >>> np.shares_memory(output_buffer(batch[1], "the image", ())((3, 4, 4), np.dtype(np.float32)), batch)
    True
    """
    if callable(out):
        return lambda shape, dtype: output_buffer(out(shape, dtype), what, sources, name)(shape, dtype)
    array = _as_array(out, name)
    if not array.flags.writeable:
        raise DataError(f"{name} is read-only")
    for source in sources:
        if isinstance(source, np.ndarray) and np.may_share_memory(array, source):
            raise DataError(f"{name} lies in the memory of what goes in; give it memory of its own")

    def allocate(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        if array.shape != shape or array.dtype != dtype:
            raise DataError(
                f"{name} is {array.dtype} of shape {array.shape}, {what} comes out as {dtype} of shape {shape}"
            )
        return array

    return allocate


def _as_array(out: Any, name: str) -> np.ndarray:
    """`out` as an array over the same memory."""
    if isinstance(out, np.ndarray):
        return out
    try:
        array, again = np.asarray(out), np.asarray(out)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{name} cannot be written to from numpy: {error}") from error
    if array.__array_interface__["data"] != again.__array_interface__["data"]:
        raise DataError(f"{name} must be an array, or share its memory with one; got {type(out).__name__}")
    return array
