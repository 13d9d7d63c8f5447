"""What a decoder of parts is: a record of two functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from augrecipes.sources.formats.header import ImageHeader


@dataclass(frozen=True, slots=True)
class Part:
    """A rectangle of a picture as it is stored: before any EXIF turn, in pixels of full size.

    Attributes:
        y0: first row; a multiple of `reduce`.
        x0: first column; a multiple of `reduce`.
        y1: behind the last row; a multiple of `reduce`, or the picture's height.
        x1: behind the last column; a multiple of `reduce`, or the picture's width.
        reduce: how many rows and columns become one: 1, 2, 4 or 8.

    >>> Part(0, 16, 50, 64, reduce=4).reduced
    (slice(0, 13, None), slice(4, 16, None))
    """

    y0: int
    x0: int
    y1: int
    x1: int
    reduce: int = 1

    @property
    def reduced(self) -> tuple[slice, slice]:
        """Its rows and columns in the picture decoded at 1/`reduce`."""
        k = self.reduce
        return slice(self.y0 // k, -(-self.y1 // k)), slice(self.x0 // k, -(-self.x1 // k))


@dataclass(frozen=True, slots=True)
class Decoder:
    """How parts of one format are decoded. A new one is a file in this folder, and its line in `DECODERS`.

    Attributes:
        format: of `ImageHeader`, such as ``jpeg``.
        scales: data and header to the values of `reduce` beyond 1 that it decodes.
        region: data, header, channels and part to pixels as `augrecipes.sources.headers.Format.decode` gives them, of
            that part only and not turned; None to leave it to the next decoder, and in the end to the whole decode
            (with `reduce` above 1 it must not). The law: at `reduce` 1 the very pixels of the whole decode. Raises
            UnreadableError for what cannot be decoded; it may overlook damage that lies outside of the part.
        package: what `region` imports, where that is an optional extra.
    """

    format: str
    scales: Callable[[bytes, ImageHeader], tuple[int, ...]]
    region: Callable[[bytes, ImageHeader, int | None, Part], NDArray[Any] | None]
    package: str = ""
