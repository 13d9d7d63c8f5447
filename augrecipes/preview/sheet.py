"""A sheet of captioned images: laid out and drawn when its pixels are asked for, saved, or shown by a notebook."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.display import Displayed
from augrecipes.errors import DataError, counted, harmless
from augrecipes.paths import local
from augrecipes.preview.cells import CellGroup, SheetRow
from augrecipes.preview.display import EMPTY, INK, PAGE, QUIET, Picture, size_in, size_text
from augrecipes.preview.overlay import colour_of, render_tag
from augrecipes.preview.text import Colour, fit, render_text, width_px

MAX_WIDTH, MARGIN, HEADER = 2400, 36, 24  # px: of the sheet, around it, and of a line of headers
APART, BESIDE, FOOT, GAP, BETWEEN = 18, 4, 26, 10, 18  # px: groups, cells, captions, lines of groups, rows
_LARGEST, _SMALLEST, _ENOUGH = 256, 56, 150  # px: of a cell; groups go on more lines until cells have enough
_SOURCE = 160, 640  # px, the least and the most of a source's width
_WIDER = 2.6, 1.7  # than a cell the source may be, and beside lines of one group
_SMALL_PX, _NOTE_PX, _TITLE_PX = 14, 12, 24


@dataclass(frozen=True, eq=False)
class Sheet(Displayed):
    """Images in rows, with what they are: a notebook shows them, `save` writes them, `pixels` holds them.

    Attributes:
        rows: what is shown: to the left a source, to its right lines of groups.
        title: in one line.
        lines: more about all of them.
        footers: what is left out.
        legend: colours, and what they stand for.
        across: groups on a line, at most; None: as many as there is room for.

    >>> import augrecipes as ar
    >>> sheet = ar.load("folder-128").show(stages=True)
    >>> sheet
    <Sheet folder-128: 1 row, 4 pictures, 1235×483 px; .save("sheet.png") writes it>
    >>> sheet.pixels.shape
    (483, 1235, 3)
    """

    rows: Sequence[SheetRow]
    title: str = ""
    lines: Sequence[str] = ()
    footers: Sequence[str] = ()
    legend: Sequence[tuple[Colour, str]] = ()
    across: int | None = None

    @cached_property
    def pixels(self) -> NDArray[np.uint8]:
        """The sheet as one image, uint8 H×W×3 RGB."""
        return _render(self)

    def save(self, path: str | Path) -> Path:
        """Write it as `.png` or `.jpg`; missing folders are made.

        Raises:
            DataError: another ending, or it cannot be written.
        """
        return save_sheet(self.pixels, path)

    def __repr__(self) -> str:
        pictures = sum(cell.picture is not None for row in self.rows for cell in row.cells)
        what = f"{counted(len(self.rows), 'row')}, {counted(pictures, 'picture')}, {size_text(self.pixels)} px"
        return f'<Sheet {harmless(self.title)}: {what}; .save("sheet.png") writes it>'


@dataclass(frozen=True, slots=True)
class SheetLayout:
    """Sizes of a sheet, px.

    Attributes:
        across: groups on a line.
        cells: of a group.
        cell: height and width of a cell.
        source: height and width of the box of the source; 0 where there are none.
    """

    across: int
    cells: int
    cell: tuple[int, int]
    source: tuple[int, int]

    @property
    def group_width(self) -> int:
        """Width of a group."""
        return self.cells * (self.cell[1] + BESIDE) - BESIDE

    @property
    def left(self) -> int:
        """Where the first group begins, right of the margin."""
        return self.source[1] + APART if self.source[1] else 0

    @property
    def width(self) -> int:
        """Width of the whole sheet."""
        return 2 * MARGIN + self.left + self.across * (self.group_width + APART) - APART


def layout_of(rows: Sequence[SheetRow], most_across: int | None = None) -> SheetLayout:
    """The layout with the fewest lines on which cells are large enough, or else as large as may be.

    >>> from augrecipes.preview.cells import Cell
    >>> pair = CellGroup([Cell(np.zeros((48, 48, 3), np.uint8)), Cell(np.zeros((192, 192, 3), np.uint8))])
    >>> layout = layout_of([SheetRow([pair] * 6, CellGroup([Cell(np.zeros((300, 400, 3), np.uint8))]))], 3)
    >>> layout.across, layout.cell, layout.source, layout.width
    (3, (192, 192), (434, 499), 1789)
    """
    groups = max(1, *(len(row.groups) for row in rows))
    best, largest = None, 0
    for lines in range(-(-groups // (most_across or groups)), groups + 1):
        for room in range(_LARGEST, _SMALLEST - 1, -8):
            layout = _layout_with(rows, -(-groups // lines), lines, room)
            if layout.width <= MAX_WIDTH:
                break
        if best is None or room > largest:
            best, largest = layout, room
        if largest >= _ENOUGH:
            break
    assert best is not None
    return best


def _layout_with(rows: Sequence[SheetRow], across: int, lines: int, room: int) -> SheetLayout:
    """The layout whose cells are at most `room` high and wide."""
    sources = [row.source for row in rows if row.source is not None]
    last = [row.groups[-1] for row in rows if row.groups]  # what comes out in the end
    sizes = sorted((group.sizes for group in last or sources if group.sizes), key=max)
    cell = size_in(sizes[len(sizes) // 2], (room, room)) if sizes else (room, room)
    cells = max((len(group.cells) for row in rows for group in row.groups), default=1)
    if not sources:
        return SheetLayout(across, cells, cell, (0, 0))
    shapes = [height / width for group in sources for height, width in group.sizes]
    high = lines * (HEADER + cell[0] + FOOT) - HEADER - FOOT
    wide = (
        min(high / min(max(median(shapes), 0.5), 1.6), _WIDER[across == 1 < lines] * cell[1], _SOURCE[1])
        if shapes
        else 0
    )
    return SheetLayout(across, cells, cell, (high, max(round(wide), _SOURCE[0])))


@dataclass(frozen=True, slots=True)
class _Page:
    """What is drawn on a sheet, gathered until its height is known."""

    images: list[tuple[int, int, Picture]] = field(default_factory=list)  # x and y of the top left corner
    texts: list[dict[str, Any]] = field(default_factory=list)

    def write(
        self, text: str, x: int, y: int, room: int, size_px: int = _SMALL_PX, colour: Colour = QUIET,
        *, middle: bool = False, **how: Any,
    ) -> None:  # fmt: skip
        """A line of text in `room` px; y is its baseline, `middle` the place where it is shortened."""
        text = fit(text, room, size_px, bold=how.get("bold", False), middle=middle)
        self.texts.append({"text": text, "at": (x, y), "size_px": size_px, "colour": colour, **how})

    def pixels(self, height: int, width: int) -> NDArray[np.uint8]:
        """All of it on one image."""
        page = np.full((height, width, 3), PAGE, np.uint8)
        for x, y, image in self.images:
            page[y : y + image.shape[0], x : x + image.shape[1]] = image
        for text in self.texts:
            render_text(page, **text)
        return page


def _render(sheet: Sheet) -> NDArray[np.uint8]:
    layout, page = layout_of(sheet.rows, sheet.across), _Page()
    room, y = layout.width - 2 * MARGIN, MARGIN + _TITLE_PX - 4
    page.write(sheet.title, MARGIN, y, room, _TITLE_PX, INK, bold=True)
    for line in (part for whole in sheet.lines for part in _wrapped(whole, room, _SMALL_PX)):
        y += _SMALL_PX + 8
        page.write(line, MARGIN, y, room)
    if sheet.legend:
        y += _SMALL_PX + 8
        _legend(page, sheet.legend, y, room)
    y, above = y + 20, None
    for row in sheet.rows:
        headers = [(one.header, one.quiet) for one in (*([row.source] if row.source else ()), *row.groups)]
        # Columns that go on need no second header.
        same = headers == above and len(row.groups) <= layout.across
        top = 0 if same or not any(text for text, _ in headers) else HEADER
        y, above = _row(page, row, layout, y, top) + BETWEEN, headers
    for line in sheet.footers:
        page.write(line, MARGIN, y + 12, room)
        y += 22
    return page.pixels(y + MARGIN - 10, layout.width)


def _row(page: _Page, row: SheetRow, layout: SheetLayout, y: int, top: int) -> int:
    """A row below `y`, with `top` px for headers; where it ends."""
    bottom = y
    if row.source is not None:
        size, wide = row.source.size(layout.source) if row.source.sizes else (0, 0), layout.source[1]
        _group(page, row.source, (MARGIN, y), top, size)
        bottom += top + size[0]
        for text in (row.caption,) if row.caption else ():
            page.write(text, MARGIN, bottom + 17, wide, _SMALL_PX, INK, middle=True)
            bottom += 18
        for part in (part for note in row.notes if note for part in _wrapped(note, wide, _NOTE_PX)):
            page.write(part, MARGIN, bottom + 16, wide, _NOTE_PX)
            bottom += 17
        bottom += 4
    end = y - GAP
    for start in range(0, len(row.groups), layout.across):
        line, y = row.groups[start : start + layout.across], end + GAP
        for k, group in enumerate(line):
            x = MARGIN + layout.left + k * (layout.group_width + APART)
            _group(page, group, (x, y), top, layout.cell)
        captioned = any(cell.caption and cell.picture is not None for group in line for cell in group.cells)
        end = y + top + layout.cell[0] + (FOOT - GAP if captioned else 0)
    return max(bottom, end)


def _group(page: _Page, group: CellGroup, at: tuple[int, int], top: int, box: tuple[int, int]) -> None:
    """A group at its top left corner; `top`: px for its header, `box`: height and width of a cell."""
    x, y = at
    if top:
        start, end = x, x + max(len(group.cells), 1) * (box[1] + BESIDE)
        if group.tag is not None:
            name, number = group.tag
            tag = np.empty((14, width_px(name, _SMALL_PX) + 8, 3), np.uint8)
            render_tag(tag, (0, 0, tag.shape[1], 14), name, colour_of(number + 1))
            page.images.append((x, y + 4, tag))
            start += tag.shape[1] + 8
        page.write(group.header, start, y + HEADER - 8, end - start, colour=QUIET if group.quiet else INK)
    y, size = y + top, group.size(box)
    for left, cell in zip(
        range(x, x + len(group.cells) * (box[1] + BESIDE), box[1] + BESIDE), group.cells, strict=True
    ):
        ground = np.full((*box, 3), EMPTY, np.uint8)
        page.images.append((left, y, ground))
        if cell.picture is None:
            centre = left + box[1] // 2, y + box[0] // 2 + 4
            page.write(cell.caption, *centre, box[1], _NOTE_PX, align="center")
            continue
        shown = cell.at(size)
        y0, x0 = (box[0] - shown.shape[0]) // 2, (box[1] - shown.shape[1]) // 2
        ground[y0 : y0 + shown.shape[0], x0 : x0 + shown.shape[1]] = shown
        page.write(cell.caption, left, y + box[0] + 14, box[1], _NOTE_PX)


def _wrapped(line: str, room: int, size_px: int) -> list[str]:
    """The line, broken where facts meet (` · `) if it is too wide."""
    made: list[str] = []
    for part in line.split(" · "):
        if made and width_px(f"{made[-1]} · {part}", size_px) <= room:
            made[-1] += f" · {part}"
        else:
            made.append(part)
    return made


def _legend(page: _Page, legend: Sequence[tuple[Colour, str]], y: int, room: int) -> None:
    """Swatches and names on one line; what does not fit is left out."""
    x, end = MARGIN, MARGIN + room
    for colour, name in legend:
        width = width_px(name, _SMALL_PX)
        if x + 18 + width > end:
            return
        page.images.append((x, y - 10, np.full((10, 10, 3), colour, np.uint8)))
        page.write(name, x + 16, y, width)
        x += 36 + width


def checked_path(out: str | os.PathLike[str]) -> Path:
    """The path of an image; DataError where its ending is not one of an image's, or it is an address."""
    path = local(out)
    if path.suffix.lower() not in {".png", ".jpg", ".jpeg"}:
        raise DataError("a picture is written as .png or .jpg", path=str(path))
    return path


def save_sheet(sheet: NDArray[np.uint8], out: str | os.PathLike[str]) -> Path:
    """Write a sheet, uint8 H×W×3 RGB, as `.png` or `.jpg`; missing folders are made.

    Raises:
        DataError: another ending, or it cannot be written.
    """
    path = checked_path(out)
    _, encoded = cv2.imencode(path.suffix.lower(), cv2.cvtColor(sheet, cv2.COLOR_RGB2BGR))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded.tobytes())
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror or error}", path=str(path)) from error
    return path
