"""EncodedWindow: an image that is still in its file, as a kernel cuts it; only what is left of it is decoded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard

import numpy as np

from augrecipes.native.libjpeg import Coded


class Decodable(Protocol):
    """What the compiler asks of an image in its file format; `augrecipes.images.encoded` has one.

    Attributes:
        shape: H×W×C, px, of the image as `array` gives it.
        dtype: of its pixels.
    """

    shape: tuple[int, int, int]
    dtype: np.dtype[Any]

    def array(self) -> np.ndarray:
        """The whole image."""

    def view(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> np.ndarray:
        """A window, ends exclusive, `reduce` × `reduce` pixels as one; the bits are those of a cut from the whole."""

    def coded(self, y0: int, x0: int, y1: int, x1: int) -> Coded | None:
        """A window as kernels are told of it that decode it themselves; None where `view` is to do it."""

    def scales(self) -> tuple[int, ...]:
        """Which `reduce` the decoder has, other than 1."""


@dataclass(frozen=True, slots=True)
class EncodedWindow:
    """A window of an encoded image. Slicing it is free; `array` decodes.

    Attributes:
        source: the image.
        y0: the window, ends exclusive.
        x0: the same.
        y1: the same.
        x1: the same.
    """

    source: Decodable
    y0: int
    x0: int
    y1: int
    x1: int

    ndim = 3

    @property
    def shape(self) -> tuple[int, int, int]:
        """The window's, H×W×C."""
        return self.y1 - self.y0, self.x1 - self.x0, self.source.shape[2]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its pixels."""
        return self.source.dtype

    def __getitem__(self, cut: tuple[slice, slice]) -> EncodedWindow:
        """A window of the window."""
        rows, columns = cut
        y0, y1, _ = rows.indices(self.y1 - self.y0)
        x0, x1, _ = columns.indices(self.x1 - self.x0)
        return EncodedWindow(self.source, self.y0 + y0, self.x0 + x0, self.y0 + max(y0, y1), self.x0 + max(x0, x1))

    def array(self) -> np.ndarray:
        """The pixels, possibly a view of more."""
        return self.source.view(self.y0, self.x0, self.y1, self.x1)

    def view(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> np.ndarray:
        """A window of the window."""
        return self.source.view(self.y0 + y0, self.x0 + x0, self.y0 + y1, self.x0 + x1, reduce)

    def coded(self, y0: int, x0: int, y1: int, x1: int) -> Coded | None:
        """The same for kernels that decode it themselves."""
        return self.source.coded(self.y0 + y0, self.x0 + x0, self.y0 + y1, self.x0 + x1)

    def scales(self) -> tuple[int, ...]:
        """None: blocks of its pixels may begin between those of the file."""
        return ()


def is_encoded(image: Any) -> TypeGuard[Decodable]:
    """Whether an image is still in its file format; `isinstance` would take longer than the decoder's own check."""
    return not isinstance(image, np.ndarray) and callable(getattr(image, "scales", None))


def whole_window(image: Decodable) -> EncodedWindow:
    """All of an image."""
    return EncodedWindow(image, 0, 0, *image.shape[:2])
