"""Check a sample's images and masks on the way in, and convert masks on the way out."""

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
DTYPES = (_UINT8, _UINT16, _FLOAT32)  # dtypes of images
# Dtypes of masks as steps take them.
MASKS = (_UINT8, np.dtype(np.uint16), np.dtype(np.int16), _FLOAT32, np.dtype(np.float64))
_EXACT_FLOAT32 = 1 << 24  # integers up to here are exact in float32
# Resampling overshoots: OpenCV's sharpest kernel, Lanczos, turns 0..1 into −0.97..1.97 at worst.
_LEAST, _MOST = -1.0, 2.0
_ROWS = 16  # least number of rows to check


def check_image(image: Any, inputs: Inputs, name: str = "image") -> np.ndarray:
    """Return the image as steps take it, H×W×C, grey as H×W×1; DataError where it contradicts `inputs`."""
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
        image = np.ascontiguousarray(image)  # numpy sums floats in memory order, so that strides would change last bits
    return check_size(image, inputs, name)


def in_native_order(array: np.ndarray) -> np.ndarray:
    """The array in this machine's byte order.

    >>> in_native_order(np.array([1, 2], ">u2")).dtype
    dtype('uint16')
    """
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def check_range(image: np.ndarray, name: str) -> None:
    """Raise DataError where a float32 image H×W×C is plainly not in 0..1; at least sixteen rows are checked.

    >>> check_range(np.full((40, 40, 3), 200, np.float32), "image")
    Traceback (most recent call last):
    augrecipes.errors.DataError: image is float32 and holds values of 200 to 200; float32 means 0..1: divide by 255, ...
    """
    step = max(1, len(image) // _ROWS)
    rows = image[step // 2 :: step]
    low, high, _, _ = cv2.minMaxLoc(rows.reshape(len(rows), -1))
    if low < _LEAST or high > _MOST:
        cure = "leave normalisation to the recipe's output"
        if low >= 0:
            cure = "divide by 255, or pass it as uint8; of another scale say `inputs: {depth: float32, range: [...]}`"
        raise DataError(f"{name} is float32 and holds values of {low:.4g} to {high:.4g}; float32 means 0..1: {cure}")


def arrival_of(image: Any, inputs: Inputs | None = None) -> Arrival:
    """How an image arrives; deep images arrive as floats do, because no program takes them."""
    if inputs is not None and inputs.is_deep:
        return "float32"
    if isinstance(image, np.ndarray):
        return "float32" if image.dtype == _FLOAT32 else "uint8"
    return "encoded" if is_encoded(image) else "uint8"


def image_in(image: Any, inputs: Inputs, name: str = "image", *, lazily: bool = False) -> Any:
    """Check an array by `check_image`; decode an encoded image first, or, `lazily`, check its size alone."""
    if isinstance(image, np.ndarray) or not is_encoded(image):
        return check_image(image, inputs, name)
    return whole_window(check_size(image, inputs, name)) if lazily else check_image(image.array(), inputs, name)


def check_size(image: Any, inputs: Inputs, name: str = "image") -> Any:
    """Return the image, which may be encoded; DataError where its shape or dtype contradicts `inputs`."""
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
    """A mask in one of `MASKS`, dtypes that OpenCV can warp, that holds its labels and its fills.

    `axes`: number of axes in front of rows and columns, for stacks of masks.
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
    mask: np.ndarray, dtype: np.dtype[Any], output: Output, caller_arrays: Sequence[Any] | None, axes: int = 0
) -> np.ndarray:
    """The output mask H×W: labels as int64, floats in their own dtype. It shares no memory with arrays of the caller.

    Where the image leaves as uint8, to keep the data small, labels keep their input dtype.

    Args:
        mask: the mask behind the last step.
        dtype: dtype of the input mask.
        output: the recipe's output.
        caller_arrays: as for a sink.
        axes: number of axes in front of rows and columns, for stacks of masks.
    """
    if mask.ndim == axes + 3 and mask.shape[-1] == 1:
        mask = mask[..., 0]
    keeps = dtype.kind == "f" or (output.dtype == "uint8" and output.where == "host")
    leaves: Any = dtype if keeps else np.int64
    if mask.dtype == leaves and caller_arrays is not None and is_free(mask, caller_arrays):
        return mask
    return (np.rint(mask) if mask.dtype.kind == "f" and dtype.kind != "f" else mask).astype(leaves, order="C")


def check_presence(name: str, presence: str, *, is_present: bool) -> None:
    """Raise DataError where a required target is missing or an absent one is present."""
    if presence == "required" and not is_present:
        raise DataError(f"the recipe's inputs require {name!r}, and the sample has none")
    if presence == "absent" and is_present:
        raise DataError(f"the recipe's inputs say {name!r} is absent, and the sample has one")
