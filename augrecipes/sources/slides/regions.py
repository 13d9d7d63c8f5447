"""Regions that somebody drew on a slide, as GeoJSON: what QuPath exports, or any other polygons in px of level 0."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.images.format import UnreadableError
from augrecipes.images.reading import read_bytes
from augrecipes.sources.slides.level import Level

_SHIFT = 4  # bits behind the point that OpenCV draws with
_FURTHEST = 1 << 20  # px of the mask: what lies further away is drawn at its edge
_DRAWN = ("Polygon", "MultiPolygon")
Ring = NDArray[np.float64]


def mask_of_regions(path: str, slide: Level, size: tuple[int, int], names: Collection[str] | None = None) -> Any:
    """What regions cover, bool H×W over a whole slide; holes in them are left out, points and lines too.

    Args:
        path: of a GeoJSON file: features, a collection or a list of them, or bare geometries.
        slide: its level 0.
        size: (height, width) of the mask.
        names: regions of these classes only, as QuPath classifies them, or of these names; None: all.

    Raises:
        DataError: it is not GeoJSON, or has no region of these names; names the file.
    """
    try:
        document = json.loads(read_bytes(path, picture=False))
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
        for rings in _polygons(geometry, path, number):
            _draw(mask, [ring * scale for ring in rings])
            drawn += 1
    if not drawn:
        there = ", ".join(sorted(map(repr, known))) or "none at all"
        wanted = "regions" if names is None else f"regions of {', '.join(map(repr, sorted(names)))}"
        raise DataError(f"holds no {wanted}; there are {there}", path)
    return mask.astype(bool)


def _draw(mask: NDArray[np.uint8], rings: list[Ring]) -> None:
    """Add a polygon, in px of the mask, where a pixel reaches from k to k + 1."""
    # Drawn beyond the mask, too, as far as that is not too large: OpenCV bends outlines that it has to cut.
    size = np.array(mask.shape[::-1])
    low = np.clip(np.floor(np.min([ring.min(0) for ring in rings], 0)) - 1, -size, size).astype(int)
    high = np.clip(np.ceil(np.max([ring.max(0) for ring in rings], 0)) + 1, low, 2 * size).astype(int)
    (left, top), (right, bottom) = np.clip(low, 0, size), np.clip(high, 0, size)
    if right <= left or bottom <= top:
        return
    drawn = np.zeros((high - low)[::-1], np.uint8)  # OpenCV counts from the middles of pixels
    points = [np.rint((ring - low - 0.5).clip(-_FURTHEST, _FURTHEST) * (1 << _SHIFT)) for ring in rings]
    cv2.fillPoly(drawn, [ring.astype(np.int32) for ring in points], 1, cv2.LINE_8, _SHIFT)
    mask[top:bottom, left:right] |= drawn[top - low[1] : bottom - low[1], left - low[0] : right - low[0]]


def _features(document: Any, path: str) -> Iterator[dict[str, Any]]:
    if isinstance(document, dict) and document.get("type") == "FeatureCollection":
        document = document.get("features")
    for feature in document if isinstance(document, list) else [document]:
        if not isinstance(feature, dict) or not isinstance(feature.get("geometry", feature), dict):
            raise DataError("is not GeoJSON: features with a `geometry` are expected, a list or a collection", path)
        yield feature


def _name_of(feature: dict[str, Any]) -> str:
    """The class of a region as QuPath has it, or its name."""
    about = feature.get("properties")
    about = about if isinstance(about, dict) else {}
    found = about.get("classification")
    named = found.get("name") if isinstance(found, dict) else found
    return str(named or about.get("name") or "")


def _polygons(geometry: dict[str, Any], path: str, number: int) -> Iterator[list[Ring]]:
    """The rings of each polygon in a geometry: its outline first, then its holes."""
    waiting = [geometry]
    while waiting:
        one = waiting.pop()
        kind, inner = one.get("type"), one.get("geometries")
        if kind == "GeometryCollection" and isinstance(inner, list):
            waiting += [other for other in inner if isinstance(other, dict)]
        if kind not in _DRAWN:
            continue
        given = one.get("coordinates")
        several: list[Any] = given if kind == "MultiPolygon" and isinstance(given, list) else [given]
        for rings in several:
            try:
                found = [np.array([point[:2] for point in ring], np.float64) for ring in list(rings)]
            except (TypeError, ValueError, LookupError, OverflowError):
                found = []
            if not found or not all(ring.shape[1:] == (2,) and np.isfinite(ring).all() for ring in found):
                raise DataError(f"feature {number}: a {kind} needs rings of [x, y] in pixels of level 0", path)
            yield found
