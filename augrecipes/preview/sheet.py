"""The sheet: pictures in rows under headers, with a title. It knows sizes and colours, and nothing of recipes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from augrecipes.preview.display import Picture
from augrecipes.preview.text import Colour, draw_text, fit, width_px

MAX_WIDTH_PX = 2400

PAGE: Colour = (250, 250, 248)
EMPTY: Colour = (236, 236, 232)
INK: Colour = (34, 36, 40)
QUIET: Colour = (118, 120, 126)

_MARGIN, _GAP, _HEADER, _CAPTION, _BETWEEN = 36, 12, 24, 40, 10
_TITLE_PX, _SMALL_PX, _HEADER_PX = 24, 14, 14


@dataclass(frozen=True, slots=True)
class Cell:
    """One picture of a row.

    Attributes:
        picture: uint8 h×w×3 RGB, not larger than the row's cells.
        header: the line above it.
        quiet: write the header in grey.
    """

    picture: Picture
    header: str = ""
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One line of cells, and the two lines of text under its first.

    Attributes:
        cells: left to right; a row may have fewer than the sheet has columns.
        caption: name of the source.
        note: smaller facts about it.
        headers: whether to write the cells' headers over this row.
        indent: leave the first column empty (a row that goes on from the one above).
    """

    cells: Sequence[Cell]
    caption: str = ""
    note: str = ""
    headers: bool = True
    indent: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes of a sheet's cells, px."""

    columns: int
    cell_height: int
    cell_width: int

    @property
    def width(self) -> int:
        """Width of the whole sheet."""
        return 2 * _MARGIN + self.columns * self.cell_width + (self.columns - 1) * _GAP

    def row_height(self, row: Row) -> int:
        """Height of a row with its header and its caption."""
        caption = _CAPTION if row.caption or row.note else 0
        return (_HEADER if row.headers else 0) + self.cell_height + caption + _BETWEEN

    def head(self, lines: int) -> int:
        """Height of what stands above the first row: the title and `lines` of text."""
        return _MARGIN + _TITLE_PX + lines * (_SMALL_PX + 8) + 16

    def height(self, rows: Sequence[Row], lines: int, footers: int) -> int:
        """Height of the whole sheet."""
        return self.head(lines) + sum(self.row_height(row) for row in rows) + footers * 22 + _MARGIN - _BETWEEN


def layout_for(columns: int, aspect: float, largest: int = 256, smallest: int = 96) -> Layout:
    """The largest cells, at most `largest` px wide, that let `columns` of them fit the sheet.

    Args:
        columns: pictures side by side.
        aspect: height of a cell over its width.
        largest: px.
        smallest: px; many columns make the sheet wider than `MAX_WIDTH_PX` rather than cells smaller than this.

    >>> layout_for(7, 1.0)
    Layout(columns=7, cell_height=256, cell_width=256)
    """
    room = (MAX_WIDTH_PX - 2 * _MARGIN + _GAP) // columns - _GAP
    width = min(max(room, smallest), largest)
    return Layout(columns, max(round(width * aspect), 24), width)


def compose(
    layout: Layout,
    rows: Sequence[Row],
    *,
    title: str,
    lines: Sequence[str] = (),
    footers: Sequence[str] = (),
    legend: Sequence[tuple[Colour, str]] = (),
) -> NDArray[np.uint8]:
    """Draw the sheet.

    Args:
        layout: sizes.
        rows: top to bottom.
        title: one line, large.
        lines: under the title, grey.
        footers: at the bottom, grey.
        legend: colours and what they stand for, on one more line under the title.

    Returns:
        uint8 H×W×3 RGB.
    """
    sheet = np.empty((layout.height(rows, len(lines) + bool(legend), len(footers)), layout.width, 3), np.uint8)
    sheet[:] = PAGE
    room = layout.width - 2 * _MARGIN
    y = _MARGIN + _TITLE_PX - 4
    draw_text(sheet, fit(title, room, _TITLE_PX, bold=True), (_MARGIN, y), size_px=_TITLE_PX, colour=INK, bold=True)
    for line in lines:
        y += _SMALL_PX + 8
        draw_text(sheet, fit(line, room, _SMALL_PX), (_MARGIN, y), size_px=_SMALL_PX, colour=QUIET)
    if legend:
        _draw_legend(sheet, legend, y + _SMALL_PX + 8, room)
    y = layout.head(len(lines) + bool(legend))
    for row in rows:
        _draw_row(sheet, layout, row, y)
        y += layout.row_height(row)
    for line in footers:
        y += 22
        draw_text(sheet, fit(line, room, _SMALL_PX), (_MARGIN, y - _BETWEEN), size_px=_SMALL_PX, colour=QUIET)
    return sheet


def _draw_legend(sheet: NDArray[np.uint8], legend: Sequence[tuple[Colour, str]], y: int, room: int) -> None:
    """Swatches and names on one line; what does not fit is left out."""
    x = _MARGIN
    for colour, name in legend:
        width = 18 + width_px(name, _SMALL_PX)
        if x + width > _MARGIN + room:
            return
        sheet[y - 10 : y, x : x + 10] = colour
        draw_text(sheet, name, (x + 16, y), size_px=_SMALL_PX, colour=QUIET)
        x += width + 18


def _draw_row(sheet: NDArray[np.uint8], layout: Layout, row: Row, y: int) -> None:
    top = y + (_HEADER if row.headers else 0)
    for k, cell in enumerate(row.cells, start=int(row.indent)):
        left = _MARGIN + k * (layout.cell_width + _GAP)
        if row.headers and cell.header:
            text = fit(cell.header, layout.cell_width, _HEADER_PX)
            draw_text(sheet, text, (left, top - 8), size_px=_HEADER_PX, colour=QUIET if cell.quiet else INK)
        height, width = cell.picture.shape[:2]
        sheet[top : top + layout.cell_height, left : left + layout.cell_width] = EMPTY
        y0, x0 = top + (layout.cell_height - height) // 2, left + (layout.cell_width - width) // 2
        sheet[y0 : y0 + height, x0 : x0 + width] = cell.picture
    below = top + layout.cell_height
    caption = fit(row.caption, layout.cell_width, _SMALL_PX, middle=True)
    draw_text(sheet, caption, (_MARGIN, below + 17), size_px=_SMALL_PX, colour=INK)
    note = fit(row.note, layout.cell_width, _SMALL_PX - 2)
    draw_text(sheet, note, (_MARGIN, below + 33), size_px=_SMALL_PX - 2, colour=QUIET)
