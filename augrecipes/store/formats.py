"""The storage formats: how images and masks become bytes in a store's files, and how they are decoded.

raw: uncompressed samples; each item begins at a multiple of 64 bytes and is read by mapping the file.
lossless: compressed tiles, about as large as PNG files; a window decodes only the tiles that it touches.
jpeg: JPEG files; small, slower to read, and lossy; masks are raw. An image that is a JPEG already may keep its own
coefficients (`augrecipes.packing.bake.canonical_jpeg`), which loses nothing. Others keep chroma at full resolution
(4:4:4); a restart marker after each row of blocks lets a window's reader skip what lies above it, for a sixth of a
percent more bytes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import cv2
import numpy as np
import simplejpeg
from numpy.typing import NDArray

from augrecipes.errors import DataError, StoreError
from augrecipes.images import lossless
from augrecipes.images.lossless import DTYPES
from augrecipes.store.disk import crc32

Role = Literal["image", "mask"]
_IMAGES = DTYPES[0], DTYPES[1], DTYPES[3]

_SPACES = {1: "GRAY", 3: "RGB"}
_LONGEST = 65_500  # libjpeg's limit
_BLOCK = 8  # px
_JFIF = b"\xff\xe0"  # APP0, which follows the first marker of plain JFIF files
_SLAB = 1 << 22  # bytes of a non-contiguous array that are copied at a time


@dataclass(frozen=True, slots=True)
class StoreFormat:
    """How items are encoded and laid out in a file.

    Attributes:
        name: what users call it.
        suffix: the suffix of its files.
        alignment: items begin at multiples of this many bytes, and of their dtype's size; zeros fill the gaps.
        encode: array and quality (1 to 100) to bytes; None for uncompressed samples, in C order, little-endian.
        decode: bytes and number of channels to an array; None for uncompressed samples.
        masks: the format that masks are kept in, where this one cannot keep them.
        lossless: whether decoding restores the array exactly, for every dtype.
        undecoded: bytes and a name to an image that is decoded part by part (`Decodable`); None where
            `augrecipes.images.encoded` reads the format.
    """

    name: str
    suffix: str
    alignment: int = 1
    encode: Callable[[NDArray[Any], int], bytes] | None = None
    decode: Callable[[memoryview, int], NDArray[Any]] | None = None
    masks: "StoreFormat | None" = None
    lossless: bool = False
    undecoded: Callable[[memoryview, str], Any] | None = None

    def for_role(self, role: Role) -> "StoreFormat":
        """Return the format that targets of `role` are kept in."""
        return self.masks if role == "mask" and self.masks else self


@contextmanager
def _format_errors() -> Iterator[None]:
    """Turn a decoding error into a ValueError, and a missing package into a StoreError."""
    try:
        yield
    except ImportError as error:
        raise StoreError(f"{error}: pip install 'augrecipes[lossless]'") from None
    except DataError as error:
        raise ValueError(error.reason) from None


def _jpeg(array: NDArray[Any], quality: int) -> bytes:
    height, width, channels = array.shape
    if array.dtype != np.uint8:
        raise StoreError(f"JPEG keeps images of 8 bits, not of {array.dtype}; pack as raw or lossless")
    if channels not in _SPACES:
        raise StoreError(f"JPEG keeps 1 or 3 channels, not {channels}; pack as raw or lossless")
    if max(height, width) > _LONGEST:
        limit = f"up to {_LONGEST:,} rows and columns, not {height:,}×{width:,}"
        raise StoreError(f"JPEG keeps {limit}; pack as raw or lossless")
    options = [
        *(cv2.IMWRITE_JPEG_QUALITY, quality),
        *(cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444),
        *(cv2.IMWRITE_JPEG_RST_INTERVAL, -(-width // _BLOCK)),
    ]
    pixels = array if channels == 1 else cv2.cvtColor(np.ascontiguousarray(array), cv2.COLOR_RGB2BGR)
    return cv2.imencode(".jpg", pixels, options)[1].tobytes()


def _of_jpeg(data: memoryview, channels: int) -> NDArray[np.uint8]:
    if data[2:4] == _JFIF and channels in _SPACES:
        with suppress(ValueError):
            return np.asarray(simplejpeg.decode_jpeg(data, _SPACES[channels]))
    # A copied file may carry an EXIF orientation, be CMYK, or in a layout that simplejpeg does not know.
    from augrecipes.images.encoded import encoded

    with _format_errors():
        return encoded(bytes(data), name="it", channels=channels).array()


def _tiles(array: NDArray[Any], _: int) -> bytes:
    with _format_errors():
        return lossless.encode(array)


def _of_tiles(data: memoryview, _: int) -> NDArray[Any]:
    with _format_errors():
        return lossless.LosslessImage(data, checked=True).array()


_RAW = StoreFormat("raw", ".bin", alignment=64)
FORMATS: dict[str, StoreFormat] = {
    "jpeg": StoreFormat("jpeg", ".jpgs", encode=_jpeg, decode=_of_jpeg, masks=_RAW),
    "lossless": StoreFormat(
        "lossless", ".tiles", encode=_tiles, decode=_of_tiles, lossless=True, undecoded=lossless.LosslessImage
    ),
    "raw": _RAW,
}


class Item(NamedTuple):
    """One array as a store keeps it. Pickles, so that worker processes can make items.

    Attributes:
        data: the samples (an array), or the encoded bytes.
        shape: height, width, channels; 0 channels for a mask.
        sample: index of its dtype in `DTYPES`.
        size: in bytes.
        checksum: CRC-32 of the bytes.
    """

    data: NDArray[Any] | bytes
    shape: tuple[int, int, int]
    sample: int
    size: int
    checksum: int


def make_item(array: NDArray[Any], *, format: str, role: Role, quality: int = 95) -> Item:
    """Encode an array and compute its checksum, as `StoreWriter.add` would: for worker processes.

    Args:
        array: uint8, uint16 or float32 H×W×C for an image; uint8, uint16, int32 or float32 H×W for a mask.
        format: name of a storage format.
        role: whether it is an image or a mask.
        quality: 1 to 100, for lossy formats.

    Raises:
        StoreError: a store, or this format, cannot keep such an array.

    >>> item = make_item(np.zeros((2, 3, 3), np.uint8), format="raw", role="image")
    >>> item.shape, item.size
    ((2, 3, 3), 18)
    """
    return encode_item(array, FORMATS[format].for_role(role), role, quality)


def encode_item(array: NDArray[Any], store_format: StoreFormat, role: Role, quality: int) -> Item:
    """Make an item in a `StoreFormat`: see `make_item`."""
    shape, sample = _check_array(array, role)
    encode = store_format.encode
    data = array.astype(DTYPES[sample], copy=False) if encode is None else encode(array, quality)
    size = checksum = 0
    for piece in pieces(data):
        size, checksum = size + len(piece), crc32(piece, checksum)
    return Item(data, shape, sample, size, checksum)


def encoded_item(data: bytes, array: NDArray[Any]) -> Item:
    """Make an item of a JPEG's bytes, which decode to the image `array`."""
    shape, sample = _check_array(array, "image")
    return Item(data, shape, sample, len(data), crc32(data))


