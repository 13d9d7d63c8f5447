"""Bags: strips of tiles, aligned one under another, beside facts and a map. It knows nothing of recipes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.preview.display import Picture, fit_into
from augrecipes.preview.sheet import EMPTY, HEADER, INK, MARGIN, MAX_WIDTH_PX, NOTE_PX, QUIET, SMALL_PX, blank
from augrecipes.preview.text import fit, render_text

_BESIDE, _LINE, _FOOT, _NAME_PX = 6, 19, 24, 17
COLUMN = 248  # px: what stands to the left of the strips
_APART = 26


@dataclass(frozen=True, slots=True)
class Strip:
    """The tiles of a bag in one state.

    Attributes:
        pictures: uint8 h×w×3 RGB each, or None for a tile that is not part of it.
        header: the line above.
        quiet: write the header in grey.
    """

    pictures: Sequence[Picture | None]
    header: str = ""
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class BagBlock:
    """One bag.

    Attributes:
        strips: top to bottom; the k-th picture of each shows the same tile.
        captions: one a tile, under the last strip.
        name: of the bag.
        notes: lines under the name.
        map: a picture at most `COLUMN` px wide, or None.
    """

    strips: Sequence[Strip]
    captions: Sequence[str] = ()
    name: str = ""
    notes: Sequence[str] = ()
    map: Picture | None = None


def tile_px(tiles: int) -> int:
    """Side of a tile's cell, px, at which so many fit side by side.

    >>> tile_px(12), tile_px(40)
    (152, 56)
    """
    room = (MAX_WIDTH_PX - 2 * MARGIN - COLUMN - _APART + _BESIDE) // max(tiles, 1) - _BESIDE
    return min(max(room, 56), 152)


def sheet_width(tiles: int, side: int) -> int:
    """Width of a sheet of strips, px."""
    return 2 * MARGIN + COLUMN + _APART + max(tiles * (side + _BESIDE) - _BESIDE, 240)


def map_height(strips: int, side: int, notes: int) -> int:
    """Height that is left for the map, px."""
    return max(_height(strips, side) - HEADER - notes * _LINE - _FOOT - 8, 80)


def render_bag(bag: BagBlock, tiles: int, side: int) -> NDArray[np.uint8]:
    """The bag as a block of a sheet, uint8 h×w×3.

    Args:
        bag: what to draw.
        tiles: in the longest strip of the sheet.
        side: of a tile's cell, px.
    """
    notes = [note for note in bag.notes if note]
    facts = HEADER + len(notes) * _LINE + 10
    high = max(_height(len(bag.strips), side), facts + (0 if bag.map is None else bag.map.shape[0]))
    block = blank(high, sheet_width(tiles, side) - 2 * MARGIN)
    name = fit(bag.name, COLUMN, _NAME_PX, bold=True, middle=True)
    render_text(block, name, (0, HEADER - 6), size_px=_NAME_PX, colour=INK, bold=True)
    for k, note in enumerate(notes):
        at = (0, HEADER + 12 + k * _LINE)
        render_text(block, fit(note, COLUMN, SMALL_PX), at, size_px=SMALL_PX, colour=QUIET)
    if bag.map is not None:
        block[facts : facts + bag.map.shape[0], : bag.map.shape[1]] = bag.map
    for row, strip in enumerate(bag.strips):
        top = row * (HEADER + side + _BESIDE) + HEADER
        x = COLUMN + _APART
        colour = QUIET if strip.quiet else INK
        header = fit(strip.header, block.shape[1] - x, SMALL_PX)
        render_text(block, header, (x, top - 8), size_px=SMALL_PX, colour=colour)
        for k, picture in enumerate(strip.pictures):
            left = x + k * (side + _BESIDE)
            cell = block[top : top + side, left : left + side]
            cell[:] = EMPTY
            if picture is None:
                render_text(
                    cell, "not picked", (side // 2, side // 2 + 4), size_px=NOTE_PX, colour=QUIET, align="center"
                )
                continue
            tile = fitted(picture, side)
            y0, x0 = (side - tile.shape[0]) // 2, (side - tile.shape[1]) // 2
            cell[y0 : y0 + tile.shape[0], x0 : x0 + tile.shape[1]] = tile
    foot = len(bag.strips) * (HEADER + side + _BESIDE) + 8
    for k, caption in enumerate(bag.captions):
        at = (COLUMN + _APART + k * (side + _BESIDE), foot)
        render_text(block, fit(caption, side, NOTE_PX), at, size_px=NOTE_PX, colour=QUIET)
    return block


def _height(strips: int, side: int) -> int:
    return strips * (HEADER + side + _BESIDE) + _FOOT


def fitted(picture: Picture, side: int) -> Picture:
    """A tile at the cell's size; a small one grows smoothly: nobody asks for its pixels here."""
    if max(picture.shape[:2]) < side:
        scale = side / max(picture.shape[:2])
        size = max(round(picture.shape[1] * scale), 1), max(round(picture.shape[0] * scale), 1)
        return np.ascontiguousarray(cv2.resize(picture, size, interpolation=cv2.INTER_CUBIC), np.uint8)
    return fit_into(picture, side, side)[0]
