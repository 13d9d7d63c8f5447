"""From what a pipeline returns back to what an eye can see: uint8 H×W×3 RGB, at a size that it shows at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.preview.text import Colour
from augrecipes.recipe.model import Output

Picture = NDArray[np.uint8]  # H×W×3 RGB

PAGE: Colour = (250, 250, 248)
EMPTY: Colour = (236, 236, 232)
INK: Colour = (34, 36, 40)
QUIET: Colour = (118, 120, 126)

EMPTIER = 1.35
_MOST_TIMES = 64
_SEEN = 0.998  # the share of pixels that the amplified difference leaves below its darkest


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
    size = max(round(picture.shape[0] * scale), 1), max(round(picture.shape[1] * scale), 1)
    return at_size(picture, size), scale


def at_size(picture: Picture, size: tuple[int, int]) -> Picture:
    """The picture at a height and width: pixels that grow to squares stay sharp, what shrinks is averaged."""
    whole = size[0] % picture.shape[0] == 0 and size[1] % picture.shape[1] == 0
    large = size[0] >= 3 * picture.shape[0]
    grows = cv2.INTER_NEAREST if whole or large else cv2.INTER_CUBIC
    how = grows if size[0] >= picture.shape[0] else cv2.INTER_AREA
    return np.ascontiguousarray(cv2.resize(picture, size[::-1], interpolation=how), np.uint8)


def size_in(sizes: Sequence[tuple[int, int]], box: tuple[int, int], emptier: float = EMPTIER) -> tuple[int, int]:
    """The size at which a box shows pictures of one scene: whole pixels of the largest, or else of the smallest.

    Args:
        sizes: heights and widths of the pictures, px.
        box: height and width, px.
        emptier: how much smaller than the box pictures may be for the sake of whole pixels.

    >>> size_in([(64, 64), (16, 16)], (200, 200)), size_in([(256, 256), (64, 64)], (200, 200))
    ((192, 192), (192, 192))
    >>> size_in([(128, 128), (32, 32)], (200, 200)), size_in([(500, 250)], (100, 100))
    ((192, 192), (100, 50))
    """
    largest, smallest = max(sizes), min(sizes)
    fit = min(box[0] / largest[0], box[1] / largest[1])
    clean = largest[0] % smallest[0] == 0 and largest[1] % smallest[1] == 0
    for height, width in (largest, smallest if clean else largest):
        times = min(box[0] // height, box[1] // width)
        # Each pixel is shown alike, unless the box would stay much emptier for it.
        if times * height * emptier >= fit * largest[0]:
            return times * height, times * width
    return max(round(largest[0] * fit), 1), max(round(largest[1] * fit), 1)


def amplification(apart: NDArray[np.float32]) -> int:
    """A power of two, 1 to 64, that makes a difference visible, and hides as little of it as may be.

    Args:
        apart: absolute differences, levels of 0..255, H×W.

    >>> amplification(np.full((4, 4), 5, np.float32)), amplification(np.full((4, 4), 200, np.float32))
    (32, 1)
    """
    top = float(np.quantile(apart, _SEEN))
    times = 1
    while times < _MOST_TIMES and 2 * times * max(top, 1.0) <= 255:
        times *= 2
    return times


def amplified(apart: NDArray[np.float32]) -> tuple[Picture, int]:
    """A difference as a picture, and by how much it is amplified there.

    >>> amplified(np.full((4, 4), 5, np.float32))[1]
    32
    """
    times = amplification(apart)
    return ink(apart * np.float32(times / 255)), times


def ink(strength: NDArray[np.float32]) -> Picture:
    """Strengths of 0..1, H×W, as a picture: 0 is the empty page, 1 is ink.

    >>> ink(np.zeros((1, 2), np.float32)).shape
    (1, 2, 3)
    """
    page, dark = np.array(EMPTY, np.float32), np.array(INK, np.float32)
    part = np.clip(strength, 0, 1)[..., None]
    return np.rint(page + (dark - page) * part).astype(np.uint8)
