"""Draws a sheet: how large its cells are, where everything stands, and the texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from augrecipes.preview.cells import CellGroup, Form, SheetRow
from augrecipes.preview.display import EMPTY, INK, PAGE, QUIET, size_in
from augrecipes.preview.overlay import colour_of, render_tag
from augrecipes.preview.text import Colour, fit, render_text, width_px

MAX_WIDTH = 2400
MARGIN, HEADER = 36, 24
COLUMN = 248  # px: the column of facts beside strips
_BESIDE, _FOOT, _LINE = 4, 26, 18  # px: between cells, under one with a caption, of a note
_APART = {"grid": 12, "scenes": 22, "strips": 26}  # px, between groups
_LARGEST, _SMALLEST = 256, 56
_ENOUGH = 150  # px; smaller cells are put on more lines, if they
_TALLER = 2.0  # then have so many times the area
_SCENE = (240, 640)  # least and most of a scene's width
_SMALL_PX, _NOTE_PX, _TITLE_PX = 14, 12, 24
_BETWEEN = {"grid": 10, "scenes": 26, "strips": 30}  # px, from row to row
_GAP = 10  # px, from line to line
_EMPTIER = {"grid": 1.35, "scenes": 1.35, "strips": 1.1}  # nobody asks for the pixels of a bag's tiles


@dataclass(frozen=True, slots=True)
class SheetLayout:
    """Sizes of a sheet, px.

    Attributes:
        form: of the sheet.
        across: groups on a line.
        cells: of a group.
        cell: height and width of a cell.
        source: height and width of the box of the source; 0 where there are none.
    """

    form: Form
    across: int
    cells: int
    cell: tuple[int, int]
    source: tuple[int, int]

    @property
    def group_width(self) -> int:
        """Width of a group."""
        return self.cells * (self.cell[1] + _BESIDE) - _BESIDE

    @property
    def left(self) -> int:
        """Where the first group begins."""
        return self.source[1] + _APART[self.form] if self.source[1] else 0

    @property
    def width(self) -> int:
        """Width of the whole sheet."""
        apart = _APART[self.form]
        return 2 * MARGIN + self.left + self.across * (self.group_width + apart) - apart


def layout_of(rows: Sequence[SheetRow], form: Form) -> SheetLayout:
    """The layout with the largest cells that fits the sheet, on few lines.

    >>> from augrecipes.preview.cells import Cell
    >>> pair = CellGroup([Cell(np.zeros((48, 48, 3), np.uint8)), Cell(np.zeros((192, 192, 3), np.uint8))])
    >>> layout = layout_of([SheetRow([pair] * 6, CellGroup([Cell(np.zeros((300, 400, 3), np.uint8))]))], "scenes")
    >>> layout.across, layout.cell, layout.source, layout.width
    (3, (192, 192), (390, 520), 1822)
    """
    groups = max(1, *(len(row.groups) for row in rows))
    first = {"grid": 1, "scenes": 2 if groups > 3 else 1, "strips": groups}[form]
    best: SheetLayout | None = None
    for lines in range(first, groups + 1):
        for room in range(_LARGEST, _SMALLEST - 1, -8):
            layout = _with_room(rows, form, lines, -(-groups // lines), room)
            if layout.width <= MAX_WIDTH:
                if best is None or (
                    min(best.cell) < _ENOUGH and layout.cell[0] * layout.cell[1] > _TALLER * best.cell[0] * best.cell[1]
                ):
                    best = layout
                break
    return best or layout


def _with_room(rows: Sequence[SheetRow], form: Form, lines: int, across: int, room: int) -> SheetLayout:
    """The layout whose cells are at most `room` high and wide."""
    groups = [group for row in rows for group in row.groups]
    sources = [group for row in rows if (group := row.source) is not None]
    last = [row.groups[-1] for row in rows if row.groups]  # what comes out in the end
    sizes = sorted((group.sizes for group in last or sources if group.sizes), key=max)
    cell = size_in(sizes[len(sizes) // 2], (room, room)) if sizes else (room, room)
    cells = max((len(group.cells) for group in groups), default=1)
    if not sources or form == "grid":
        return SheetLayout(form, across, cells, cell, cell if sources else (0, 0))
    if form == "strips":
        return SheetLayout(form, across, cells, cell, (2 * COLUMN, COLUMN))
    aspect = min(max(median(height / width for group in sources for height, width in group.sizes), 0.5), 1.6)
    high = max(lines * (HEADER + cell[0] + _FOOT) - HEADER - 4 * _LINE + 2, _SCENE[0])
    left = MAX_WIDTH - SheetLayout(form, across, cells, cell, (1, 1)).width
    wide = max(min(round(high / aspect), _SCENE[1], left), _SCENE[0])
    return SheetLayout(form, across, cells, cell, (min(high, round(wide * aspect)), wide))


def render(
    rows: Sequence[SheetRow], form: Form, title: str, lines: Sequence[str], footers: Sequence[str],
    legend: Sequence[tuple[Colour, str]],
) -> NDArray[np.uint8]:  # fmt: skip
    """A sheet as a picture, uint8 H×W×3 RGB; arguments are the attributes of `Sheet`."""
    layout = layout_of(rows, form)
    blocks, above = [], None
    for row in rows:
        headers = [(one.header, one.quiet) for one in (*([row.source] if row.source else ()), *row.groups)]
        # Columns that go on need no second header.
        same = headers == above and form == "grid" and len(row.groups) <= layout.across
        blocks.append(_render_row(row, layout, 0 if same or not any(text for text, _ in headers) else HEADER))
        above = headers
    return _page(layout, blocks, title, lines, footers, legend)


def _render_row(row: SheetRow, layout: SheetLayout, top: int) -> NDArray[np.uint8]:
    """A row as a block of the sheet; `top`: room for headers."""
    lines = [row.groups[k : k + layout.across] for k in range(0, len(row.groups), layout.across)]
    captioned = [any(cell.caption and cell.picture is not None for g in line for cell in g.cells) for line in lines]
    heights = [top + layout.cell[0] + (_FOOT if named else _GAP) for named in captioned]
    notes = [part for note in row.notes if note for part in _wrapped(note, layout.source[1], _NOTE_PX)]
    box = size = layout.source
    if row.source is not None:
        size = row.source.size(box, _EMPTIER["grid"] if layout.form == "grid" else 1.0)
        if layout.form != "grid":  # a column takes no more than its picture needs
            shown = [cell for cell in row.source.cells if cell.picture is not None]
            box = (0, 0) if not shown else row.source.sizes[0] if shown[0].fixed else size
    under = (_LINE if row.caption else 0) + (_LINE - 1) * len(notes) + 4 if row.caption or notes else 0
    left = top + box[0] + under if row.source is not None else 0
    block = np.full((max(left, sum(heights) - _GAP), layout.width - 2 * MARGIN, 3), PAGE, np.uint8)
    if row.source is not None:
        _render_group(block, row.source, (0, 0), top, box, size)
        y, wide = top + box[0] + 17, layout.source[1]
        if row.caption:
            render_text(block, fit(row.caption, wide, _SMALL_PX, middle=True), (0, y), size_px=_SMALL_PX, colour=INK)
        for k, note in enumerate(notes, start=bool(row.caption)):
            at = (0, y + k * (_LINE - 1))
            render_text(block, fit(note, wide, _NOTE_PX), at, size_px=_NOTE_PX, colour=QUIET)
    y = 0
    for line, height in zip(lines, heights, strict=True):
        for k, group in enumerate(line):
            x = layout.left + k * (layout.group_width + _APART[layout.form])
            size = group.size(layout.cell, _EMPTIER[layout.form])
            _render_group(block, group, (y, x), top, layout.cell, size)
        y += height
    return block


def _render_group(
    block: NDArray[np.uint8],
    group: CellGroup,
    at: tuple[int, int],
    top: int,
    box: tuple[int, int],
    size: tuple[int, int],
) -> None:
    """A group at its top left corner; `top`: room for headers, `box`: of a cell, `size`: of its pictures."""
    y, x = at
    if top:
        start = x
        if group.tag is not None:
            name, number = group.tag
            room = width_px(name, _SMALL_PX) + 8
            render_tag(block, (x, y + 4, x + room, y + 18), name, colour_of(number + 1))
            start += room + 8
        header = fit(group.header, x + len(group.cells) * (box[1] + _BESIDE) - start, _SMALL_PX)
        colour = QUIET if group.quiet else INK
        render_text(block, header, (start, y + HEADER - 8), size_px=_SMALL_PX, colour=colour)
    y += top
    for k, cell in enumerate(group.cells):
        left = x + k * (box[1] + _BESIDE)
        place = block[y : y + box[0], left : left + box[1]]
        place[:] = EMPTY
        caption = fit(cell.caption, box[1], _NOTE_PX)
        if cell.picture is None:
            middle = box[1] // 2, box[0] // 2 + 4
            render_text(place, caption, middle, size_px=_NOTE_PX, colour=QUIET, align="center")
            continue
        shown = cell.at(size)
        high, wide = shown.shape[:2]
        y0, x0 = (box[0] - high) // 2, (box[1] - wide) // 2
        place[y0 : y0 + high, x0 : x0 + wide] = shown
        render_text(block, caption, (left, y + box[0] + 14), size_px=_NOTE_PX, colour=QUIET)


def _page(
    layout: SheetLayout, blocks: Sequence[NDArray[np.uint8]], title: str, lines: Sequence[str], footers: Sequence[str],
    legend: Sequence[tuple[Colour, str]],
) -> NDArray[np.uint8]:  # fmt: skip
    """Blocks one under another, with the sheet's texts above and below."""
    width, room, between = layout.width, layout.width - 2 * MARGIN, _BETWEEN[layout.form]
    lines = [part for line in lines for part in _wrapped(line, room, _SMALL_PX)]
    top = MARGIN + _TITLE_PX + (len(lines) + bool(legend)) * (_SMALL_PX + 8) + 16
    foot = 22 * len(footers) + MARGIN - 10
    page = np.full((top + sum(len(block) + between for block in blocks) + foot, width, 3), PAGE, np.uint8)
    y = MARGIN + _TITLE_PX - 4
    title = fit(title, room, _TITLE_PX, bold=True)
    render_text(page, title, (MARGIN, y), size_px=_TITLE_PX, colour=INK, bold=True)
    for line in lines:
        y += _SMALL_PX + 8
        render_text(page, fit(line, room, _SMALL_PX), (MARGIN, y), size_px=_SMALL_PX, colour=QUIET)
    _render_legend(page, legend, y + _SMALL_PX + 8, room)
    y = top
    for block in blocks:
        page[y : y + len(block), MARGIN : MARGIN + block.shape[1]] = block
        y += len(block) + between
    for line in footers:
        y += 22
        render_text(page, fit(line, room, _SMALL_PX), (MARGIN, y - 10), size_px=_SMALL_PX, colour=QUIET)
    return page


def _wrapped(line: str, room: int, size_px: int) -> list[str]:
    """The line, broken where facts meet (` · `) if it is too wide."""
    made: list[str] = []
    for part in line.split(" · "):
        if made and width_px(f"{made[-1]} · {part}", size_px) <= room:
            made[-1] += f" · {part}"
        else:
            made.append(part)
    return made


def _render_legend(page: NDArray[np.uint8], legend: Sequence[tuple[Colour, str]], y: int, room: int) -> None:
    """Swatches and names on one line; what does not fit is left out."""
    x = MARGIN
    for colour, name in legend:
        width = 18 + width_px(name, _SMALL_PX)
        if x + width > MARGIN + room:
            return
        page[y - 10 : y, x : x + 10] = colour
        render_text(page, name, (x + 16, y), size_px=_SMALL_PX, colour=QUIET)
        x += width + 18
