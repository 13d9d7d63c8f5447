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
    values = image if output.layout == "hwc" else np.moveaxis(image, 0, -1)
    if values.dtype == np.uint8:
        return _three_channels(values, "rgb" if output.where == "device" else output.color)
    values = values.astype(np.float32)
    if output.normalize is not None:
        mean, std = (np.array(v, np.float32) for v in (output.normalize.mean, output.normalize.std))
        values = values * std + mean
    else:
        low, high = output.range
        values = (values - low) / (high - low)
    return _three_channels(values * 255, output.color)


def _three_channels(values: NDArray[Any], color: str) -> Picture:
    """H×W×C values of 0..255 as RGB: grey is repeated, of many channels the first three are shown."""
    if color == "y":  # luma lies in 16..235
        values = (values.astype(np.float32) - 16) * np.float32(255 / 219)
    if values.dtype != np.uint8:
        values = np.rint(np.clip(np.nan_to_num(values), 0, 255)).astype(np.uint8)
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
