"""The sheet: pictures in rows under headers, with a title. It knows sizes and colours, and nothing of recipes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from augrecipes.preview.display import Picture, fit_into
from augrecipes.preview.text import Colour, fit, render_text, width_px

MAX_WIDTH_PX = 2400

PAGE: Colour = (250, 250, 248)
EMPTY: Colour = (236, 236, 232)
INK: Colour = (34, 36, 40)
QUIET: Colour = (118, 120, 126)

MARGIN, GAP, HEADER = 36, 12, 24
SMALL_PX, NOTE_PX = 14, 12
_CAPTION, _BETWEEN = 40, 10
_TITLE_PX = 24


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
class SheetRow:
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
class SheetLayout:
    """Sizes of a sheet's cells, px."""

    columns: int
    cell_height: int
    cell_width: int

    @property
    def width(self) -> int:
        """Width of the whole sheet."""
        return 2 * MARGIN + self.columns * self.cell_width + (self.columns - 1) * GAP

    def fitted(self, picture: Picture) -> Picture:
        """A picture at the largest size that a cell holds, proportions kept."""
        return fit_into(picture, self.cell_height, self.cell_width)[0]

    def row_height(self, row: SheetRow) -> int:
        """Height of a row with its header and its caption."""
        caption = _CAPTION if row.caption or row.note else 0
        return (HEADER if row.headers else 0) + self.cell_height + caption + _BETWEEN


def layout_for(columns: int, aspect: float, largest: int = 256) -> SheetLayout:
    """The largest cells, at most `largest` px wide, that let `columns` of them fit the sheet.

    Many columns make the sheet wider than `MAX_WIDTH_PX` rather than cells smaller than 96 px.

    Args:
        columns: pictures side by side.
        aspect: height of a cell over its width.
        largest: px.

    >>> layout_for(7, 1.0)
    SheetLayout(columns=7, cell_height=256, cell_width=256)
    """
    room = (MAX_WIDTH_PX - 2 * MARGIN + GAP) // columns - GAP
    width = min(max(room, 96), largest)
    return SheetLayout(columns, max(round(width * aspect), 24), width)


def compose(
    layout: SheetLayout,
    rows: Sequence[SheetRow],
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
    blocks = [_render_row(layout, row) for row in rows]
    return page(layout.width, blocks, title=title, lines=lines, footers=footers, legend=legend)


def page(
    width: int,
    blocks: Sequence[NDArray[np.uint8]],
    *,
    title: str,
    lines: Sequence[str] = (),
    footers: Sequence[str] = (),
    legend: Sequence[tuple[Colour, str]] = (),
) -> NDArray[np.uint8]:
    """A sheet of blocks one under another, with text above and below; `compose` makes the blocks of its rows.

    Args:
        width: of the sheet, px, the margins of `MARGIN` included.
        blocks: uint8 h×w×3 RGB with the page as their ground, not wider than the sheet without its margins.
        title: one line, large.
        lines: under the title, grey; broken at ` · ` where they are too wide.
        footers: at the bottom, grey.
        legend: colours and what they stand for, on one more line under the title.

    Returns:
        uint8 H×W×3 RGB.

    >>> page(300, [blank(40, 200)], title="a sheet").shape
    (152, 300, 3)
    """
    room = width - 2 * MARGIN
    lines = [part for line in lines for part in _wrapped(line, room)]
    y = head(len(lines) + bool(legend))
    foot = 22 * len(footers) + MARGIN - _BETWEEN
    sheet = blank(y + sum(len(block) + _BETWEEN for block in blocks) + foot, width)
    for block in blocks:
        sheet[y : y + len(block), MARGIN : MARGIN + block.shape[1]] = block
        y += len(block) + _BETWEEN
    for line in footers:
        y += 22
        render_text(sheet, fit(line, room, SMALL_PX), (MARGIN, y - _BETWEEN), size_px=SMALL_PX, colour=QUIET)
    y = MARGIN + _TITLE_PX - 4
    render_text(sheet, fit(title, room, _TITLE_PX, bold=True), (MARGIN, y), size_px=_TITLE_PX, colour=INK, bold=True)
    for line in lines:
        y += SMALL_PX + 8
        render_text(sheet, fit(line, room, SMALL_PX), (MARGIN, y), size_px=SMALL_PX, colour=QUIET)
    if legend:
        _render_legend(sheet, legend, y + SMALL_PX + 8, room)
    return sheet


def _wrapped(line: str, room: int) -> list[str]:
    """The line, broken where facts meet (` · `) if it is too wide."""
    made: list[str] = []
    for part in line.split(" · "):
        if made and width_px(f"{made[-1]} · {part}", SMALL_PX) <= room:
            made[-1] += f" · {part}"
        else:
            made.append(part)
    return made


def blank(height: int, width: int, colour: Colour = PAGE) -> NDArray[np.uint8]:
    """An empty piece of a sheet, uint8 H×W×3.

    >>> blank(2, 3)[0, 0].tolist()
    [250, 250, 248]
    """
    piece = np.empty((height, width, 3), np.uint8)
    piece[:] = colour
    return piece


def head(lines: int) -> int:
    """Height of what stands above a sheet's first block: the title and `lines` of text."""
    return MARGIN + _TITLE_PX + lines * (SMALL_PX + 8) + 16


def _render_legend(sheet: NDArray[np.uint8], legend: Sequence[tuple[Colour, str]], y: int, room: int) -> None:
    """Swatches and names on one line; what does not fit is left out."""
    x = MARGIN
    for colour, name in legend:
        width = 18 + width_px(name, SMALL_PX)
        if x + width > MARGIN + room:
            return
        sheet[y - 10 : y, x : x + 10] = colour
        render_text(sheet, name, (x + 16, y), size_px=SMALL_PX, colour=QUIET)
        x += width + 18


def _render_row(layout: SheetLayout, row: SheetRow) -> NDArray[np.uint8]:
    top = HEADER if row.headers else 0
    block = blank(layout.row_height(row) - _BETWEEN, layout.width - 2 * MARGIN)
    for k, cell in enumerate(row.cells, start=int(row.indent)):
        left = k * (layout.cell_width + GAP)
        if row.headers and cell.header:
            text = fit(cell.header, layout.cell_width, SMALL_PX)
            render_text(block, text, (left, top - 8), size_px=SMALL_PX, colour=QUIET if cell.quiet else INK)
        height, width = cell.picture.shape[:2]
        block[top : top + layout.cell_height, left : left + layout.cell_width] = EMPTY
        y0, x0 = top + (layout.cell_height - height) // 2, left + (layout.cell_width - width) // 2
        block[y0 : y0 + height, x0 : x0 + width] = cell.picture
    below = top + layout.cell_height
    if row.caption:
        caption = fit(row.caption, layout.cell_width, SMALL_PX, middle=True)
        render_text(block, caption, (0, below + 17), size_px=SMALL_PX, colour=INK)
    if row.note:
        note = fit(row.note, layout.cell_width, NOTE_PX)
        render_text(block, note, (0, below + 33), size_px=NOTE_PX, colour=QUIET)
    return block
