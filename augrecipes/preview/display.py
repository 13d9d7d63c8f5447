"""From what a pipeline returns back to what an eye can see: uint8 H×W×3 RGB."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.recipe.model import Output

Picture = NDArray[np.uint8]  # H×W×3 RGB


def size_text(image: NDArray[Any]) -> str:
    """Width and height of an image H×W[×C], px.

    >>> size_text(np.zeros((2, 3)))
    '3×2'
    """
    return f"{image.shape[1]}×{image.shape[0]}"


def picture_of_input(image: NDArray[Any]) -> Picture:
    """An image on its way through the steps (uint8 0..255 or float32 0..1, H×W[×C]) as a picture.

    >>> picture_of_input(np.ones((2, 3), np.float32))[0, 0].tolist()
    [255, 255, 255]
    """
    values = image if image.dtype == np.uint8 else image.astype(np.float32) * 255
    return _three_channels(values if values.ndim == 3 else values[..., None], "rgb")


def picture_of_output(image: NDArray[Any], output: Output) -> Picture:
    """The last step's image as a picture: layout, normalisation, range and colour order undone.

    Args:
        image: as the pipeline returned it.
        output: what the recipe asked for.

    >>> image = np.zeros((3, 4, 6), np.float32)
    >>> picture_of_output(image, Output(range=(-1.0, 1.0)))[0, 0].tolist()
    [128, 128, 128]
    """
    if image.dtype == np.uint8:
        values = image if output.layout == "hwc" else np.moveaxis(image, 0, -1)
        return _three_channels(values, "rgb" if output.where == "device" else output.color)
    axis = -1 if output.layout == "hwc" else 0
    values = np.array(image, np.float32)  # as it lies in memory: the channels go last when it is a quarter as large
    if output.normalize is not None:
        for moved, by in ((np.multiply, output.normalize.std), (np.add, output.normalize.mean)):
            moved(values, np.array(by, np.float32).reshape((-1, 1, 1) if axis == 0 else -1), out=values)
    else:
        low, high = output.range
        values -= np.float32(low)
        values /= np.float32(high - low)
    values *= 255
    if output.color == "y":
        values = _full_range(values)
    levels = _levels(values)
    return _three_channels(levels if axis else np.moveaxis(levels, 0, -1), "bgr" if output.color == "bgr" else "rgb")


def _full_range(values: NDArray[Any]) -> NDArray[Any]:
    """Luma, which lies in 16..235, as 0..255."""
    return (values.astype(np.float32) - 16) * np.float32(255 / 219)


def _levels(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Floats of 0..255 as levels; what lies outside is cut, and what is no number is 0. Overwrites them."""
    values = np.clip(values, 0, 255, out=values)
    if values.size and np.isnan(values.min()):
        values = np.nan_to_num(values)
    return np.rint(values, out=values).astype(np.uint8)


def _three_channels(values: NDArray[Any], color: str) -> Picture:
    """H×W×C values of 0..255 as RGB: grey is repeated, of many channels the first three are shown."""
    if color == "y":
        values = _full_range(values)
    if values.dtype != np.uint8:
        values = _levels(np.array(values, np.float32))
    channels = values.shape[2]
    if channels < 3:  # one is grey; of two, the first is shown
        values = np.repeat(values[..., :1], 3, axis=2)
    values = values[..., :3]
    return np.ascontiguousarray(values[..., ::-1] if color == "bgr" else values)


def fit_into(picture: Picture, height: int, width: int) -> tuple[Picture, float]:
    """The picture at the largest size that fits, proportions kept, and the factor that it was scaled by.

    >>> fitted, scale = fit_into(np.zeros((10, 40, 3), np.uint8), 20, 20)
    >>> fitted.shape, scale
    ((5, 20, 3), 0.5)
    """
    scale = min(height / picture.shape[0], width / picture.shape[1])
    size = max(round(picture.shape[1] * scale), 1), max(round(picture.shape[0] * scale), 1)
    # A handful of pixels is shown as pixels.
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_NEAREST if scale >= 4 else cv2.INTER_CUBIC
    return np.ascontiguousarray(cv2.resize(picture, size, interpolation=how)), scale
