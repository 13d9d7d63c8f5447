"""Where the tiles of a bag lie in their slide, as a small map of squares."""

from __future__ import annotations

from collections.abc import Collection

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.preview.display import EMPTY, Picture, fit_into
from augrecipes.preview.text import Colour

SHOWN: Colour = (213, 94, 0)
PICKED: Colour = (160, 164, 170)
PICKED_ON_SLIDE: Colour = (0, 114, 178)
LEFT: Colour = (206, 206, 202)
MAP = (360, 248)  # height and width of the box of a map, px
_EDGE = 8  # px of ground around the outermost squares
_LARGEST = 26  # px of a square


def render_map(
    coords: NDArray[np.int64], picked: Collection[int], shown: Collection[int], height: int, width: int
) -> Picture | None:
    """A map of a bag's tiles: those that are shown, those that were picked, and the others as outlines.

    Args:
        coords: int (n, 2), x and y of each tile in any unit; −1 where it is not known.
        picked: numbers of the tiles that are part of the sample.
        shown: numbers of the tiles that the sheet shows.
        height: of the box that the map has to fit, px.
        width: of the box.

    Returns:
        uint8 h×w×3 RGB, or None where fewer than two places are known.

    >>> render_map(np.array([[0, 0], [256, 0], [0, 256]]), {0, 1}, {0}, 100, 200).shape
    (68, 68, 3)
    >>> render_map(np.full((5, 2), -1), {0}, {0}, 100, 200) is None
    True
    """
    known = np.nonzero((coords >= 0).all(1))[0]
    places = coords[known].astype(np.float64)
    if len(np.unique(places, axis=0)) < 2:
        return None
    pitch = _pitch(places)
    places -= places.min(0)
    across, down = places.max(0) / pitch + 1  # in squares
    side = min((width - 2 * _EDGE) / across, (height - 2 * _EDGE) / down, _LARGEST)
    made = np.full((round(down * side) + 2 * _EDGE, round(across * side) + 2 * _EDGE, 3), EMPTY, np.uint8)
    gap = 1 if side >= 5 else 0
    # The shown ones last: where squares are smaller than a pixel, they must not be hidden.
    order = sorted(range(len(known)), key=lambda k: (known[k] in shown, known[k] in picked))
    for k in order:
        (left, right), (top, bottom) = ((int(v * side), int((v + 1) * side)) for v in places[k] / pitch)
        corners = (_EDGE + left, _EDGE + top), (_EDGE + max(right - 1 - gap, left), _EDGE + max(bottom - 1 - gap, top))
        tile = int(known[k])
        colour = SHOWN if tile in shown else PICKED if tile in picked else LEFT
        cv2.rectangle(made, *corners, colour, -1 if tile in picked or tile in shown else 1)
    return made


def render_on_slide(
    slide: Picture,
    squares: NDArray[np.float64],
    picked: Collection[int],
    shown: Collection[int],
    height: int,
    width: int,
) -> Picture:
    """A slide made small, with its tiles drawn on it: outlines, those that are shown the thickest.

    Args:
        slide: uint8 H×W×3 RGB.
        squares: float64 (n, 3), x, y and side of each tile as shares of the slide's width.
        picked: numbers of the tiles that are part of the sample.
        shown: numbers of the tiles that the sheet shows.
        height: of the box that the map has to fit, px.
        width: of the box.

    >>> square = np.array([[0.0, 0.0, 0.5]])
    >>> render_on_slide(np.zeros((50, 100, 3), np.uint8), square, {0}, {0}, 100, 200).shape
    (100, 200, 3)
    """
    made = fit_into(slide, height, width)[0]
    places = squares * made.shape[1]
    for k in sorted(range(len(places)), key=lambda k: (k in shown, k in picked)):
        side = max(places[k, 2] - 1, 1)
        left, top, right, bottom = (round(float(v)) for v in (*places[k, :2], *(places[k, :2] + side)))
        colour = SHOWN if k in shown else PICKED_ON_SLIDE if k in picked else LEFT
        cv2.rectangle(made, (left, top), (right, bottom), colour, 2 if k in shown and places[k, 2] >= 8 else 1)
    return made


def _pitch(places: NDArray[np.float64]) -> float:
    """From one tile to its neighbour: the commonest step between different x, or y, of the tiles."""
    steps = []
    for axis in (0, 1):
        values = np.unique(places[:, axis])
        if len(values) > 1:
            found, counts = np.unique(np.diff(values), return_counts=True)
            steps.append(float(found[counts.argmax()]))
    return max(min(steps), 1e-6)
