"""Images as the kernels read them: arrays as they lie, files as far as a window of them goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from augrecipes.compiler.executor.work_sharing import mapped, of_this_thread
from augrecipes.compiler.kernels.encoded_images import Decodable, EncodedWindow, is_encoded, whole_window
from augrecipes.errors import DataError
from augrecipes.native.libjpeg import Coded

_FARTHEST = (1 << 30) - 1  # bytes from the first row to behind the last
_AT_ONCE = 1 << 20  # bytes of decoded pixels
_MASKS = (np.dtype(np.uint8), np.dtype(bool))
AnyImage = np.ndarray | Decodable | EncodedWindow
# Pixels as they lie, and the row and the column of the image that they begin at.
Pixels = tuple[np.ndarray, int, int]


@dataclass(slots=True)  # one for each batch; frozen ones take three times as long to make
class InMemory:
    """uint8 images in memory whose pixels lie side by side: those of a mapped file, for instance.

    Attributes:
        lie: int64 (n, 4), of each its address, bytes from row to row, and the row and column that lie there: 0 and 0.
        shapes: int64 (n, 3), height, width and channels.
        array: gives one of them by its place, whole.
        held: what the addresses are good for as long as.
    """

    lie: np.ndarray
    shapes: np.ndarray
    array: Callable[[int], np.ndarray]
    held: Any = None

    @classmethod
    def of(cls, arrays: Sequence[np.ndarray]) -> InMemory:
        """Arrays, uint8 H×W×C, and windows of such."""
        lie = [(array.__array_interface__["data"][0], array.strides[0], 0, 0) for array in arrays]
        shapes = [array.shape for array in arrays]
        return cls(np.array(lie, np.int64), np.array(shapes, np.int64), arrays.__getitem__)

    def __len__(self) -> int:
        return len(self.lie)

    def first(self, sizes: np.ndarray) -> InMemory:
        """As many rows and columns of each, int64 (n, 2), from its first pixel on."""
        shapes = self.shapes.copy()
        shapes[:, :2] = sizes
        return InMemory(self.lie, shapes, self.array, self.held)


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


def of_bytes(pixels: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The mask, H×W, that such bytes are."""
    return np.ascontiguousarray(pixels).view(dtype)[..., 0]


def coded_of(image: AnyImage, window: Sequence[int]) -> Coded | None:
    """A window (top, left, bottom, right) of a file for kernels that decode it; None where `pixels_of` is to do it."""
    top, left, bottom, right = window
    if isinstance(image, np.ndarray) or not (0 <= top < bottom and 0 <= left < right):
        return None
    if not isinstance(image, EncodedWindow):
        return image.coded(top, left, bottom, right)
    y0, x0 = image.y0, image.x0
    return image.source.coded(y0 + top, x0 + left, y0 + bottom, x0 + right)


def pixels_of(image: AnyImage, window: Sequence[int]) -> Pixels | None:
    """The pixels of a window (top, left, bottom, right) at least; of a file, or where they have to be copied, no more.

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
    whole = image if isinstance(image, EncodedWindow) else whole_window(image)
    pixels = whole[top:bottom, left:right].array()
    return pixels if lies_well(pixels) else pixels.copy(), top, left


def reduced_pixels(image: AnyImage, window: Sequence[int], reduce: int) -> Pixels | None:
    """The pixels of a window of a file, `reduce` × `reduce` as one; None where its decoder has no such scale.

    Raises:
        DataError: the file is damaged there.
    """
    if isinstance(image, np.ndarray | EncodedWindow) or reduce not in image.scales():
        return None
    top, left, bottom, right = window
    pixels = image.view(top, left, bottom, right, reduce)
    return pixels if lies_well(pixels) else pixels.copy(), top, left


def decoded(
    places: Sequence[int], windows: Sequence[Sequence[int]], images: Sequence[AnyImage]
) -> Iterator[tuple[list[int], list[tuple[int, int, int, int]], list[np.ndarray]]]:
    """Places of images that can be read, where the pixels of each lie (address, step, top, left), and these.

    Of files, and of what has to be copied, not many at once, so that this is still in the cache.
    """
    part = [k for k in places if is_ready(images[k])]
    held: list[np.ndarray] = [images[k] for k in part]  # type: ignore[misc]
    lie = [_lies(array, 0, 0) for array in held]
    if part:
        yield part, lie, held
    files = [k for k in places if not is_ready(images[k])]
    threads = of_this_thread()
    most, size = 1 if threads is None else 2 * threads.count, 0
    part, lie, held = [], [], []
    for at in range(0, len(files), most):
        some = files[at : at + most]
        for k, found in zip(some, mapped(lambda k: _readable(images[k], windows[k]), some), strict=True):
            if found is not None:
                pixels, top, left = found
                part.append(k)
                lie.append(_lies(pixels, top, left))
                held.append(pixels)
                size += pixels.nbytes
        if size > _AT_ONCE:
            yield part, lie, held
            part, lie, held, size = [], [], [], 0
    if part:
        yield part, lie, held


def lies_well(image: np.ndarray) -> bool:
    """Whether kernels read a uint8 image H×W×C where it lies: row below row, with its pixels side by side.

    >>> image = np.zeros((4, 5, 3), np.uint8)
    >>> lies_well(image[1:, 2:]), lies_well(image[::-1]), lies_well(image[:, ::2]), lies_well(image[..., ::-1])
    (True, False, False, False)
    """
    rows, columns, channels = image.shape
    down, across, beside = image.strides
    whole_pixels = (beside == 1 or channels == 1) and across == channels
    return whole_pixels and columns * channels <= down < _FARTHEST // rows


def is_ready(image: AnyImage) -> TypeGuard[np.ndarray]:
    """Whether kernels read it where it lies."""
    return isinstance(image, np.ndarray) and lies_well(image)


def _readable(image: AnyImage, window: Sequence[int]) -> Pixels | None:
    try:
        return pixels_of(image, window)
    except DataError:
        return None


def _lies(pixels: np.ndarray, top: int, left: int) -> tuple[int, int, int, int]:
    return pixels.__array_interface__["data"][0], pixels.strides[0], top, left