def decodes_to(array: NDArray[Any], data: bytes) -> bool:
    """Whether the bytes of a JPEG decode to these pixels in a store."""
    try:
        return np.array_equal(_of_jpeg(memoryview(data), array.shape[2]), array)
    except ValueError:
        return False


def pieces(data: NDArray[Any] | bytes) -> Iterator[memoryview]:
    """Yield the bytes of an item: at once where they are contiguous, else copied a slab of rows at a time."""
    if isinstance(data, bytes):
        yield memoryview(data)
    elif data.flags.c_contiguous:
        yield data.reshape(-1).view(np.uint8).data
    else:
        rows = max(1, _SLAB * len(data) // data.nbytes)
        for top in range(0, len(data), rows):
            yield np.ascontiguousarray(data[top : top + rows]).reshape(-1).view(np.uint8).data


def _check_array(array: NDArray[Any], role: Role) -> tuple[tuple[int, int, int], int]:
    """Return the shape of an array and the index of its dtype. StoreError where a store keeps no such array."""
    dimensions, dtypes = (3, _IMAGES) if role == "image" else (2, DTYPES)
    dtype, shape_text = array.dtype.newbyteorder("<"), "×".join(map(str, array.shape))
    if array.ndim != dimensions or dtype not in dtypes:
        allowed = f"{', '.join(map(str, dtypes[:-1]))} or {dtypes[-1]} H×W{'×C' * (role == 'image')}"
        raise StoreError(f"a store keeps a {role} as {allowed}, not as {array.dtype} {shape_text}")
    if not array.size or max(array.shape) >= 2**31:
        raise StoreError(f"a {role} of {shape_text} has no pixels, or too many")
    height, width, channels = (*array.shape, 0)[:3]
    return (height, width, channels), DTYPES.index(dtype)
