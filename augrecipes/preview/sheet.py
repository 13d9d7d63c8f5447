"""A sheet as an object: drawn when its pixels are asked for, written as a file, shown by a notebook."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.display import Displayed
from augrecipes.errors import DataError, counted, harmless
from augrecipes.paths import local
from augrecipes.preview.cells import Form, SheetRow
from augrecipes.preview.display import size_text
from augrecipes.preview.render import render
from augrecipes.preview.text import Colour


@dataclass(frozen=True, eq=False)
class Sheet(Displayed):
    """Pictures in rows, with what they are: a notebook shows them, `save` writes them, `pixels` are they themselves.

    Attributes:
        rows: what is shown.
        form: `grid`: sources as large as what is made of them; `scenes`: large sources, beside them lines of groups;
            `strips`: a column of facts, beside it one group a line.
        title: in one line.
        lines: more about them all.
        footers: what is left out.
        legend: colours, and what they stand for.

    >>> import augrecipes as ar
    >>> sheet = ar.load("folder-128").show(stages=True)
    >>> sheet
    <Sheet folder-128: 1 row, 4 pictures, 1132×475 px; .save("sheet.png") writes it>
    >>> sheet.pixels.shape
    (475, 1132, 3)
    """

    rows: Sequence[SheetRow]
    form: Form = "grid"
    title: str = ""
    lines: Sequence[str] = ()
    footers: Sequence[str] = ()
    legend: Sequence[tuple[Colour, str]] = ()

    @cached_property
    def pixels(self) -> NDArray[np.uint8]:
        """The sheet as one picture, uint8 H×W×3 RGB."""
        return render(self.rows, self.form, self.title, self.lines, self.footers, self.legend)

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


def checked_path(out: str | os.PathLike[str]) -> Path:
    """The path of a picture; DataError where its ending is not one of a picture's, or it is an address."""
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
