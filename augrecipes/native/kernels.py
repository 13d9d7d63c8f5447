"""Loads the native kernels once, for the best instruction set that this processor has, and the decoder of JPEGs.

Without a build, or with `AUGRECIPES_NATIVE=0`, there are none, and steps run as they are written. `AUGRECIPES_NATIVE`
may also name an instruction set, `base`, `v3` (AVX2) or `v4` (AVX-512), and `AUGRECIPES_KERNELS` a library built
elsewhere, such as one with AddressSanitizer.

Parts of JPEGs are decoded by the machine's libjpeg-turbo, where augrecipes was built with it: a library of its own,
switched on and off with the kernels. It uses no Python and keeps no state, so threads decode in parallel.
"""

import ctypes
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import logger
from augrecipes.native import build, layout

SWITCH = "AUGRECIPES_NATIVE"
# Types of kernels' arguments: p a pointer, l int64, i int32, f float, d double.
_TYPES = {"p": ctypes.c_void_p, "l": ctypes.c_int64, "i": ctypes.c_int32, "f": ctypes.c_float, "d": ctypes.c_double}
# The numbers of dtypes in kernels.h.
_DTYPES = (np.uint8, np.float32, np.float16, np.int64)
_FLOAT32, _FLOAT32_FAR, _UINT16 = np.dtype(np.float32), 4, 5
VALUES: dict[np.dtype[Any], int] = {np.dtype(dtype): number for number, dtype in enumerate(_DTYPES)}
VALUES[np.dtype(np.uint16)] = _UINT16
_FAR = 1 << 24  # bytes of a block that does not fit the cache: its start is evicted before its end is written


def written_as(out: np.ndarray) -> int:
    """The number of a result's dtype; float32 in a block too large for the cache has its own, to bypass the cache.

    >>> batch = np.zeros((32, 3, 512, 512), np.float32)
    >>> written_as(batch[0]), written_as(np.zeros((3, 512, 512), np.float32))
    (4, 1)
    """
    if out.dtype == _FLOAT32 and getattr(out if out.base is None else out.base, "nbytes", 0) >= _FAR:
        return _FLOAT32_FAR
    return VALUES[out.dtype]


def address_of(array: np.ndarray) -> int:
    """The address of an array's first value, in a third of the time of `array.ctypes.data`.

    >>> array = np.zeros((2, 3))
    >>> address_of(array) == address_of(array[:, ::2]) == array.ctypes.data
    True
    """
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError):  # it is read-only, or not contiguous
        return int(array.__array_interface__["data"][0])


@dataclass(frozen=True, slots=True)
class Library:
    """The kernels of one instruction set.

    Attributes:
        handle: handle of the shared library.
        isa: the instruction set: `base`, `v3` or `v4`.
    """

    handle: Any
    isa: str

    def kernel(self, name: str, arguments: str) -> Callable[..., int]:
        """A kernel as a function of pointers and numbers, which returns 0 on success.

        Args:
            name: name of the kernel.
            arguments: the type of each argument as a letter: p, l, i, f or d.
        """
        function = getattr(self.handle, f"ar_{name}_{self.isa}")
        if function.argtypes is None:
            function.argtypes, function.restype = [_TYPES[a] for a in arguments], ctypes.c_int32
        return cast("Callable[..., int]", function)


def library() -> Library | None:
    """The kernels for this machine; None: there are none."""
    return _load_once()


@cache
def _load_once() -> Library | None:
    setting = os.environ.get(SWITCH, "")
    if setting == "0":
        return None
    if not where().exists():
        logger.warning("there are no native kernels (%s): recipes run as with optimize: none", where())
        return None
    try:
        return load(setting)
    except (OSError, AttributeError, ValueError) as error:
        logger.warning("native kernels are not used: %s", error)
        return None


def where() -> Path:
    """The file from which kernels are loaded, whether or not it exists."""
    return Path(os.environ.get("AUGRECIPES_KERNELS") or build.LIBRARY)


def load(isa: str = "", path: Path | None = None) -> Library:
    """Load the kernels of a library for an instruction set; "" is the best that this processor has.

    Raises:
        OSError: it cannot be loaded.
        ValueError: it was built from other sources or with another layout of structs, or lacks the instruction set.
    """
    file = path or where()
    handle = ctypes.CDLL(str(file))
    if build.is_stale(file):
        raise ValueError(f"they were built from other sources; {layout.BUILD_AGAIN}")
    layout.check(handle, layout.KERNELS, layout.NUMBERS)
    available = instruction_sets(handle)
    if isa and isa not in available:
        raise ValueError(f"{SWITCH}={isa}: built for this processor are {', '.join(available)}; 0 turns them off")
    return Library(handle, isa or available[-1])


def instruction_sets(handle: Any) -> list[str]:
    """The instruction sets of a library that this processor has, the best last."""
    best = handle.ar_isa()
    known = build.INSTRUCTION_SETS.get(build.processor(), {"base": ()})
    return [isa for isa in known if hasattr(handle, f"ar_sink_{isa}") and (isa == "base" or int(isa[1:]) <= best)]


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


# Common names of the instruction sets; on ARM the base set includes NEON.
_NAMES = {"v3": "AVX2", "v4": "AVX-512"} | ({"base": "NEON"} if build.processor() == "arm64" else {})


def described() -> str:
    """Which kernels run, and which libjpeg-turbo decodes parts of JPEGs, if one does.

    `native AVX-512, libjpeg-turbo 2.1.5`, `native NEON`, `native base`, or `no native kernels`.

    >>> described().partition(" ")[0] in ("native", "no")
    True
    """
    kernels, jpegs = library(), codec()
    text = "no native kernels" if kernels is None else f"native {_NAMES.get(kernels.isa, kernels.isa)}"
    return text if jpegs is None else f"{text}, libjpeg-turbo {jpegs.version}"
