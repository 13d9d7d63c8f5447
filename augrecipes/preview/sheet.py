"""A sheet of captioned images, drawn on demand: for its pixels, a file, or a notebook.

A sheet is composed of images joined side by side or one below the other.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError, counted, harmless
from augrecipes.paths import local, write_file
from augrecipes.preview.cells import (
    CELL_GAP,
    GROUP_GAP,
    HEADER,
    LINE_GAP,
    MARGIN,
    MAX_WIDTH,
    NARROW,
    ROW_GAP,
    CellGroup,
    SheetLayout,
    SheetRow,
    layout_of,
)
from augrecipes.preview.display import EMPTY, INK, PAGE, QUIET, Colour, RgbImage, fit, render_text, size_text, width_px
from augrecipes.preview.overlay import colour_of, render_tag
from augrecipes.report import Displayed

_SMALL_PX, _NOTE_PX, _TITLE_PX = 14, 12, 24


@dataclass(frozen=True, eq=False)
class Sheet(Displayed):
    """Captioned images in rows: a notebook shows them, `save` writes them, `pixels` is the drawn sheet.

    Attributes:
        rows: each has a source at its left, and to the right lines of groups.
        title: one line.
        lines: further text under the title.
        footers: lines at the foot, such as skipped files.
        legend: colours and their meanings.
        across: most groups on a line; None: as many as fit.
        narrow: for phones: less wide, with larger text.

    >>> import augrecipes as ar
    >>> sheet = ar.load("folder-128").show(stages=True)
    >>> sheet
    <Sheet folder-128: 1 row, 4 images, 1235×479 px; .save("sheet.png") writes it>
    >>> sheet.pixels.shape
    (479, 1235, 3)
    """

    rows: Sequence[SheetRow]
    title: str = ""
    lines: Sequence[str] = ()
    footers: Sequence[str] = ()
    legend: Sequence[tuple[Colour, str]] = ()
    across: int | None = None
    narrow: bool = False

    @cached_property
    def pixels(self) -> NDArray[np.uint8]:
        """The sheet as one image, uint8 H×W×3 RGB."""
        layout, parts, above = layout_of(self.rows, self.across, NARROW if self.narrow else MAX_WIDTH), [], None
        room, text = layout.width - 2 * MARGIN, _SMALL_PX + 3 * self.narrow
        lines = [_line(part, room, text) for whole in self.lines for part in _wrap(whole, room, text)]
        title = [_line(self.title, room, _TITLE_PX, INK, bold=True)] if self.title else []
        if head := [*title, *lines, *_legend(self.legend, room)]:
            parts.append(_join(head, 0, 3))
        for row in self.rows:
            headers = [(group.header, group.quiet) for group in row.everything]
            # Repeated headers are drawn once.
            same = headers == above and len(row.groups) <= layout.across
            parts.append(_row(row, layout, text, headed=not same and any(words for words, _ in headers)))
            above = headers
        if self.footers:
            parts.append(_join([_line(line, room, text) for line in self.footers], 0, 3))
        body = _join(parts, 0, ROW_GAP)
        page = _blank(body.shape[0] + 2 * MARGIN, layout.width)
        page[MARGIN:-MARGIN, MARGIN:-MARGIN] = body
        return page

    def save(self, path: str | Path) -> Path:
        """Write the sheet as `.png` or `.jpg`; missing folders are created.

        Raises:
            DataError: the suffix is another one, or the file cannot be written.
        """
        return save_sheet(self.pixels, path)

    def __repr__(self) -> str:
        images = sum(len(group.sizes) for row in self.rows for group in row.everything)
        what = f"{counted(len(self.rows), 'row')}, {counted(images, 'image')}, {size_text(self.pixels)} px"
        return f'<Sheet {harmless(self.title)}: {what}; .save("sheet.png") writes it>'


def _row(row: SheetRow, layout: SheetLayout, text: int, *, headed: bool) -> RgbImage:
    """Draw the source with its texts, and to its right the lines of groups."""
    lines = [row.groups[start : start + layout.across] for start in range(0, len(row.groups), layout.across)]
    wide, cell = layout.source[1], (layout.cell, layout.group_width)
    groups = [[_group(group, *cell, text, headed=headed, captioned=True) for group in line] for line in lines]
    body = [_join(line, 1, GROUP_GAP) for line in groups]
    if not wide:
        return _join(body, 0, LINE_GAP)
    left = [_blank(0, wide)]
    if row.source is not None:
        size = row.source.size(layout.source) if row.source.sizes else (0, 0)
        left = [_group(row.source, size, wide, text, headed=headed, captioned=False)]
        left += [_line(row.caption, wide, colour=INK, middle=True)] if row.caption else []
        left += [_line(part, wide, _NOTE_PX) for note in row.notes if note for part in _wrap(note, wide, _NOTE_PX)]
    return _join([_join(left, 0), *([_join(body, 0, LINE_GAP)] if body else [])], 1, GROUP_GAP)


def _group(group: CellGroup, box: tuple[int, int], width: int, text: int, *, headed: bool, captioned: bool) -> RgbImage:
    """Draw cells side by side at one size: `headed` adds a header of `text` px, `captioned` their captions."""
    size, cells, small = group.size(box), [], text - _SMALL_PX + _NOTE_PX
    captioned = captioned and any(cell.caption and cell.image is not None for cell in group.cells)
    for cell in group.cells:
        ground = np.full((*box, 3), EMPTY, np.uint8)
        if cell.image is None and cell.caption:
            centre = box[1] // 2, box[0] // 2 + 4
            caption = fit(cell.caption, box[1], _NOTE_PX)
            render_text(ground, caption, centre, size_px=_NOTE_PX, colour=QUIET, align="center")
        elif cell.image is not None:
            shown = cell.at(size)
            y, x = (box[0] - shown.shape[0]) // 2, (box[1] - shown.shape[1]) // 2
            ground[y : y + shown.shape[0], x : x + shown.shape[1]] = shown
        foot = [_line(cell.caption if cell.image is not None else "", box[1], small)] if captioned else []
        cells.append(_join([ground, *foot], 0))
    notes = [_line(line, width, text, INK) for note in group.notes for line in _wrap(note, width, text)]
    body = _join([*([_join(cells, 1, CELL_GAP)] if cells else []), *notes, _blank(0, width)], 0)
    if not headed:
        return body
    tag = [] if group.tag is None else [_tag(*group.tag)]
    room = width - sum(part.shape[1] + 8 for part in tag)
    header = _line(group.header, room, text, QUIET if group.quiet else INK, middle=bool(notes))
    return _join([_join([*tag, header], 1, 8), body], 0, HEADER - header.shape[0])


def _join(parts: Sequence[RgbImage], axis: int, gap: int = 0) -> RgbImage:
    """Join images one below the other (axis 0) or side by side (axis 1), `gap` px apart, on the background."""
    starts = list(accumulate((part.shape[axis] + gap for part in parts), initial=0))
    size = [starts[-1] - gap, starts[-1] - gap]
    size[1 - axis] = max(part.shape[1 - axis] for part in parts)
    page = _blank(*size)
    for part, start in zip(parts, starts, strict=False):
        place = page[start:] if axis == 0 else page[:, start:]
        place[: part.shape[0], : part.shape[1]] = part
    return page


def _blank(height: int, width: int) -> RgbImage:
    return np.full((height, width, 3), PAGE, np.uint8)


def _line(
    text: str, width: int, size_px: int = _SMALL_PX, colour: Colour = QUIET, *, bold: bool = False, middle: bool = False
) -> RgbImage:
    """Draw a line of text, shortened to `width` px in its `middle` or at its end."""
    line = _blank(size_px + 5, width)
    text = fit(text, width, size_px, bold=bold, middle=middle)
    render_text(line, text, (0, size_px), size_px=size_px, colour=colour, bold=bold)
    return line


def _wrap(line: str, room: int, size_px: int) -> list[str]:
    """Wrap a line between facts (` · `), and between words where a fact alone is too wide."""
    lines: list[str] = []
    for fact in line.split(" · "):
        for k, part in enumerate([fact] if width_px(fact, size_px) <= room else fact.split(" ")):
            longer = f"{lines[-1]}{' ' if k else ' · '}{part}" if lines else part
            lines[-1:] = [longer] if width_px(longer, size_px) <= room else [*lines[-1:], part]
    return lines


def _tag(name: str, number: int) -> RgbImage:
    tag = _blank(18, width_px(name, _SMALL_PX) + 8)
    render_tag(tag, (0, 4, tag.shape[1], 18), name, colour_of(number + 1))
    return tag


def _legend(legend: Sequence[tuple[Colour, str]], room: int) -> list[RgbImage]:
    """Draw swatches and names on one line; names that do not fit are left out."""
    keys = []
    for colour, name in legend:
        swatch = _blank(_SMALL_PX, 10)
        swatch[4:] = colour
        keys.append(_join([swatch, _line(name, width_px(name, _SMALL_PX))], 1, 6))
    while sum(key.shape[1] + 20 for key in keys) > room + 20:
        keys.pop()
    return [_join(keys, 1, 20)] if keys else []


def checked_path(out: str | os.PathLike[str]) -> Path:
    """Check the path of an image; DataError where its suffix is not an image's, or it is a URL."""
    path = local(out)
    if path.suffix.lower() not in {".png", ".jpg", ".jpeg"}:
        raise DataError("an image is written as .png or .jpg", path=str(path))
    return path


def save_sheet(sheet: NDArray[np.uint8], out: str | os.PathLike[str]) -> Path:
    """Write a sheet, uint8 H×W×3 RGB, as `.png` or `.jpg`; missing folders are created.

    Raises:
        DataError: the suffix is another one, or the file cannot be written.
    """
    path = checked_path(out)
    _, encoded = cv2.imencode(path.suffix.lower(), cv2.cvtColor(sheet, cv2.COLOR_RGB2BGR))
    try:
        write_file(path, encoded.tobytes())
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror or error}", path=str(path)) from error
    return path
