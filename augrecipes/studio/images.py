"""Images on their way to the page: as PNGs, each under an address that nobody can guess, with their overlays."""

from __future__ import annotations

import secrets
import struct
import zlib
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.preview.display import Picture, picture_of_output, within
from augrecipes.preview.overlay import colour_of, corners_px, label_colour, render_mask
from augrecipes.recipe.model import Output, Recipe
from augrecipes.studio.workbench import LruCache

MOST_BYTES = 192 << 20
_MOST = 2_000  # boxes and points of one image
_COLOURS = {3: 2, 4: 6}  # PNG's numbers of RGB and RGBA


def png_of(image: NDArray[np.uint8]) -> bytes:
    """An image H×W×3 RGB, or H×W×4 RGBA, as a PNG without compression.

    It goes no further than to the browser of this machine, and the encoders of OpenCV and Pillow take ten times as long
    at their lowest level.

    >>> image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    >>> back = cv2.imdecode(np.frombuffer(png_of(image), np.uint8), cv2.IMREAD_UNCHANGED)
    >>> bool((back[..., ::-1] == image).all())
    True
    """
    height, width, channels = image.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # before each row the number of its filter: none
    rows[:, 1:] = image.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    found = b"\x89PNG\r\n\x1a\n"
    for name, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 0)), (b"IEND", b"")):
        found += struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(name)))
    return found


def shown_of(image: NDArray[Any], output: Output, size: int) -> Picture:
    """A pipeline's result as uint8 RGB, its longer side at most `size` px; 0: as it is.

    Floats that are shown smaller are made smaller before they become levels: those are fewer.
    """
    first = output.layout == "chw"
    height, width = image.shape[1:] if first else image.shape[:2]
    if not size or max(height, width) <= size or image.dtype != np.float32:
        return shrunk(picture_of_output(image, output), size)
    scale = size / max(height, width)
    to = max(round(width * scale), 1), max(round(height * scale), 1)
    planes = image if first else np.moveaxis(image, -1, 0)
    small = np.stack([cv2.resize(np.ascontiguousarray(one), to, interpolation=cv2.INTER_AREA) for one in planes])
    return picture_of_output(small if first else np.moveaxis(small, 0, -1), output)


def shrunk(image: Picture, size: int) -> Picture:
    """The image with its longer side at most `size` px; 0: as it is."""
    return within(image, size) if size else image


class ImageCache:
    """PNGs by address, the least recently used dropped first; safe to use from several threads."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._pngs: LruCache[bytes] = LruCache(most_bytes, len)
        self._secret = secrets.token_bytes(32)

    def put(self, image: NDArray[np.uint8], size: int = 0, whole: tuple[int, int] | None = None) -> dict[str, Any]:
        """Cache an image, shown with its longer side at most `size` px.

        Returns:
            `url`, and `width` and `height` of the image before it was made smaller: here, or as `whole` says.
        """
        data = png_of(shrunk(image, size))
        address = blake2b(data, key=self._secret, digest_size=16).hexdigest()
        self._pngs.get(address, lambda: data)
        height, width = whole or image.shape[:2]
        return {"url": f"/api/image/{address}.png", "width": width, "height": height}

    def get(self, address: str) -> bytes | None:
        """The PNG at an address; None where none is, or is no longer."""
        return self._pngs.peek(address)

    def has(self, url: str) -> bool:
        """Whether what `put` has returned is still there."""
        return self.get(url.rpartition("/")[2].removesuffix(".png")) is not None

    @property
    def nbytes(self) -> int:
        """Of all that is cached."""
        return self._pngs.total

    def overlay(
        self, targets: Mapping[str, Any], recipe: Recipe, size: tuple[int, int], shown: int, classes: Sequence[str]
    ) -> dict[str, Any]:
        """Boxes [x0, y0, x1, y1] and points [x, y] in px of the image, with names and colours; a mask as its address.

        Args:
            targets: of a sample, as it was read or as it came out.
            recipe: says how they are written.
            size: height and width of the image, px.
            shown: the longer side of what is shown, px; 0: as large as it is.
            classes: names of the boxes' labels.
        """
        inputs = recipe.inputs
        found: dict[str, Any] = {}
        boxes, points, mask = targets.get("boxes"), targets.get("keypoints"), targets.get("mask")
        if boxes is not None and inputs.boxes is not None:
            corners = corners_px(np.asarray(boxes)[:_MOST], inputs.boxes.format, *size)
            labels = list(targets.get(inputs.boxes.labels or "", ()))[: len(corners)]
            labels += [""] * (len(corners) - len(labels))
            found["boxes"] = _numbers(corners)
            found["labels"] = [_named(label, classes) for label in labels]
            found["colours"] = [list(label_colour(label)) for label in labels]
        if points is not None and inputs.keypoints is not None:
            xy = np.asarray(points, np.float32).reshape(len(points), -1)[:_MOST, :2]
            found["keypoints"] = _numbers(xy[:, ::-1] if inputs.keypoints.format == "yx" else xy)
            found["point_colours"] = [list(colour_of(number)) for number in range(1, len(xy) + 1)]
        if mask is not None and np.asarray(mask).ndim >= 2:
            found["mask"] = self.put(_coloured(np.asarray(mask), size), shown)["url"]
        return found


def _coloured(mask: NDArray[Any], size: tuple[int, int]) -> NDArray[np.uint8]:
    """The mask's ids in their colours, transparent where it has none: RGBA.

    A mask drawn over black and over white has the same colour in both only where it is opaque.
    """
    over = [np.full((*size, 3), level, np.uint8) for level in (0, 255)]
    for image in over:
        render_mask(image, mask if mask.ndim == 2 else mask[..., 0])
    black, white = (image.astype(np.float32) for image in over)
    alpha = np.clip(255 - (white - black).mean(axis=2, keepdims=True), 0, 255)
    colour = np.divide(black * 255, alpha, out=np.zeros_like(black), where=alpha > 0)
    return np.rint(np.clip(np.concatenate([colour, alpha], axis=2), 0, 255)).astype(np.uint8)


def _numbers(values: NDArray[Any]) -> list[list[float]]:
    return [[round(float(value), 2) for value in row] for row in np.nan_to_num(values)]


def _named(label: Any, classes: Sequence[str]) -> str:
    if isinstance(label, int | np.integer | float | np.floating):
        number = int(label)
        return str(classes[number]) if 0 <= number < len(classes) else str(number)
    return str(label)
