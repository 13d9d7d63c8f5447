"""Targets: what a sample's arrays must look like on the way in, and what they look like on the way out."""

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.encoded_images import is_encoded, whole_window
from augrecipes.compiler.kernels.sink import is_free
from augrecipes.errors import DataError
from augrecipes.flow import Arrival
from augrecipes.ops.fills import holds, mask_dtype
from augrecipes.recipe.model import Inputs, Output

_UINT8, _UINT16, _FLOAT32 = np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.float32)
DTYPES = (_UINT8, _UINT16, _FLOAT32)  # the dtypes of images
# Those of masks, as they come to steps.
MASKS = (_UINT8, np.dtype(np.uint16), np.dtype(np.int16), _FLOAT32, np.dtype(np.float64))
_EXACT_FLOAT32 = 1 << 24  # integers up to here are exact in float32
# Resampling overshoots: of images in 0..1 the sharpest kernel that there is, Lanczos', makes −0.97..1.97 at worst.
_LEAST, _MOST = -1.0, 2.0
_ROWS = 16  # at least as many are looked at


def check_image(image: Any, inputs: Inputs, name: str = "image") -> np.ndarray:
    """The image H×W×C as steps take it, grey as H×W×1; DataError where it is none, or not what `inputs` says."""
    if not isinstance(image, np.ndarray):
        raise DataError(f"{name} must be a numpy array, got {type(image).__name__}")
    if image.ndim == 2:
        image = image[..., None]
    if image.ndim != 3 or not image.size:
        raise DataError(f"{name} must be H×W or H×W×C with at least one pixel, got shape {image.shape}")
    image = in_native_order(image)
    if image.dtype not in DTYPES:
        what = inputs.dtype if inputs.deep_dtype else "uint8 (0..255) or float32 (0..1)"
        raise DataError(f"{name} must be {what}, got {image.dtype}")
    if image.dtype == _UINT16 and inputs.dtype is None:
        cure = "say `inputs: {depth: 16}` in the recipe, or give it 8 bits: (image >> 8).astype(np.uint8)"
        raise DataError(f"{name} is uint16, and the recipe takes 8 bits: {cure}")
    if image.dtype == _FLOAT32 and inputs.dtype in (None, "float32"):
        if inputs.range is None and inputs.nodata is None:
            check_range(image, name)
        if inputs.nodata is None and np.isnan(np.dot(flat := image.ravel(), flat)):
            raise DataError(
                f"{name} holds pixels that are no numbers (NaN): put a number in their place (np.nan_to_num)"
            )
        image = np.ascontiguousarray(image)  # numpy adds up in the order in which numbers lie, and floats round
    return check_size(image, inputs, name)


