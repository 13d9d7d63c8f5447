"""OpenCV's decoders, without their messages on stderr and without exceptions of their own."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.formats.header import ImageHeader, UnreadableError, raise_if_memory

# The log level is one number for the whole process, so nested and parallel users are counted: the first one in
# saves the level that the program had, the last one out puts it back.
_lock = threading.Lock()
_inside = 0
_log_level = 0


@contextmanager
def quiet() -> Iterator[None]:
    """OpenCV's own log (libtiff's messages come through it too) is silent inside the block. Safe with threads."""
    global _inside, _log_level  # noqa: PLW0603 (the level is global in OpenCV itself)
    log = cv2.utils.logging
    with _lock:
        if _inside == 0:
            _log_level = log.setLogLevel(log.LOG_LEVEL_SILENT)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                log.setLogLevel(_log_level)


def _after_fork() -> None:
    # The threads that were inside in the parent do not exist in the child and will never leave.
    global _lock, _inside  # noqa: PLW0603
    _lock = threading.Lock()
    if _inside:
        _inside = 0
        cv2.utils.logging.setLogLevel(_log_level)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


_THREADS = 64 << 20  # bytes that AVIF's take


def check_memory(header: ImageHeader, room: int, more: int = 0) -> None:
    """MemoryError where there are not so many bytes a pixel: they are asked for and given back, and never touched."""
    np.empty(header.height * header.width * room * (2 if header.bits > 8 else 1) + more, np.uint8)


def imdecode(data: bytes | bytearray, header: ImageHeader, *, color: bool, room: int = 8) -> NDArray[Any]:
    """Pixels as OpenCV decodes them, in RGB order, never turned by EXIF.

    Args:
        data: the whole file.
        header: its header; the size must agree.
        color: True for uint8 H×W×3 whatever is stored; False for what is stored: H×W, H×W×3 or H×W×4 of any dtype.
        room: bytes a pixel that decoding takes on the way.

    Raises:
        UnreadableError: OpenCV refuses the data, or decodes another size.
        MemoryError: there is not enough for it.
    """
    flags = cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION if color else cv2.IMREAD_UNCHANGED
    with quiet():
        try:
            out = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
        except cv2.error as error:
            raise_if_memory(error)
            out = None
    if out is None:
        check_memory(header, room, _THREADS)  # OpenCV does not say that this was its trouble
        raise UnreadableError(
            f"damaged, or a kind of {header.format.upper()} that OpenCV {cv2.__version__} cannot decode"
        )
    if out.shape[:2] != (header.height, header.width):
        raise UnreadableError(
            f"its header says {header.width}×{header.height} pixels, its data {out.shape[1]}×{out.shape[0]}"
        )
    if out.ndim == 3 and out.shape[2] == 3:
        cv2.cvtColor(out, cv2.COLOR_BGR2RGB, dst=out)
    elif out.ndim == 3 and out.shape[2] == 4:
        cv2.cvtColor(out, cv2.COLOR_BGRA2RGBA, dst=out)
    return np.asarray(out)
