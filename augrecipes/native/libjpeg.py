"""The machine's libjpeg-turbo, where augrecipes was built with it: parts of JPEGs, decoded without what lies around.

The library is one of its own beside the kernels', and goes on and off with them. It holds no Python and no state, so
threads decode at once.
"""

from __future__ import annotations

import ctypes
import logging
import os
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.native import build
from augrecipes.native.kernels import SWITCH, where

_log = logging.getLogger("augrecipes")
_HEADERS = 1 << 16  # bytes, at most, of tables
_TEXT = 200  # bytes of a message: JMSG_LENGTH_MAX
SPACES = {"GRAY": 1, "RGB": 3, "RGBA": 4, "CMYK": 5}  # what pixels may come as, by simplejpeg's names
_SAMPLES = {1: 1, 3: 3, 4: 4, 5: 4}


class Window(ctypes.Structure):
    """What is decoded of a file; jpeg_window.c has the same fields and says what they are."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("size", "height_at", "pixels", "first", "last", "count")),
        *((name, ctypes.c_int32) for name in ("height", "whole", "strict", "reduce", "channels")),
        *((name, ctypes.c_int32) for name in ("y0", "y1", "x0", "x1")),
    )


@dataclass(frozen=True, slots=True)
class Codec:
    """The library, opened.

    Attributes:
        version: of libjpeg-turbo, as text.
        handle: of the shared library.
        memories: to decode with, those that no thread is at: tables of codes, which most files share.
    """

    version: str
    handle: Any
    memories: list[Any] = field(default_factory=list, compare=False, repr=False)

    def decode(self, data: bytes, window: Window) -> NDArray[np.uint8]:
        """The pixels of a window, uint8 H×W×C.

        Raises:
            ValueError: libjpeg has something to say; the text is its own.
        """
        shape = window.y1 - window.y0, window.x1 - window.x0, _SAMPLES[window.channels]
        out, said = np.empty(shape, np.uint8), ctypes.create_string_buffer(_TEXT)
        try:
            memory = self.memories.pop()  # not one for each thread: those of a batch end with it
        except IndexError:
            memory = ctypes.create_string_buffer(self.handle.ar_jpeg_memory())
        failed = self.handle.ar_jpeg_window(data, ctypes.byref(window), memory, out.ctypes.data, said)
        self.memories.append(memory)
        if failed:
            raise ValueError(said.value.decode("latin-1"))
        return out

    def transcoded(self, data: bytes) -> bytes:
        """A JPEG of the same coefficients: one scan of Huffman codes, restart markers, no metadata.

        Raises:
            ValueError: libjpeg has something to say; the text is its own.
        """
        out, said = np.empty(2 * len(data) + _HEADERS, np.uint8), ctypes.create_string_buffer(_TEXT)
        size = self.handle.ar_jpeg_transcode(data, len(data), out.ctypes.data, out.size, said)
        if size < 0:
            raise ValueError(said.value.decode("latin-1"))
        return out[:size].tobytes()


@cache
def codec() -> Codec | None:
    """The library; None where it was not built, or is turned off."""
    path = build.codec_beside(where())
    if os.environ.get(SWITCH) == "0" or not path.exists():
        return None
    try:
        return opened(ctypes.CDLL(str(path)))
    except (OSError, AttributeError, ValueError) as error:
        _log.warning("libjpeg is not used: %s", error)
        return None


def opened(handle: Any) -> Codec:
    """The library of such a handle. ValueError: it was built from other sources."""
    handle.ar_sources.restype = ctypes.c_char_p
    if handle.ar_sources().decode() != build.fingerprint(build.CODEC):
        raise ValueError("it was built from other sources; to build it again: python -m augrecipes.native.build")
    pointer = ctypes.c_void_p
    handle.ar_jpeg_window.argtypes = [ctypes.c_char_p, pointer, pointer, pointer, ctypes.c_char_p]
    handle.ar_jpeg_window.restype = ctypes.c_int32
    number_of = ctypes.c_int64
    handle.ar_jpeg_memory.restype = number_of
    handle.ar_jpeg_transcode.argtypes = [ctypes.c_char_p, number_of, ctypes.c_void_p, number_of, ctypes.c_char_p]
    handle.ar_jpeg_transcode.restype = number_of
    number = handle.ar_libjpeg()
    return Codec(f"{number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}", handle)
