"""Images as the kernels read them: arrays where they lie, files as far as a window of them goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from augrecipes.compiler.kernels.encoded_images import Decodable, EncodedWindow, is_encoded
from augrecipes.native.libjpeg import Coded

_FARTHEST = (1 << 30) - 1  # bytes from the first row to the end of the last
_MASKS = (np.dtype(np.uint8), np.dtype(bool))
AnyImage = np.ndarray | Decodable | EncodedWindow
# An array, and the row and the column of the image that it begins at.
Pixels = tuple[np.ndarray, int, int]


@dataclass(slots=True)  # one for each batch; frozen ones take three times as long to make
class MappedImages:
    """uint8 images in memory whose channels lie side by side: those of a mapped file, for instance.

    Attributes:
        lie: int64 (n, 4), of each its address, bytes from row to row, and the row and column that lie there: 0 and 0.
        shapes: int64 (n, 3), height, width and channels.
        array: gives one of them by its position, whole.
        owner: what has to live as long as the addresses are used.
    """

    lie: np.ndarray
    shapes: np.ndarray
    array: Callable[[int], np.ndarray]
    owner: Any = None

    @classmethod
    def of(cls, arrays: Sequence[np.ndarray]) -> MappedImages:
        """Arrays, uint8 H×W×C, and windows of such."""
        lie = [(array.__array_interface__["data"][0], array.strides[0], 0, 0) for array in arrays]
        shapes = [array.shape for array in arrays]
        return cls(np.array(lie, np.int64), np.array(shapes, np.int64), arrays.__getitem__)

    def __len__(self) -> int:
        return len(self.lie)

    def first(self, sizes: np.ndarray) -> MappedImages:
        """So many rows and columns of each, int64 (n, 2), from its first pixel on."""
        shapes = self.shapes.copy()
        shapes[:, :2] = sizes
        return MappedImages(self.lie, shapes, self.array, self.owner)


def is_image(image: Any, *, files: bool) -> bool:
    """Whether it is a file, or where no `files` are taken a uint8 image H×W×C, however that lies in memory."""
    if files:
        return is_encoded(image)
    return isinstance(image, np.ndarray) and image.ndim == 3 and image.size > 0 and image.dtype == np.uint8


def is_mask(mask: Any, image: AnyImage) -> bool:
    """Whether it is one of uint8 or bool, H×W or H×W×1, that lies on the image; in memory or still in its file."""
    return (
        (isinstance(mask, np.ndarray) or is_encoded(mask))
        and mask.dtype in _MASKS
        and (len(mask.shape) == 2 or (len(mask.shape) == 3 and mask.shape[2] == 1))
        and mask.shape[:2] == image.shape[:2]
    )


def as_image(mask: np.ndarray | Decodable) -> np.ndarray | Decodable:
    """Such a mask as H×W×1 of uint8; one that is still in its file is that already."""
    return mask.view(np.uint8).reshape(*mask.shape[:2], 1) if isinstance(mask, np.ndarray) else mask


def as_bytes(mask: np.ndarray) -> np.ndarray:
    """A mask H×W or H×W×1 of any dtype as its bytes, uint8 H×W×B, because steps move its pixels as they are.

    >>> as_bytes(np.array([[1, 258]], np.uint16)).tolist()
    [[[1, 0], [2, 1]]]
    """
    flat = np.ascontiguousarray(mask.reshape(mask.shape[:2]))
    return flat.view(np.uint8).reshape(*flat.shape, mask.itemsize)


def from_bytes(pixels: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The mask, H×W, that such bytes are."""
    return np.ascontiguousarray(pixels).view(dtype)[..., 0]


def coded_window(image: AnyImage, window: Sequence[int]) -> Coded | None:
    """A window (top, left, bottom, right) of a file for kernels that decode it; None where `read_pixels` has to."""
    top, left, bottom, right = window
    if isinstance(image, np.ndarray) or not (0 <= top < bottom and 0 <= left < right):
        return None
    return image.coded(top, left, bottom, right)


def read_pixels(image: AnyImage, window: Sequence[int], reduce: int) -> Pixels | None:
    """The pixels of a window (top, left, bottom, right) at least; of a file, or where they have to be copied, no more.

    Args:
        image: it.
        window: that is read.
        reduce: so many rows and columns of a file are decoded as one, at a scale that its decoder has.

    Returns:
        None where it is not known what is read of a file.

    Raises:
        DataError: the file is damaged there.
    """
    top, left, bottom, right = window
    known = 0 <= top < bottom and 0 <= left < right
    if is_ready(image):
        return image, 0, 0
    if isinstance(image, np.ndarray):
        return (image[top:bottom, left:right].copy(), top, left) if known else (image.copy(), 0, 0)
    if not known:
        return None
    pixels = image.view(top, left, bottom, right, reduce)
    return pixels if has_plain_rows(pixels) else pixels.copy(), top, left


def scales_of(image: AnyImage) -> tuple[int, ...]:
    """By how many rows and columns, as one, an image can be read; empty: only as it is."""
    return () if isinstance(image, np.ndarray) else image.scales()


def has_plain_rows(image: np.ndarray) -> bool:
    """Whether kernels read a uint8 image H×W×C where it lies: row below row, with its pixels side by side.

    >>> image = np.zeros((4, 5, 3), np.uint8)
    >>> [has_plain_rows(view) for view in (image[1:, 2:], image[::-1], image[:, ::2], image[..., ::-1])]
    [True, False, False, False]
    """
    rows, columns, channels = image.shape
    to_row, to_pixel, to_channel = image.strides
    whole_pixels = (to_channel == 1 or channels == 1) and to_pixel == channels
    return whole_pixels and columns * channels <= to_row < _FARTHEST // rows


def is_ready(image: AnyImage) -> TypeGuard[np.ndarray]:
    """Whether kernels read it where it lies."""
    return isinstance(image, np.ndarray) and has_plain_rows(image)
