"""Conversion of decoded rasters to pixels and labels: depth, orientation, channels, and colour profiles (ICC)."""

import zlib
from functools import lru_cache
from io import BytesIO
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.images.format import ImageHeader, UnreadableError

_UINT8 = np.dtype(np.uint8)
# EXIF orientations by the operations that turn the upright image into the stored one: flips, then a transposition.
FLIPS_ROWS, FLIPS_COLUMNS, TRANSPOSES = (3, 4, 7, 8), (2, 3, 6, 7), (5, 6, 7, 8)
_FLIPPED = slice(None), slice(None, None, -1)
_FEW = 4  # channels that OpenCV's flip and transpose take, for any dtype
_CONVERSIONS = {
    (1, 3): cv2.COLOR_GRAY2RGB,
    (1, 4): cv2.COLOR_GRAY2RGBA,
    (3, 1): cv2.COLOR_RGB2GRAY,
    (3, 4): cv2.COLOR_RGB2RGBA,
    (4, 1): cv2.COLOR_RGBA2GRAY,
    (4, 3): cv2.COLOR_RGBA2RGB,
}


def owned(array: NDArray[Any]) -> NDArray[Any]:
    """The array, or a copy of it that is C-contiguous, writable and owns its memory."""
    flags = array.flags
    return array if flags.c_contiguous and flags.owndata and flags.writeable else np.array(array, order="C")


def as_pixels(
    raster: NDArray[Any], header: ImageHeader, channels: int | None, orientation: int, dtype: np.dtype[Any] = _UINT8
) -> NDArray[Any]:
    """Pixels H×W×C of a dtype, possibly a view of `raster`.

    Args:
        raster: H×W or H×W×C in RGB order. For uint8, 16-bit samples keep their high byte (``v >> 8``), as in OpenCV,
            libpng and Pillow: 65535 becomes 255, and 8-bit values stored as ``257 * v`` are restored exactly. For
            uint16 and float32, values stay unchanged.
        header: the file's header.
        channels: 1 (grey, by the weights of BT.601), 3 (alpha is dropped, not blended), 4 (255 where there is no
            alpha), or None for what is stored.
        orientation: EXIF orientation to undo; 1 leaves the raster as it is.
        dtype: uint8, uint16 or float32.
    """
    raster = _upper_bits(raster, header) if dtype == _UINT8 else _own_values(raster, header, dtype)
    raster = upright(raster[:, :, None] if raster.ndim == 2 else raster, orientation)
    return with_channels(raster, channels or raster.shape[2])


def _upper_bits(raster: NDArray[Any], header: ImageHeader) -> NDArray[np.uint8]:
    if raster.dtype == np.uint16:
        if header.most < 65535:
            scale = np.minimum(np.rint(np.arange(65536) * (65535 / header.most)), 65535).astype(np.uint16)
            raster = scale[raster]
        return ((~raster if header.white else raster) >> 8).astype(np.uint8)
    if raster.dtype != np.uint8:
        raise UnreadableError(f"samples of type {raster.dtype} have no known range")
    return raster


