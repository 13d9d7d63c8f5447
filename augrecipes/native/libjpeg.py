"""The machine's libjpeg-turbo, where augrecipes was built with it: parts of JPEGs, decoded without what lies around.

The library is one of its own beside the kernels', and goes on and off with them. It holds no Python and no state, so
threads decode at once.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.native import build, layout
from augrecipes.native.kernels import SWITCH, where

_log = logging.getLogger("augrecipes")
_HEADERS = 1 << 16  # bytes, at most, of tables
_TEXT = 200  # bytes of a message: JMSG_LENGTH_MAX
SPACES = {"GRAY": 1, "RGB": 3, "RGBA": 4, "CMYK": 5}  # what pixels may come as, by simplejpeg's names
_SAMPLES = {1: 1, 3: 3, 4: 4, 5: 4}


class Window(layout.WINDOW.structure):  # type: ignore[misc, name-defined]
    """What is decoded of a file: `codec/window.def` says what its fields are."""


@dataclass(slots=True)  # one for each image; frozen ones take three times as long to make
class Coded:
    """A part of a JPEG that is not decoded yet: `pixels` does it, or kernels that are told of it as `as_requests` says.

    Attributes:
        codec: that decodes it.
        data: the file.
        window: what is decoded of it.
        top: the row of these pixels that the part begins at.
        left: the column.
        height: rows of the part.
        width: columns.
    """

    codec: Codec
    data: bytes
    window: Window
    top: int
    left: int
    height: int
    width: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of what is decoded, H×W×C."""
        w = self.window
        return w.y1 - w.y0, w.x1 - w.x0, _SAMPLES[w.channels]

    def lies(self) -> tuple[int, int]:
        """Bytes before its first pixel, and from row to row, in what is decoded."""
        _, width, samples = self.shape
        return (self.top * width + self.left) * samples, width * samples

    def pixels(self) -> NDArray[np.uint8]:
        """The part, uint8 H×W×C, as a view. ValueError: libjpeg has something to say; the text is its own."""
        found = self.codec.decode(self.data, self.window)
        return found[self.top : self.top + self.height, self.left : self.left + self.width]


def as_requests(parts: Sequence[Coded]) -> tuple[NDArray[np.int64], Any]:
    """Where the file of each lies, where what `ar_jpeg_window` is told of it, and bytes that are decoded: (n, 3).

    And what these addresses are good for as long as.
    """
    count = len(parts)
    windows = (layout.WINDOW.structure * count)(*(part.window for part in parts))
    files = (ctypes.c_char_p * count)(*(part.data for part in parts))
    numbers = np.empty((count, 3), np.int64)
    numbers[:, 0] = np.frombuffer(memoryview(files).cast("B"), np.int64)
    numbers[:, 1] = np.arange(count) * ctypes.sizeof(Window) + ctypes.addressof(windows)
    numbers[:, 2] = [height * width * samples for height, width, samples in (part.shape for part in parts)]
    return numbers, (windows, files)


@dataclass(frozen=True, slots=True)
class Codec:
    """The library, opened.

    Attributes:
        version: of libjpeg-turbo, as text.
        handle: of the shared library.
        address: of the function that decodes.
        reads_codes: its own decoder of Huffman codes fits into this libjpeg, which otherwise decodes them itself.
        memories: to decode with, those that no thread is at: tables of codes, which most files share.
    """

    version: str
    handle: Any
    address: int = 0
    reads_codes: bool = True
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
            memory = self.memory()
        failed = self.handle.ar_jpeg_window(data, ctypes.byref(window), memory, out.ctypes.data, said)
        self.memories.append(memory)
        if failed:
            raise ValueError(said.value.decode("latin-1"))
        return out

    def memory(self) -> Any:
        """Memory to decode with, for one thread at a time."""
        return ctypes.create_string_buffer(self.handle.ar_jpeg_memory())

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
    path = build.codec_library(where())
    if os.environ.get(SWITCH) == "0" or not path.exists():
        return None
    try:
        if build.is_stale(path, build.CODEC):
            raise ValueError(f"it was built from other sources; {layout.BUILD_AGAIN}")
        return opened(ctypes.CDLL(str(path)))
    except (OSError, AttributeError, ValueError) as error:
        _log.warning("libjpeg is not used: %s", error)
        return None


def opened(handle: Any) -> Codec:
    """The library of such a handle. ValueError: it was built with structs of another layout."""
    layout.check(handle, layout.CODEC)
    pointer = ctypes.c_void_p
    handle.ar_jpeg_window.argtypes = [ctypes.c_char_p, pointer, pointer, pointer, ctypes.c_char_p]
    handle.ar_jpeg_window.restype = ctypes.c_int32
    number_of = ctypes.c_int64
    handle.ar_jpeg_memory.restype = number_of
    handle.ar_jpeg_transcode.argtypes = [ctypes.c_char_p, number_of, ctypes.c_void_p, number_of, ctypes.c_char_p]
    handle.ar_jpeg_transcode.restype = number_of
    number, address = handle.ar_libjpeg(), ctypes.cast(handle.ar_jpeg_window, pointer).value or 0
    version = f"{number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}"
    return Codec(version, handle, address, bool(handle.ar_jpeg_reads_codes() and handle.ar_jpeg_self_test()))
