"""Encoded images and windows of them: only the window that is left is decoded."""

from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard

import numpy as np

from augrecipes.native.kernels import Coded


class Decodable(Protocol):
    """An image in its file format, as the compiler uses it; `augrecipes.images.encoded` implements this.

    Attributes:
        shape: H×W×C of the image that `array` returns.
        dtype: the dtype of its pixels.
    """

    shape: tuple[int, int, int]
    dtype: np.dtype[Any]

    def array(self) -> np.ndarray:
        """The whole image."""

    def view(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> np.ndarray:
        """A window, ends exclusive, with the bits of a cut from the whole; `reduce` × `reduce` pixels become one."""

    def coded(self, y0: int, x0: int, y1: int, x1: int) -> Coded | None:
        """A window for kernels that decode it themselves; None where `view` must decode it."""

    def scales(self) -> tuple[int, ...]:
        """The values of `reduce` that the decoder offers, other than 1."""


@dataclass(frozen=True, slots=True)
class EncodedWindow:
    """A window of an encoded image. Slicing it is free; `array` decodes.

    Attributes:
        source: the image.
        y0: first row.
        x0: first column.
        y1: last row, exclusive.
        x1: last column, exclusive.
    """

    source: Decodable
    y0: int
    x0: int
    y1: int
    x1: int

    ndim = 3

    @property
    def shape(self) -> tuple[int, int, int]:
        """H×W×C of the window."""
        return self.y1 - self.y0, self.x1 - self.x0, self.source.shape[2]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its pixels."""
        return self.source.dtype

    def __getitem__(self, cut: tuple[slice, slice]) -> "EncodedWindow":
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
        """A window of the window, for kernels that decode it themselves."""
        return self.source.coded(self.y0 + y0, self.x0 + x0, self.y0 + y1, self.x0 + x1)

    def scales(self) -> tuple[int, ...]:
        """Empty: blocks that become one pixel may straddle those of the file."""
        return ()


def is_encoded(image: Any) -> TypeGuard[Decodable]:
    """Whether an image is still in its file format; `isinstance` of a Protocol is too slow here."""
    return not isinstance(image, np.ndarray) and callable(getattr(image, "scales", None))


def whole_window(image: Decodable) -> EncodedWindow:
    """The window that covers all of an image."""
    return EncodedWindow(image, 0, 0, *image.shape[:2])
