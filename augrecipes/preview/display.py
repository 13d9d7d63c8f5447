"""Convert a pipeline's images for display, uint8 H×W×3 RGB; and draw text.

Text is drawn with the best font that OpenCV has. Pillow's built-in font has 111 characters: no ×, – or →, and none of
the accented letters that file names have.
"""

import base64
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.kernels.formulas import COLOR_PLANES
from augrecipes.preview.stretch import NODATA, PLAIN, Stretch
from augrecipes.recipe.model import Output

RgbImage = NDArray[np.uint8]  # H×W×3 RGB
Colour = tuple[int, int, int]

PAGE: Colour = (250, 250, 248)
EMPTY: Colour = (236, 236, 232)
INK: Colour = (34, 36, 40)
QUIET: Colour = (118, 120, 126)

_INPUT = Output(layout="hwc")
_EMPTIER = 1.35  # the most that images may be smaller than their box for an integer scale
_QUALITY = 84  # of JPEGs in pages
_SEEN = 0.998  # the share of pixels that amplification must not saturate
_WEIGHTS = {False: 400, True: 650}
_HERSHEY_PX = 30.0  # height of OpenCV 4's stroke font at scale 1, ascender to descender


def size_text(image: NDArray[Any]) -> str:
    """Format the width and height of an image H×W[×C] in px.

    >>> size_text(np.zeros((2, 3)))
    '3×2'
    """
    return f"{image.shape[1]}×{image.shape[0]}"


def rgb_of_input(image: NDArray[Any], stretch: Stretch = PLAIN) -> RgbImage:
    """Convert an image between steps (uint8 0..255 or float32 0..1, H×W[×C]) to RGB for display.

    Args:
        image: a source, or a step's result.
        stretch: how 16-bit images and deep floats are shown.

    >>> rgb_of_input(np.ones((2, 3), np.float32))[0, 0].tolist()
    [255, 255, 255]
    """
    image = np.atleast_3d(image)
    if stretch.is_plain:
        return rgb_of_output(image, _INPUT, stretch)
    levels = stretch.levels(image.astype(np.float32), *stretch.inputs.full_range)
    return _three_channels(levels, "rgb", stretch, stretch.missing(image, leaves=False))


def rgb_of_output(image: NDArray[Any], output: Output, stretch: Stretch = PLAIN) -> RgbImage:
    """Convert an output to RGB for display: undo layout, normalisation, range and colour order.

    Args:
        image: as the pipeline returned it.
        output: the recipe's output format.
        stretch: as for `rgb_of_input`.

    >>> image = np.zeros((3, 4, 6), np.float32)
    >>> rgb_of_output(image, Output(range=(-1.0, 1.0)))[0, 0].tolist()
    [128, 128, 128]
    """
    color = "rgb" if output.where == "device" and image.dtype == np.uint8 else output.color
    values = _channels_last(image, output)
    if image.dtype == np.uint8 and color not in ("y", "ycbcr") and stretch.is_plain:
        return _three_channels(values, color, stretch)
    levels = levels_of(image, output)
    if color == "y":  # luma lies in 16..235
        levels = (levels - 16) * np.float32(255 / 219)
    elif color == "ycbcr":
        planes = COLOR_PLANES[color]
        levels = (levels - [plane.offset for plane in planes]) @ np.linalg.inv([plane.weights for plane in planes]).T
    levels = levels if stretch.is_plain else stretch.levels(levels, 0, 255)
    return _three_channels(levels, color, stretch, stretch.missing(values, leaves=True))


def _three_channels(
    levels: NDArray[Any], color: str, stretch: Stretch, missing: NDArray[np.bool_] | None = None
) -> RgbImage:
    """Select the displayed channels of levels 0..255: one becomes grey, three red, green and blue."""
    count = levels.shape[2]
    numbers = stretch.channels(count)
    if color == "bgr" and count >= 3:  # the first three are in reverse order
        numbers = [2 - number if number < 3 else number for number in numbers]
    shown = levels[..., numbers if len(numbers) > 1 else numbers * 3]
    if shown.dtype != np.uint8:
        shown = np.rint(np.fmin(np.fmax(shown, 0), 255)).astype(np.uint8)  # NaN becomes 0
    if missing is not None:
        shown[missing] = NODATA
    return np.ascontiguousarray(shown)


def levels_of(image: NDArray[Any], output: Output) -> NDArray[np.float32]:
    """Convert an output to levels of 0..255, float32 H×W×C.

    >>> levels_of(np.ones((3, 4, 5), np.float32), Output(range=(-1.0, 1.0)))[0, 0].tolist()
    [255.0, 255.0, 255.0]
    """
    values = _channels_last(image, output).astype(np.float32)
    if image.dtype.kind == "u":
        return values * np.float32(255 / np.iinfo(image.dtype).max)
    if output.normalize is not None:
        mean, std = (np.array(v, np.float32) for v in (output.normalize.mean, output.normalize.std))
        return (values * std + mean) * np.float32(255)
    low, high = output.range
    return (values - np.float32(low)) * np.float32(255 / (high - low))


def _channels_last(image: NDArray[Any], output: Output) -> NDArray[Any]:
    return image if output.layout == "hwc" else np.moveaxis(image, 0, -1)


def within(image: RgbImage, largest: int) -> RgbImage:
    """Shrink an image to at most `largest` px a side, keeping its aspect ratio; never enlarge.

    >>> within(np.zeros((10, 40, 3), np.uint8), 20).shape
    (5, 20, 3)
    """
    height, width = image.shape[:2]
    scale = largest / max(height, width)
    return image if scale >= 1 else resize_to(image, (max(round(height * scale), 1), max(round(width * scale), 1)))


