"""A map of a bag's tiles: where they lie on their slide, and which an epoch picks."""

from __future__ import annotations

from collections.abc import Collection

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.preview.cells import Cell
from augrecipes.preview.display import EMPTY, Colour, RgbImage

SHOWN: Colour = (213, 94, 0)
PICKED: Colour = (128, 146, 166)
NOT_PICKED: Colour = (206, 206, 202)
_EDGE, _SQUARE, _LEAST, _LARGEST = 8, 26, 240, 480  # px: around its squares, a square, and its sides


def tile_map(
    places: NDArray[np.int64],
    picked: Collection[int],
    shown: Collection[int],
    slide: tuple[RgbImage, float, float] | None,
) -> Cell | None:
    """A map of a bag's tiles: those that are shown, those that were picked, and the others as outlines.

    Args:
        places: int (n, 2), x and y of each tile in any unit; −1 where it is not known.
        picked: numbers of the tiles that are part of the sample.
        shown: numbers of the tiles that the sheet shows.
        slide: the slide made small, its whole width and the side of a tile, in the unit of the places; None: the map's
            ground is empty.

    Returns:
        None where fewer than two places are known, and there is no slide.

    >>> tiles = tile_map(np.array([[0, 0], [256, 0], [0, 256]]), {0, 1}, {0}, None)
    >>> tiles.image.shape
    (240, 240, 3)
    >>> tile_map(np.full((5, 2), -1), {0}, {0}, None) is None
    True
    """
    known = np.nonzero((places >= 0).all(1))[0]
    corners = places[known].astype(np.float64)
    if slide is not None:
        ground, whole, side = slide
        per, edge = ground.shape[1] / whole, np.zeros(2)
    else:
        if len(np.unique(corners, axis=0)) < 2:
            return None
        # From one tile to its neighbour: the commonest step between different x, or y.
        steps = [np.unique(np.diff(np.unique(corners[:, axis])), return_counts=True) for axis in (0, 1)]
        side = min(float(step[count.argmax()]) for step, count in steps if len(step))
        corners -= corners.min(0)
        extent = corners.max(0) + side
        per = min(_SQUARE / side, _LARGEST / extent.max())
        edge = np.maximum((_LEAST - extent * per) / 2, _EDGE)
        width, height = np.rint(extent * per + 2 * edge).astype(int).tolist()
        ground = np.full((height, width, 3), EMPTY, np.uint8)

    def over(image: RgbImage, scale: float) -> None:
        # The shown ones last: where squares are smaller than a pixel, they must not be hidden.
        for k in sorted(range(len(known)), key=lambda k: (known[k] in shown, known[k] in picked)):
            is_shown, is_picked = known[k] in shown, known[k] in picked
            (left, top), (right, bottom) = (((corners[k] + more) * per + edge) * scale for more in (0, side))
            left, top, right, bottom = int(left), int(top), int(right), int(bottom)
            gap = 2 if right - left >= 5 else 1
            line = -1 if slide is None and (is_shown or is_picked) else 2 if is_shown and right - left >= 8 else 1
            end = max(right - gap, left), max(bottom - gap, top)
            cv2.rectangle(image, (left, top), end, SHOWN if is_shown else PICKED if is_picked else NOT_PICKED, line)

    return Cell(ground, over=over)
