"""A sheet as an object: drawn when its pixels are asked for, written as a file, shown by a notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from augrecipes.display import Displayed
from augrecipes.errors import counted, harmless
from augrecipes.preview.display import Picture, size_text
from augrecipes.preview.save import save_sheet
from augrecipes.preview.text import Colour


@dataclass(frozen=True, slots=True)
class LabelledPicture:
    """One picture of a sheet.

    Attributes:
        picture: uint8 h×w×3 RGB; None where there is none.
        header: what it is.
        quiet: it says little: a source, or a step that changed nothing.
    """

    picture: Picture | None
    header: str = ""
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class PictureRow:
    """What a sheet shows of one source.

    Attributes:
        lines: pictures, line by line.
        caption: name of the source.
        notes: more about it.
    """

    lines: Sequence[Sequence[LabelledPicture]]
    caption: str = ""
    notes: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Sheet(Displayed):
    """Pictures in rows, with what they are: a notebook shows them, `save` writes them, `pixels` are they themselves.

    Attributes:
        rows: what is shown.
        draw: composes them into one picture.
        title: in one line.
        lines: more about them all.
        footers: what is left out.
        legend: colours, and what they stand for.

    >>> import augrecipes as ar
    >>> sheet = ar.load("folder-128").show(stages=True)
    >>> sheet
    <Sheet folder-128: 1 row, 4 pictures, 812×396 px; .save("sheet.png") writes it>
    >>> sheet.pixels.shape
    (396, 812, 3)
    """

    rows: Sequence[PictureRow]
    draw: Callable[[], NDArray[np.uint8]] = field(repr=False)
    title: str = ""
    lines: Sequence[str] = ()
    footers: Sequence[str] = ()
    legend: Sequence[tuple[Colour, str]] = ()

    @cached_property
    def pixels(self) -> NDArray[np.uint8]:
        """The sheet as one picture, uint8 H×W×3 RGB."""
        return self.draw()

    def save(self, path: str | Path) -> Path:
        """Write it as `.png` or `.jpg`; missing folders are made.

        Raises:
            DataError: another ending, or it cannot be written.
        """
        return save_sheet(self.pixels, path)

    def __repr__(self) -> str:
        pictures = sum(one.picture is not None for row in self.rows for line in row.lines for one in line)
        what = f"{counted(len(self.rows), 'row')}, {counted(pictures, 'picture')}, {size_text(self.pixels)} px"
        return f'<Sheet {harmless(self.title)}: {what}; .save("sheet.png") writes it>'
