"""One picture or mask on its way into a store: its bytes, shape and checksum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.sources.store.checksum import crc32
from augrecipes.sources.store.format import DTYPES, Role, StoreFormat
from augrecipes.sources.store.formats import FORMATS

_SLAB = 1 << 22  # bytes of an array that is not contiguous, copied at a time


class Item(NamedTuple):
    """What a store keeps of one array. Pickles, so that worker processes can make items.

    Attributes:
        data: the samples (an array), or what a format encoded them to (bytes).
        shape: height, width, channels; 0 channels for a mask.
        sample: place of its dtype in `DTYPES`.
        size: bytes.
        checksum: CRC-32 of the bytes.
    """

    data: NDArray[Any] | bytes
    shape: tuple[int, int, int]
    sample: int
    size: int
    checksum: int


def make_item(array: NDArray[Any], *, format: str, role: Role, quality: int = 95) -> Item:
    """Encodes and checksums an array, as `StoreWriter.add` would: for worker processes.

    Args:
        array: uint8 H×W×C for a picture; uint8, uint16 or int32 H×W for a mask.
        format: name of a storage format.
        role: whether it is a picture or a mask.
        quality: 1 to 100, for formats that lose something.

    Raises:
        StoreError: a store, or this format, cannot keep such an array.

    >>> item = make_item(np.zeros((2, 3, 3), np.uint8), format="raw", role="image")
    >>> item.shape, item.size
    ((2, 3, 3), 18)
    """
    return item_of(array, FORMATS[format].of(role), role, quality)


def item_of(array: NDArray[Any], kept: StoreFormat, role: Role, quality: int) -> Item:
    """`make_item`, for a format that is looked up already."""
    shape, sample = _checked(array, role)
    data: NDArray[Any] | bytes
    if kept.encode is None:
        data = array.astype(DTYPES[sample], copy=False)
        size = data.nbytes
    else:
        data = kept.encode(array, quality)
        size = len(data)
    checksum = 0
    for piece in pieces(data):
        checksum = crc32(piece, checksum)
    return Item(data, shape, sample, size, checksum)


def encoded_item(data: bytes, array: NDArray[Any]) -> Item:
    """An item of the bytes of a JPEG that decodes to a picture, `array`."""
    shape, sample = _checked(array, "image")
    return Item(data, shape, sample, len(data), crc32(data))


def decodes_to(array: NDArray[Any], data: bytes) -> bool:
    """Whether a store gives these pixels for these bytes of a JPEG."""
    decode = FORMATS["jpeg"].decode
    try:
        return decode is not None and np.array_equal(decode(memoryview(data), array.shape[2]), array)
    except ValueError:
        return False


def pieces(data: NDArray[Any] | bytes) -> Iterator[memoryview]:
    """The bytes of an item in order: at once where they lie together, else copied a slab of rows at a time."""
    if isinstance(data, bytes):
        yield memoryview(data)
    elif data.flags.c_contiguous:
        yield data.reshape(-1).view(np.uint8).data
    else:
        rows = max(1, _SLAB * len(data) // data.nbytes)
        for top in range(0, len(data), rows):
            yield np.ascontiguousarray(data[top : top + rows]).reshape(-1).view(np.uint8).data


def _checked(array: NDArray[Any], role: Role) -> tuple[tuple[int, int, int], int]:
    dimensions, dtypes = (3, DTYPES[:1]) if role == "image" else (2, DTYPES)
    dtype = array.dtype.newbyteorder("<")
    if array.ndim != dimensions or dtype not in dtypes:
        allowed = "uint8 H×W×C" if role == "image" else "uint8, uint16 or int32 H×W"
        shape = "×".join(map(str, array.shape))
        raise StoreError(f"a store keeps a {role} as {allowed}, not as {array.dtype} {shape}")
    if not array.size or max(array.shape) >= 2**31:
        raise StoreError(f"a {role} of {'×'.join(map(str, array.shape))} has no pixels, or too many")
    height, width, channels = (*array.shape, 0)[:3]
    return (height, width, channels), DTYPES.index(dtype)