def jpeg_uri(image: RgbImage) -> str:
    """Encode an image as the data URI of a JPEG."""
    _, data = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    return f"data:image/jpeg;base64,{base64.b64encode(data.tobytes()).decode()}"


def resize_to(image: RgbImage, size: tuple[int, int]) -> RgbImage:
    """Resize an image to a height and width: nearest at large or integer factors, else cubic; area to shrink."""
    whole = size[0] % image.shape[0] == 0 and size[1] % image.shape[1] == 0
    large = size[0] >= 3 * image.shape[0]
    grows = cv2.INTER_NEAREST if whole or large else cv2.INTER_CUBIC
    how = grows if size[0] >= image.shape[0] else cv2.INTER_AREA
    return np.ascontiguousarray(cv2.resize(image, size[::-1], interpolation=how), np.uint8)


def size_in(sizes: Sequence[tuple[int, int]], box: tuple[int, int]) -> tuple[int, int]:
    """The size at which a box shows images of one scene: at an integer scale of the largest or the smallest, if any.

    Args:
        sizes: heights and widths of the images, px.
        box: height and width, px.

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
        if times * height * _EMPTIER >= fit * largest[0]:
            return times * height, times * width
    return max(round(largest[0] * fit), 1), max(round(largest[1] * fit), 1)


def amplified(difference: NDArray[np.float32]) -> tuple[RgbImage, int]:
    """Draw a difference, amplified by the largest power of two up to 64 that saturates almost no pixel; return both.

    Args:
        difference: absolute, levels of 0..255, H×W.

    >>> amplified(np.full((4, 4), 5, np.float32))[1], amplified(np.full((4, 4), 200, np.float32))[1]
    (32, 1)
    """
    top = max(float(np.quantile(difference, _SEEN)), 1.0)
    times = max(k for k in (1, 2, 4, 8, 16, 32, 64) if k == 1 or k * top <= 255)
    return ink(difference * np.float32(times / 255)), times


def ink(strength: NDArray[np.float32]) -> RgbImage:
    """Draw strengths of 0..1, H×W: 0 is the empty page, 1 is ink.

    >>> ink(np.zeros((1, 2), np.float32)).shape
    (1, 2, 3)
    """
    page, dark = np.array(EMPTY, np.float32), np.array(INK, np.float32)
    part = np.clip(strength, 0, 1)[..., None]
    return np.rint(page + (dark - page) * part).astype(np.uint8)


def width_px(text: str, size_px: int, *, bold: bool = False) -> int:
    """Width of one line of text in px.

    >>> width_px("wide", 14) < width_px("much wider", 14)
    True
    """
    text = _printable(text)
    if (face := _face()) is not None:
        # The measured box leaves out spaces at the end; a full stop keeps them.
        box, dot = (
            cv2.getTextSize((0, 0), words, (0, 0), face, size_px, _WEIGHTS[bold]) for words in (f"{text}.", ".")
        )
        return int(box[0] + box[2] - dot[2])
    (width, _), _ = cv2.getTextSize(_ascii(text), cv2.FONT_HERSHEY_SIMPLEX, size_px / _HERSHEY_PX, 1 + bold)
    return int(width)


def fit(text: str, room_px: int, size_px: int, *, bold: bool = False, middle: bool = False) -> str:
    """Shorten a text with an ellipsis to at most `room_px`.

    Args:
        text: one line.
        room_px: available width.
        size_px: size of the font.
        bold: as it will be drawn.
        middle: cut in the middle, where file names differ least.

    >>> fit("RandomResizedCrop", 60, 13).endswith("…")
    True
    """

    def cut(keep: int) -> str:
        tail = keep // 2 if middle else 0
        return text[: keep - tail].rstrip() + "…" + text[len(text) - tail :]

    if width_px(text, size_px, bold=bold) <= room_px:
        return text
    widths = range(1, len(text))  # characters kept; the widest that fits is found by bisection
    return cut(bisect_right(widths, room_px, key=lambda keep: width_px(cut(keep), size_px, bold=bold)))


def render_text(
    canvas: NDArray[np.uint8],
    text: str,
    at: tuple[int, int],
    *,
    size_px: int,
    colour: Colour,
    bold: bool = False,
    align: str = "left",
) -> None:
    """Draw one line on an RGB canvas, in place.

    Args:
        canvas: uint8 H×W×3.
        text: one line; unprintable characters become question marks.
        at: x of the left end or of the middle (see `align`), and y of the baseline.
        size_px: size of the font.
        colour: RGB.
        bold: heavier.
        align: `left` or `center`.
    """
    text, (x, y) = _printable(text), at
    if align == "center":
        x -= width_px(text, size_px, bold=bold) // 2
    if (face := _face()) is not None:
        cv2.putText(canvas, text, (x, y), colour, face, size_px, _WEIGHTS[bold])
    else:
        scale = size_px / _HERSHEY_PX
        cv2.putText(canvas, _ascii(text), (x, y), cv2.FONT_HERSHEY_SIMPLEX, scale, colour, 1 + bold, cv2.LINE_AA)


@lru_cache(maxsize=1)
def _face() -> Any:
    """OpenCV 5's own outline font, or None in OpenCV 4, which has only strokes."""
    return cv2.FontFace("sans") if hasattr(cv2, "FontFace") else None


def _printable(text: str) -> str:
    """Replace line breaks, control characters and lone surrogates by question marks."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _ascii(text: str) -> str:
    """Reduce a text to the ASCII that OpenCV 4 can draw."""
    for fancy, plain in (("…", "..."), ("×", "x"), ("·", "|"), ("→", "->"), ("–", "-")):
        text = text.replace(fancy, plain)
    return text.encode("ascii", "replace").decode()