def in_native_order(array: np.ndarray) -> np.ndarray:
    """The array, its numbers in this machine's order of bytes.

    >>> in_native_order(np.array([1, 2], ">u2")).dtype
    dtype('uint16')
    """
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def check_range(image: np.ndarray, name: str) -> None:
    """DataError where a float32 image H×W×C is plainly not one of 0..1; sixteen of its rows or more are looked at.

    >>> check_range(np.full((40, 40, 3), 200, np.float32), "image")
    Traceback (most recent call last):
    augrecipes.errors.DataError: image is float32 and holds values of 200 to 200; float32 means 0..1: divide by 255, ...
    """
    step = max(1, len(image) // _ROWS)
    seen = image[step // 2 :: step]
    low, high, _, _ = cv2.minMaxLoc(seen.reshape(len(seen), -1))
    if low < _LEAST or high > _MOST:
        cure = "normalising is for the recipe's output"
        if low >= 0:
            cure = "divide by 255, or pass it as uint8; of another scale say `inputs: {depth: float32, range: [...]}`"
        raise DataError(f"{name} is float32 and holds values of {low:.4g} to {high:.4g}; float32 means 0..1: {cure}")


def arrival_of(image: Any, inputs: Inputs | None = None) -> Arrival:
    """How an image comes to a pipeline: as deep ones, which no program takes, come floats; None: they are not deep."""
    if inputs is not None and inputs.is_deep:
        return "float32"
    if isinstance(image, np.ndarray):
        return "float32" if image.dtype == _FLOAT32 else "uint8"
    return "encoded" if is_encoded(image) else "uint8"


def image_in(image: Any, inputs: Inputs, name: str = "image", *, lazily: bool = False) -> Any:
    """What `check_image` says of an array; an image that is not decoded yet is decoded, unless `lazily`."""
    if isinstance(image, np.ndarray) or not is_encoded(image):
        return check_image(image, inputs, name)
    return whole_window(check_size(image, inputs, name)) if lazily else check_image(image.array(), inputs, name)


def check_size(image: Any, inputs: Inputs, name: str = "image") -> Any:
    """The image, which may not be decoded yet; DataError where its shape is not what `inputs` says."""
    height, width, channels = image.shape
    if inputs.channels is not None and channels != inputs.channels:
        raise DataError(f"{name} has {channels} channels, the recipe's inputs say {inputs.channels}")
    if inputs.dtype and (dtype := str(getattr(image, "dtype", "uint8"))) != inputs.dtype:
        cure = "read the file with all its bits, or declare the depth that it has"
        if "uint16" not in (dtype, inputs.dtype):
            cure = "divide it by 255" if dtype == "uint8" else "multiply it by 255 and round it"
            cure += ", or leave the depth out"
        raise DataError(f"{name} is {dtype}, the recipe's inputs say {inputs.dtype}: {cure}")
    if inputs.min_size and (height < inputs.min_size[0] or width < inputs.min_size[1]):
        least = "×".join(map(str, inputs.min_size))
        raise DataError(f"{name} is {height}×{width} px, the recipe's inputs ask for at least {least}")
    return image


def mask_in(mask: Any, image: Any, name: str = "mask", axes: int = 0, fills: tuple[float, ...] = ()) -> np.ndarray:
    """A mask in a dtype that OpenCV can warp and that holds its labels, and what fills it: one of `MASKS`.

    With `axes` in front of rows and columns it is a stack of masks.
    """
    if is_encoded(mask):
        mask = mask.array()
    if not isinstance(mask, np.ndarray):
        raise DataError(f"{name} must be a numpy array, got {type(mask).__name__}")
    mask = in_native_order(mask)
    if mask.ndim == axes + 3 and mask.shape[-1] == 1:
        mask = mask[..., 0]
    if mask.ndim not in (axes + 2, axes + 3) or mask.shape[axes : axes + 2] != image.shape[:2] or not mask.size:
        raise DataError(f"{name} of shape {mask.shape} does not lie on the image of shape {image.shape}")
    if mask.dtype == bool:
        mask = mask.view(np.uint8)
    if mask.dtype in MASKS and mask_dtype(mask.dtype, fills) == mask.dtype:
        return mask
    if mask.dtype.kind not in "iu":
        raise DataError(
            f"{name} must hold integers, booleans or floats of 32 or 64 bits, got {mask.dtype}: mask.astype(np.float32)"
        )
    low, high = min(int(mask.min()), *fills, 0), max(int(mask.max()), *fills, 0)
    for dtype in (np.int16, np.uint16):
        if all(holds(np.dtype(dtype), number) for number in (low, high, *fills)):
            return mask.astype(dtype)
    if max(-low, high) > _EXACT_FLOAT32:
        raise DataError(
            f"the labels of {name} reach {max(-low, high)}; the largest that stays exact is {_EXACT_FLOAT32}: number "
            "them from 0 by np.unique(mask, return_inverse=True), classes of all files by np.searchsorted(labels, mask)"
        )
    return mask.astype(np.float32)


def mask_out(
    mask: np.ndarray, dtype: np.dtype[Any], output: Output, held: Sequence[Any] | None, axes: int = 0
) -> np.ndarray:
    """The mask H×W as it leaves: int64 of labels, floats as they came. Shares no memory with what anybody holds.

    Where the image leaves as uint8, so that less travels, labels keep the dtype that they came with.

    Args:
        mask: as the steps have left it.
        dtype: that the mask came with.
        output: of the recipe.
        held: as for a sink.
        axes: in front of rows and columns, of a stack of masks.
    """
    if mask.ndim == axes + 3 and mask.shape[-1] == 1:
        mask = mask[..., 0]
    keeps = dtype.kind == "f" or (output.dtype == "uint8" and output.where == "host")
    leaves: Any = dtype if keeps else np.int64
    if mask.dtype == leaves and held is not None and is_free(mask, held):
        return mask
    return (np.rint(mask) if mask.dtype.kind == "f" and dtype.kind != "f" else mask).astype(leaves, order="C")


def check_presence(name: str, presence: str, *, given: bool) -> None:
    """DataError where a target is missing or is one too many."""
    if presence == "required" and not given:
        raise DataError(f"the recipe's inputs require {name!r}, and the sample has none")
    if presence == "absent" and given:
        raise DataError(f"the recipe's inputs say {name!r} is absent, and the sample has one")
