"""Detection of tissue: a mask over a slide's thumbnail, and the fraction of it in each window.

Glass has no colour: tissue is where saturation exceeds a threshold, the user's or Otsu's. Alternatively a mask file
says where tissue is, or GeoJSON with polygons in px of level 0, as QuPath exports it.
"""

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.images.format import UnreadableError
from augrecipes.images.reading import read_bytes
from augrecipes.sources.polygons import fill
from augrecipes.sources.slides.pyramid import Level, Pixels

Mask = NDArray[np.bool_]
Places = NDArray[np.int64]
Tissue = str | float | Callable[[Pixels], Mask] | None
WHITE_FROM = 220
"""The least value of all three colours of a pixel that counts as white."""
# Limits of Otsu's threshold, which would otherwise split a slide that is all tissue or all glass.
_LEAST, _MOST = 12, 40
_TOLERANCE = 1.5  # px by which a mask's sides may differ from the slide's proportions


def tissue_by_saturation(thumbnails: Pixels, threshold: float | None = None) -> Mask:
    """Where a thumbnail, uint8 H×W×3 RGB, or each of several has colour; a median filter removes single pixels.

    Args:
        thumbnails: of a slide, or of the tiles of a bag.
        threshold: the least saturation, above 0 and below 1; None: one threshold for all by Otsu's method.

    >>> glass = np.full((20, 20, 3), 240, np.uint8)
    >>> glass[:5] = (180, 90, 160)
    >>> tissue_by_saturation(glass).mean(axis=1).tolist()[:7]
    [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    """
    *_, height, width, _ = thumbnails.shape
    pictures = thumbnails.reshape(-1, height, width, 3)
    channels = [cv2.cvtColor(picture, cv2.COLOR_RGB2HSV)[:, :, 1].copy() for picture in pictures]
    saturation = np.array([cv2.medianBlur(channel, 3) for channel in channels]).reshape(thumbnails.shape[:-1])
    if threshold is not None:
        return np.asarray(saturation > threshold * 255)
    otsu, _ = cv2.threshold(saturation.reshape(-1, width), 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    return np.asarray(saturation > min(max(otsu, _LEAST), _MOST))


def tissue_by(function: Callable[[Pixels], Mask], thumbnail: Pixels, path: str) -> Mask:
    """The tissue on a thumbnail of the file at `path`, by a user's function.

    Raises:
        DataError: the function does not return a bool array of the thumbnail's size.
    """
    mask = np.asarray(function(thumbnail.copy()))
    if mask.dtype != bool or mask.shape != thumbnail.shape[:2]:
        what = f"bool of shape {thumbnail.shape[:2]}, as its thumbnail, got {mask.dtype} of shape {mask.shape}"
        raise DataError(f"the function of tissue= must return {what}", path)
    return mask


def white_mask(thumbnail: Pixels) -> Mask:
    """Where a thumbnail is white or nearly so."""
    return np.asarray(thumbnail.min(-1) >= WHITE_FROM)


def slide_mask(mask: NDArray[np.generic], slide: Level, path: str) -> Mask:
    """The tissue from a mask of ids, H×W, of a whole slide: everything but 0.

    Raises:
        DataError: the mask has other proportions than the slide; the message names the mask's file.
    """
    height, width = mask.shape[:2]
    if abs(width / slide.width * slide.height - height) > _TOLERANCE * max(1, height / width, width / height):
        raise DataError(
            f"is {width}×{height} px, and its slide {slide.width}×{slide.height}: a mask covers all of the slide", path
        )
    return np.asarray(mask != 0)


@dataclass(frozen=True, slots=True)
class Grid:
    """The grid of windows that lie wholly on a slide, in px of level 0.

    Attributes:
        side: the side of a window.
        step: the distance between windows.
    """

    side: float
    step: float

    def places(self, slide: Level) -> Places:
        """The corners (x, y) of all windows, int64 (n, 2), row by row."""
        across, down = (self._along(pixels) for pixels in (slide.width, slide.height))
        x, y = np.meshgrid(across, down)
        return np.stack([x.ravel(), y.ravel()], 1)

    def _along(self, pixels: int) -> Places:
        count = int((pixels - self.side + 0.5) // self.step) + 1 if pixels + 0.5 >= self.side else 0
        return np.rint(np.arange(count) * self.step).astype(np.int64)

    def shares(self, mask: Mask, places: Places, slide: Level) -> NDArray[np.float64]:
        """The fraction of each window that a mask covers, float64 (n,), by an integral image.

        Args:
            mask: bool H×W over the whole slide, at any resolution.
            places: the windows' corners.
            slide: level 0.

        >>> half = np.arange(8)[None].repeat(6, 0) < 4
        >>> grid, slide = Grid(32, 32), Level(64, 48, 1.0)
        >>> grid.shares(half, grid.places(slide), slide).tolist()
        [1.0, 0.0]
        """
        sums = cv2.integral(mask.astype(np.uint8)).astype(np.int64)
        ends = []
        for axis, (pixels, cells) in enumerate(((slide.width, mask.shape[1]), (slide.height, mask.shape[0]))):
            first = np.clip(np.rint(places[:, axis] * (cells / pixels)).astype(np.int64), 0, cells - 1)
            last = np.rint((places[:, axis] + self.side) * (cells / pixels)).astype(np.int64)
            ends.append((first, np.clip(last, first + 1, cells)))
        (left, right), (top, bottom) = ends
        inside = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
        return np.asarray(inside / ((right - left) * (bottom - top)))


_FURTHEST = 1 << 20  # px of the mask, to which coordinates are clipped
Ring = NDArray[np.float64]


def mask_of_regions(path: str, slide: Level, size: tuple[int, int], names: Collection[str] | None = None) -> Any:
    """The area of regions, bool H×W over a whole slide, without their holes; points and lines are ignored.

    Args:
        path: a GeoJSON file: a feature, a collection or list of them, or bare geometries.
        slide: level 0.
        size: (height, width) of the mask.
        names: take only regions of these QuPath classes or names; None: all.

    Raises:
        DataError: the file is not GeoJSON, or has no such region; the message names it.
    """
    try:
        document = json.loads(read_bytes(path, image=False))
    except UnreadableError as error:
        raise DataError(str(error), path) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"is not GeoJSON: {error}", path) from None
    scale = np.array([size[1] / slide.width, size[0] / slide.height])
    mask, known, drawn = np.zeros(size, np.uint8), set[str](), 0
    for number, feature in enumerate(_features(document, path)):
        name = _name_of(feature)
        known.add(name)
        if names is not None and name not in names:
            continue
        geometry = feature.get("geometry", feature)
        for outline, *holes in _polygons(geometry, path, number):
            area = np.zeros(size, np.uint8) if holes else mask
            fill(area, (outline * scale).clip(-_FURTHEST, _FURTHEST), 1)
            for hole in holes:
                fill(area, (hole * scale).clip(-_FURTHEST, _FURTHEST), 0)
            mask |= area
            drawn += 1
    if not drawn:
        available = ", ".join(sorted(map(repr, known))) or "none at all"
        wanted = "regions" if names is None else f"regions of {', '.join(map(repr, sorted(names)))}"
        raise DataError(f"holds no {wanted}; there are {available}", path)
    return mask.astype(bool)


def _features(document: Any, path: str) -> Iterator[dict[str, Any]]:
    if isinstance(document, dict) and document.get("type") == "FeatureCollection":
        document = document.get("features")
    for feature in document if isinstance(document, list) else [document]:
        if not isinstance(feature, dict) or not isinstance(feature.get("geometry", feature), dict):
            raise DataError("is not GeoJSON: features with a `geometry` are expected, a list or a collection", path)
        yield feature


def _name_of(feature: dict[str, Any]) -> str:
    """The QuPath class of a region, or else its name."""
    properties = feature.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    classification = properties.get("classification")
    name = classification.get("name") if isinstance(classification, dict) else classification
    return str(name or properties.get("name") or "")


def _polygons(geometry: dict[str, Any], path: str, number: int) -> Iterator[list[Ring]]:
    """Yield the rings of each polygon in a geometry: its outline first, then its holes."""
    kind, coordinates = geometry.get("type"), cast("Any", geometry.get("coordinates"))
    if kind not in ("Polygon", "MultiPolygon"):
        return
    for rings in coordinates if kind == "MultiPolygon" and isinstance(coordinates, list) else [coordinates]:
        try:
            arrays = [np.array([point[:2] for point in ring], np.float64) for ring in list(rings)]
        except (TypeError, ValueError, LookupError, OverflowError):
            arrays = []
        if not arrays or not all(ring.shape[1:] == (2,) and np.isfinite(ring).all() for ring in arrays):
            raise DataError(f"feature {number}: a {kind} needs rings of [x, y] in pixels of level 0", path)
        yield arrays
