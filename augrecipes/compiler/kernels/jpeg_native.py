"""Pictures as they come back from a JPEG, in one native pass: without the bytes in between, which lose nothing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.twins import Apply, Case, Twin
from augrecipes.native.kernels import Library, library

_QUICK = ("v3", "v4")  # instruction sets with which the kernel is quicker than OpenCV
_COLUMNS = 64  # that it works on at a time, at most
_PARTS, _REST = 57, 512  # bytes of room for each column, and beside them
_COLOURS = 3  # axes of a picture with channels


class JpegRoundTrip:
    """The kernel of a library: uint8 pictures H×W×3 or H×W×1 to what OpenCV would read from the JPEG that it writes."""

    def __init__(self, kernels: Library) -> None:
        self._kernel = kernels.kernel("jpeg_round_trip", "pllllipl" + "p")

    def __call__(self, image: np.ndarray, quality: int) -> np.ndarray | None:
        """A new picture; None where it takes no such picture, or no such quality."""
        if image.dtype != np.uint8 or image.ndim != _COLOURS:
            return None
        rows, columns, channels = image.shape
        if image.strides[1:] != (channels, 1):
            image = np.ascontiguousarray(image)
        room = np.empty(-(-columns // _COLUMNS) * _COLUMNS * _PARTS + _REST, np.uint8)
        out = np.empty(image.shape, np.uint8)
        done = self._kernel(
            image.ctypes.data, rows, columns, image.strides[0], channels, quality, room.ctypes.data, room.size,
            out.ctypes.data,
        )  # fmt: skip
        return out if done == 0 else None


def _make(step: Any) -> Apply | None:
    kernels = library()
    if kernels is None or kernels.isa not in _QUICK or step.compression_type != "jpeg":
        return None
    through = JpegRoundTrip(kernels)
    return lambda img, quality, **_: through(img, quality)


def _cases(cls: type) -> Iterator[Case]:
    for quality in (1, 40, 75, 100):
        yield cls(quality_range=(quality, quality)), {"quality": quality, "image_type": ".jpg"}


@cache
def pictures() -> tuple[np.ndarray, ...]:
    """A picture without colours and, with and without, one of which quality 1 makes levels below -400: so far from
    levels, decoders that hold them by a table of 1024 begin anew.
    """
    bits = np.array([0xA442FF4D55E3B68F], ">u8").view(np.uint8)
    block = np.unpackbits(bits).reshape(8, 8, 1) * np.uint8(255)
    ramp = np.arange(23 * 45, dtype=np.uint32).reshape(23, 45, 1)
    return block, np.repeat(block, 3, axis=2), (ramp * ramp * 977 >> 13).astype(np.uint8)


TWIN = Twin(_make, _cases, pictures)
