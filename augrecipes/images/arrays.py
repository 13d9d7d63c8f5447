"""`.npy` files: one image or mask, of which a window reads only its own rows; or a stack of frames."""

import io
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import retry_parser
from augrecipes.images.format import MOST_CHANNELS, Area, Format, ImageHeader, UnreadableError

LONGEST = 12_000  # bytes of a header, numpy's own limit
_WIDEST = 2**31
_COLOURS = 4  # a longer last axis of three is columns, not channels


@dataclass(frozen=True, slots=True)
class SavedArray:
    """The layout of an array in a file.

    Attributes:
        at: the offset of its first byte.
        shape: H×W or H×W×C for an image.
        dtype: the dtype of its values.
        order: `C`, or `F` (column-major).
    """

    at: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: Any

    @property
    def least(self) -> int:
        """The size of a complete file, bytes."""
        return self.at + math.prod(self.shape) * self.dtype.itemsize


def saved_array(data: bytes) -> SavedArray:
    """The layout of an array from its header; nothing is unpickled. Raises UnreadableError."""
    first = io.BytesIO(data[:LONGEST])
    try:
        version = np.lib.format.read_magic(first)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        at = first.tell()
        shape, columns_first, dtype = retry_parser(lambda: (first.seek(at), read(first))[1])
    except Exception as error:  # numpy evaluates the header's text, which may raise anything
        raise UnreadableError(f"truncated or damaged: the header of an array ({error})") from None
    if dtype.hasobject or dtype.subdtype is not None:
        raise UnreadableError(f"an array of {dtype}, and only numbers are read")
    return SavedArray(first.tell(), shape, dtype, "F" if columns_first else "C")


def header(data: bytes) -> ImageHeader:
    """The header of an image or mask; the data may end after it. Raises UnreadableError."""
    return _header(saved_array(data))


def frame_headers(data: bytes) -> list[ImageHeader]:
    """The headers of all frames of an array T×H×W or T×H×W×C; for an image its only header. Raises UnreadableError."""
    saved = saved_array(data)
    if not holds_frames(saved):
        return [_header(saved)]
    if saved.order != "C":
        raise UnreadableError("an array of frames in Fortran order: save np.ascontiguousarray of it")
    count, *shape = saved.shape
    size = math.prod(shape) * saved.dtype.itemsize
    rows(data, saved, count, count)  # raises for a truncated file
    return [_header(replace(saved, at=saved.at + k * size, shape=(*shape,))) for k in range(count)]


def holds_frames(saved: SavedArray) -> bool:
    """Whether an array is a stack. Three axes are grey frames, unless the last one is short enough for channels.

    >>> [holds_frames(SavedArray(0, shape, np.dtype("u1"), "C")) for shape in ((8, 64, 64), (64, 64, 3))]
    [True, False]
    """
    return len(saved.shape) == 4 or (len(saved.shape) == 3 and saved.shape[2] > _COLOURS)


def _header(saved: SavedArray) -> ImageHeader:
    shape, dtype = saved.shape, saved.dtype
    if dtype.kind not in "uibf" or dtype.itemsize > 8:
        raise UnreadableError(f"an array of {dtype}: images are uint8, uint16 or float32, masks integers")
    channels = 1 if len(shape) == 2 else shape[2] if len(shape) == 3 else 0
    if not 1 <= channels <= MOST_CHANNELS:
        raise UnreadableError(f"an array of shape {shape}: images are H×W, or H×W×C of 1 to {MOST_CHANNELS} channels")
    color, bits = {1: "grey", 3: "rgb"}.get(channels, "other"), 16 if dtype == np.int8 else 8 * dtype.itemsize
    bands = channels if color == "other" else 0
    kind: Any = "u" if dtype.kind == "b" else dtype.kind
    return ImageHeader("npy", shape[1], shape[0], bits, color, layout=saved, bands=bands, sample_kind=kind)  # type: ignore[arg-type]


def decode(data: bytes, info: ImageHeader, channels: int | None, part: Area) -> NDArray[Any]:
    """Pixels of a part, of any numeric dtype, H×W or H×W×C. Raises UnreadableError."""
    if info.layout.dtype.kind == "b":
        raise UnreadableError(f"an array of {info.layout.dtype}: images are uint8, uint16 or float32")
    return _values(data, info, part)


def labels(data: bytes, info: ImageHeader, part: Area) -> NDArray[Any]:
    """Label ids of a part, of any integer dtype. Raises UnreadableError."""
    ids = _values(data, info, part)
    if ids.dtype.kind == "b":
        return ids.view(np.uint8)
    if info.bits > 32 or ids.dtype == np.uint32:
        if ids.min() < -_WIDEST or ids.max() >= _WIDEST:
            raise UnreadableError(f"mask values of {info.bits} bits, up to {ids.max()}; give at most 32 bits")
        return ids.astype(np.int32)
    return ids


def _values(data: bytes, info: ImageHeader, part: Area) -> NDArray[Any]:
    cut = rows(data, info.layout, part.y0, part.y1)[:, part.x0 : part.x1]
    return cut.astype(cut.dtype.newbyteorder("="), order="C")  # a copy, so that no view of the file escapes


def rows(data: Any, saved: SavedArray, first: int, end: int) -> NDArray[Any]:
    """Rows `first` to `end` of the first axis, read-only, from bytes or an OpenFile. UnreadableError if truncated."""
    count, *rest = saved.shape
    size = math.prod(rest) * saved.dtype.itemsize
    y0, y1 = (first, end) if saved.order == "C" else (0, count)  # in Fortran order a row is spread over the file
    piece = data[saved.at + y0 * size : saved.at + y1 * size]
    if len(data) < saved.least or len(piece) < (y1 - y0) * size:
        raise UnreadableError(f"truncated: {len(data):,} of {saved.least:,} bytes of an array")
    values = np.frombuffer(piece, saved.dtype).reshape((y1 - y0, *rest), order=saved.order)
    return values[first - y0 : end - y0]


FORMAT = Format(
    "npy",
    "NumPy's .npy",
    lambda data: data[:6] == b"\x93NUMPY",
    header,
    decode,
    labels,
    complete=lambda header, last, size: size >= header.layout.least,
    header_at="first",
    by_parts=True,
)
