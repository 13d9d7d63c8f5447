"""Images as the kernels read them: arrays in place, files as far down as the window that is needed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from augrecipes.compiler.kernels.encoded_images import Decodable, EncodedWindow, is_encoded
from augrecipes.native.kernels import Coded

_FARTHEST = (1 << 30) - 1  # bytes from the first row to the end of the last; kernels count them in 31 bits
_MASKS = (np.dtype(np.uint8), np.dtype(bool))
AnyImage = np.ndarray | Decodable | EncodedWindow
# An array, and the row and the column of the image that it begins at.
Pixels = tuple[np.ndarray, int, int]


@dataclass(slots=True)  # one per batch; a frozen dataclass takes three times as long to construct
class MappedImages:
    """uint8 images in memory with interleaved channels, such as those of a memory-mapped file.

    Attributes:
        lie: int64 (n, 4): each image's address, bytes from row to row, and the row and column at that address (0, 0).
        shapes: int64 (n, 3): height, width and channels.
        array: returns the image at a position.
        owner: the object that must stay alive while the addresses are in use.
    """

    lie: np.ndarray
    shapes: np.ndarray
    array: Callable[[int], np.ndarray]
    owner: Any = None

    @classmethod
    def of(cls, arrays: Sequence[np.ndarray]) -> "MappedImages":
        """Wrap uint8 arrays H×W×C, or windows of such arrays."""
        lie = [(array.__array_interface__["data"][0], array.strides[0], 0, 0) for array in arrays]
        shapes = [array.shape for array in arrays]
        return cls(np.array(lie, np.int64), np.array(shapes, np.int64), arrays.__getitem__)

    def __len__(self) -> int:
        return len(self.lie)

    def first(self, sizes: np.ndarray) -> "MappedImages":
        """The top left part of each image; `sizes`: rows and columns, int64 (n, 2)."""
        shapes = self.shapes.copy()
        shapes[:, :2] = sizes
        return MappedImages(self.lie, shapes, self.array, self.owner)


def is_image(image: Any, *, files: bool) -> bool:
    """Whether `image` is an encoded file (`files`), or else a uint8 array H×W×C of any strides."""
    if files:
        return is_encoded(image)
    return isinstance(image, np.ndarray) and image.ndim == 3 and image.size > 0 and image.dtype == np.uint8


def is_mask(mask: Any, image: AnyImage) -> bool:
    """Whether `mask` is uint8 or bool, H×W or H×W×1, of the image's size; in memory or still in its file."""
    return (
        (isinstance(mask, np.ndarray) or is_encoded(mask))
        and mask.dtype in _MASKS
        and (len(mask.shape) == 2 or (len(mask.shape) == 3 and mask.shape[2] == 1))
        and mask.shape[:2] == image.shape[:2]
    )


def as_image(mask: np.ndarray | Decodable) -> np.ndarray | Decodable:
    """The mask as uint8 H×W×1; a mask still in its file has that shape already."""
    return mask.view(np.uint8).reshape(*mask.shape[:2], 1) if isinstance(mask, np.ndarray) else mask


def as_bytes(mask: np.ndarray) -> np.ndarray:
    """A mask H×W or H×W×1 of any dtype as bytes, uint8 H×W×B: moving pixels needs no more than their bytes.

    >>> as_bytes(np.array([[1, 258]], np.uint16)).tolist()
    [[[1, 0], [2, 1]]]
    """
    flat = np.ascontiguousarray(mask.reshape(mask.shape[:2]))
    return flat.view(np.uint8).reshape(*flat.shape, mask.itemsize)


def from_bytes(pixels: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The mask H×W of a dtype from its bytes, H×W×B; the inverse of `as_bytes`."""
    return np.ascontiguousarray(pixels).view(dtype)[..., 0]


def coded_window(image: AnyImage, window: Sequence[int]) -> Coded | None:
    """A window (top, left, bottom, right) of a file for the kernels to decode; None where `read_pixels` must."""
    top, left, bottom, right = window
    if isinstance(image, np.ndarray) or not (0 <= top < bottom and 0 <= left < right):
        return None
    return image.coded(top, left, bottom, right)


def read_pixels(image: AnyImage, window: Sequence[int], reduce: int) -> Pixels | None:
    """The pixels of a window (top, left, bottom, right); an array that kernels read in place comes back whole.

    Args:
        image: the array or encoded image.
        window: the window to read.
        reduce: the decoder's scale: `reduce` × `reduce` pixels of the file become one.

    Returns:
        The pixels, and the row and column of the image at which they begin; None for a file with an unknown window.

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
    """The scales `reduce` at which an image can be decoded, other than 1; empty for arrays."""
    return () if isinstance(image, np.ndarray) else image.scales()


def has_plain_rows(image: np.ndarray) -> bool:
    """Whether kernels can read a uint8 image H×W×C in place: rows downwards, pixels and channels contiguous.

    >>> image = np.zeros((4, 5, 3), np.uint8)
    >>> [has_plain_rows(view) for view in (image[1:, 2:], image[::-1], image[:, ::2], image[..., ::-1])]
    [True, False, False, False]
    """
    rows, columns, channels = image.shape
    to_row, to_pixel, to_channel = image.strides
    whole_pixels = (to_channel == 1 or channels == 1) and to_pixel == channels
    return whole_pixels and columns * channels <= to_row < _FARTHEST // rows


def is_ready(image: AnyImage) -> TypeGuard[np.ndarray]:
    """Whether the image is an array that kernels can read in place."""
    return isinstance(image, np.ndarray) and has_plain_rows(image)
