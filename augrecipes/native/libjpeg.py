"""Decodes parts of JPEGs by the machine's libjpeg-turbo, where augrecipes was built with it.

The library is separate from the kernels', and is switched on and off with them. It uses no Python and keeps no state,
so threads decode in parallel.
"""

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import logger
from augrecipes.native import build, layout
from augrecipes.native.kernels import SWITCH, where

_HEADERS = 1 << 16  # bytes, an upper bound of headers and tables
_TEXT = 200  # bytes of a message: JMSG_LENGTH_MAX
SPACES = {"GRAY": 1, "RGB": 3, "RGBA": 4, "CMYK": 5}  # colour spaces of decoded pixels, by simplejpeg's names
_SAMPLES = {1: 1, 3: 3, 4: 4, 5: 4}


class Window(layout.WINDOW.structure):  # type: ignore[misc, name-defined]
    """The part of a file to decode; `codec/window.def` explains the fields."""


@dataclass(slots=True)  # not frozen: one is made for each image, and that takes three times as long
class Coded:
    """A part of a JPEG that is not decoded yet; `pixels` decodes it, or kernels do, by `as_requests`.

    Attributes:
        codec: the codec.
        data: the bytes of the file.
        window: the window of the file to decode, which contains the part.
        top: first row of the part in the decoded window.
        left: first column of the part in the decoded window.
        height: number of rows of the part.
        width: number of columns of the part.
    """

    codec: "Codec"
    data: bytes
    window: Window
    top: int
    left: int
    height: int
    width: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of the decoded window, H×W×C."""
        w = self.window
        return w.y1 - w.y0, w.x1 - w.x0, _SAMPLES[w.channels]

    def lies(self) -> tuple[int, int]:
        """The part's offset and row stride in the decoded window, bytes."""
        _, width, samples = self.shape
        return (self.top * width + self.left) * samples, width * samples

    def pixels(self) -> NDArray[np.uint8]:
        """Decode the part, uint8 H×W×C; ValueError with libjpeg's message where it fails."""
        decoded = self.codec.decode(self.data, self.window)
        return decoded[self.top : self.top + self.height, self.left : self.left + self.width]


def as_requests(parts: Sequence[Coded]) -> tuple[NDArray[np.int64], Any]:
    """The requests of parts to the kernels, int64 (n, 3): addresses of the file and of the window, and decoded bytes.

    Also returns the objects that must live as long as these addresses are used.
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
        version: version of libjpeg-turbo, as text.
        handle: handle of the shared library.
        address: address of the function `ar_jpeg_window`.
        reads_codes: whether our decoder of Huffman codes fits this libjpeg; otherwise libjpeg decodes them.
        memories: free working memories, with tables of codes that most files share.
    """

    version: str
    handle: Any
    address: int = 0
    reads_codes: bool = True
    memories: list[Any] = field(default_factory=list, compare=False, repr=False)

    def decode(self, data: bytes, window: Window) -> NDArray[np.uint8]:
        """Decode a window, uint8 H×W×C.

        Raises:
            ValueError: libjpeg fails; with its message.
        """
        shape = window.y1 - window.y0, window.x1 - window.x0, _SAMPLES[window.channels]
        out, message = np.empty(shape, np.uint8), ctypes.create_string_buffer(_TEXT)
        try:
            memory = self.memories.pop()  # a pool, as the threads of a batch end with it
        except IndexError:
            memory = self.memory()
        failed = self.handle.ar_jpeg_window(data, ctypes.byref(window), memory, out.ctypes.data, message)
        self.memories.append(memory)
        if failed:
            raise ValueError(message.value.decode("latin-1"))
        return out

    def memory(self) -> Any:
        """A working memory for decoding, for one thread at a time."""
        return ctypes.create_string_buffer(self.handle.ar_jpeg_memory())

    def transcoded(self, data: bytes) -> bytes:
        """Transcode to a JPEG of the same coefficients, with one Huffman-coded scan, restart markers and no metadata.

        Raises:
            ValueError: libjpeg fails; with its message.
        """
        out, message = np.empty(2 * len(data) + _HEADERS, np.uint8), ctypes.create_string_buffer(_TEXT)
        size = self.handle.ar_jpeg_transcode(data, len(data), out.ctypes.data, out.size, message)
        if size < 0:
            raise ValueError(message.value.decode("latin-1"))
        return out[:size].tobytes()


@cache
def codec() -> Codec | None:
    """The codec; None where it was not built, or is switched off."""
    path = build.codec_library(where())
    if os.environ.get(SWITCH) == "0" or not path.exists():
        return None
    try:
        if build.is_stale(path, build.CODEC):
            raise ValueError(f"it was built from other sources; {layout.BUILD_AGAIN}")
        return opened(ctypes.CDLL(str(path)))
    except (OSError, AttributeError, ValueError) as error:
        logger.warning("libjpeg is not used: %s", error)
        return None


def opened(handle: Any) -> Codec:
    """Make the codec of a library's handle; ValueError if it was built with another layout of structs."""
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
