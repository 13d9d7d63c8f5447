"""Arrays between two pages that nobody may touch: whoever reads or writes beside one, even in passing, is killed."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

_PAGE = mmap.PAGESIZE
_NOTHING = 0  # PROT_NONE


def guarded(array: np.ndarray, at_end: bool) -> Any:
    """A copy that ends where a forbidden page begins or, with at_end=False, begins where one ends."""
    pages = -(-max(array.nbytes, 1) // _PAGE)
    memory = mmap.mmap(-1, (pages + 2) * _PAGE)
    whole = np.frombuffer(memory, np.uint8)
    start = (pages + 1) * _PAGE - array.nbytes if at_end else _PAGE
    copy = np.frombuffer(memory, array.dtype, array.size, start).reshape(array.shape)
    copy[...] = array
    libc, first = ctypes.CDLL(None, use_errno=True), whole.ctypes.data
    for page in (first, first + (pages + 1) * _PAGE):
        if libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(_PAGE), _NOTHING):
            raise OSError(ctypes.get_errno(), "mprotect")
    return copy