def _own_values(raster: NDArray[Any], header: ImageHeader, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The values of a raster as uint16 or float32. Raises UnreadableError if the dtype cannot hold them exactly."""
    if raster.dtype == np.uint8 and header.bits > 8:
        raise UnreadableError(f"{header.bits} bits a sample, of which Pillow gives 8: save it as PNG, or a plain TIFF")
    with np.errstate(over="ignore"):
        values = raster.astype(dtype, copy=False)
    exact = raster.dtype.itemsize <= 2 or raster.dtype == dtype
    if not (exact or np.array_equal(values, raster, equal_nan=raster.dtype.kind == "f")):
        raise UnreadableError(f"values of {raster.dtype} that {dtype} cannot hold: convert the image")
    return values


def with_channels(image: NDArray[Any], channels: int) -> NDArray[Any]:
    """Convert an image H×W×C, uint8 or float32, between 1, 3 and 4 channels; see `as_pixels`.

    >>> with_channels(np.full((1, 1, 3), 0.5, np.float32), 4).ravel().tolist()
    [0.5, 0.5, 0.5, 1.0]
    """
    code = _CONVERSIONS.get((image.shape[2], channels))
    if code is None:
        return image
    image = cv2.cvtColor(np.ascontiguousarray(image), code)
    return image[:, :, None] if image.ndim == 2 else image


def as_mask(raster: NDArray[Any], orientation: int, *, floats: bool = False) -> NDArray[Any]:
    """A raster as a mask H×W of uint8, uint16 or int32, with `floats` also float32 and float64.

    Three channels are accepted if they are equal everywhere; alpha is dropped. The mask is C-contiguous, writable, and
    owns its memory.
    """
    if raster.ndim == 3:
        first = raster[:, :, 0]
        if raster.shape[2] >= 3 and not ((first == raster[:, :, 1]).all() and (first == raster[:, :, 2]).all()):
            raise UnreadableError("a mask must be grey or have a palette; this image has colours")
        raster = first
    name = raster.dtype.name
    if name in ("int8", "int16") or (name == "uint32" and int(raster.max(initial=0)) < 2**31):
        raster = raster.astype(np.int32)
    elif name not in ("uint8", "uint16", "int32") and not (floats and name in ("float32", "float64")):
        raise UnreadableError(f"mask values of type {name}; give uint8, uint16 or int32")
    return owned(upright(raster, orientation))


def upright(array: NDArray[Any], how: int) -> NDArray[Any]:
    """`array`, H×W or H×W×C, turned upright for an EXIF orientation; shares no memory unless `how` is 1.

    >>> upright(np.array([[1, 2], [3, 4]], np.uint8), 6).tolist()
    [[3, 1], [4, 2]]
    """
    if how not in range(2, 9):
        return array
    flip = {2: 1, 3: -1, 4: 0, 6: 1, 7: -1, 8: 0}.get(how)
    if array.ndim == 3 and array.shape[2] > _FEW:
        out = array.swapaxes(0, 1) if how in TRANSPOSES else array
        return np.ascontiguousarray(out[_FLIPPED[flip in (0, -1)], _FLIPPED[flip in (1, -1)]])
    array = np.ascontiguousarray(array)
    out = cv2.transpose(array) if how in TRANSPOSES else array
    out = np.asarray(out if flip is None else cv2.flip(out, flip))
    return out[:, :, None] if array.ndim == 3 and out.ndim == 2 else out  # OpenCV drops a last axis of length one


PROFILE = "the colour profile {!r}, which is not applied: to convert values to sRGB, say `inputs: {{icc: srgb}}`"
_MOST = 1 << 24  # bytes of a profile
_COLOURS = 3


def foreign_profile(header: ImageHeader) -> str:
    """The name of a file's profile if it is not sRGB; else empty."""
    return _name(header.profile, header.format) if header.profile else ""


def to_srgb(image: NDArray[np.uint8], header: ImageHeader) -> NDArray[np.uint8]:
    """Convert an image H×W×C, with or without alpha, from the file's profile to sRGB. Raises UnreadableError."""
    from PIL import Image

    count = 1 if image.shape[2] < _COLOURS else _COLOURS
    values = Image.fromarray(np.ascontiguousarray(image[..., 0] if count == 1 else image[..., :count]))
    converted = np.asarray(_transform(header.profile, header.format, values.mode).apply(values))
    return np.dstack([converted[..., :count], image[..., count:]])


@lru_cache(64)
def _name(profile: bytes, file_format: str) -> str:
    from PIL import ImageCms

    try:
        name = str(ImageCms.getProfileDescription(_open_profile(profile, file_format)))
    except Exception as error:  # PyCMSError, and whatever its library raises
        name = f"of which Pillow says {error}"
    return "" if "srgb" in name.lower() else name.strip() or "without a name"


@lru_cache(64)
def _transform(profile: bytes, file_format: str, mode: str) -> Any:
    from PIL import ImageCms

    try:
        return ImageCms.buildTransform(_open_profile(profile, file_format), ImageCms.createProfile("sRGB"), mode, "RGB")
    except Exception as error:  # PyCMSError, and whatever its library raises
        raise UnreadableError(f"its colour profile cannot be applied to {mode}: {error}") from None


def _open_profile(profile: bytes, file_format: str) -> Any:
    """Open a profile with ImageCms; in a PNG it is deflated after its name."""
    from PIL import ImageCms

    if file_format == "png":
        profile = zlib.decompressobj().decompress(profile[profile.find(b"\0") + 2 :], _MOST)
    return ImageCms.ImageCmsProfile(BytesIO(profile))
