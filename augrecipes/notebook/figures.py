"""A sheet as HTML: its pictures one by one, with its texts in the notebook's own ink."""

from __future__ import annotations

from collections.abc import Sequence

from augrecipes.notebook.markup import Html, image, joined, legend, tag
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.sheet import Sheet

SMALL, LARGE = 124, 192  # px, of a picture
_ACROSS = 9  # pictures that are kept on one line


def figures(sheet: Sheet, largest: int, most: int | None = None) -> Html:
    """The pictures of a sheet, and what they are.

    Args:
        sheet: what is shown.
        largest: height and width of a picture, px.
        most: pictures of a line; the others are counted. None: all.
    """
    colours = [(f"rgb({red},{green},{blue})", name) for (red, green, blue), name in sheet.legend]
    return joined(
        [
            legend(colours),
            *(_row(row, sheet.across == 1, largest, most) for row in sheet.rows),
            *(tag("p", line, kind="quiet") for line in sheet.footers),
        ]
    )


def _row(row: SheetRow, apart: bool, largest: int, most: int | None) -> Html:
    notes = " · ".join(note for note in row.notes if note)
    caption = tag("p", row.caption, " ", tag("small", notes)) if row.caption or notes else ""
    groups = [row.source, *row.groups] if row.source else [*row.groups]
    lines = [[group] for group in groups if group.cells] if apart else [groups]
    return tag("div", caption, *(_line(line, largest, most) for line in lines), kind="row")


def _line(groups: Sequence[CellGroup], largest: int, most: int | None) -> Html:
    every = [(cell, group) for group in groups for cell in group.cells]
    shown = every[:most]
    more = [tag("small", f"and {len(every) - len(shown)} more")] if len(shown) < len(every) else []
    kind = "line" if len(shown) <= _ACROSS else "line long"  # fewer shrink until they fit
    return tag("div", *(_figure(cell, group, largest) for cell, group in shown), *more, kind=kind)


def _figure(cell: Cell, group: CellGroup, largest: int) -> Html:
    header = " · ".join(text for text in (group.header, cell.caption) if text)
    if cell.picture is None:
        picture, width = tag("div", kind="none"), 72
    else:
        shown = cell.at(group.size((largest, largest)))
        picture, width = image(shown, header, largest), min(largest, max(shown.shape[1], 72))
    caption = tag("figcaption", header, kind="quiet" if group.quiet else "", style=f"max-width: {width}px")
    return tag("figure", picture, caption if header else "")
