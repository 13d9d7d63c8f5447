"""A sheet as HTML: its pictures one by one, with its texts in the notebook's own ink."""

from __future__ import annotations

from collections.abc import Sequence

from augrecipes.notebook.markup import Html, image, joined, legend, tag
from augrecipes.preview.shown import LabelledPicture, PictureRow, Sheet

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
            *(_row(row, largest, most) for row in sheet.rows),
            *(tag("p", line, kind="quiet") for line in sheet.footers),
        ]
    )


def _row(row: PictureRow, largest: int, most: int | None) -> Html:
    notes = " · ".join(note for note in row.notes if note)
    caption = tag("p", row.caption, " ", tag("small", notes)) if row.caption or notes else ""
    return tag("div", caption, *(_line(line, largest, most) for line in row.lines), kind="row")


def _line(line: Sequence[LabelledPicture], largest: int, most: int | None) -> Html:
    shown = line if most is None or len(line) <= most else line[:most]
    more = [tag("small", f"and {len(line) - len(shown)} more")] if len(shown) < len(line) else []
    kind = "line" if len(shown) <= _ACROSS else "line long"  # fewer shrink until they fit
    return tag("div", *(_figure(one, largest) for one in shown), *more, kind=kind)


def _figure(one: LabelledPicture, largest: int) -> Html:
    picture = tag("div", kind="none") if one.picture is None else image(one.picture, one.header, largest)
    width = "72px" if one.picture is None else f"{min(largest, max(one.picture.shape[1], 72))}px"
    caption = tag("figcaption", one.header, kind="quiet" if one.quiet else "", style=f"max-width: {width}")
    return tag("figure", picture, caption if one.header else "")
