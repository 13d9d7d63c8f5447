"""Sheets of views: both views of a picture beside each other."""

from typing import Any

from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import picture_of_output
from augrecipes.preview.rows import Asked
from augrecipes.preview.sheet import Sheet

COLUMNS = 1


def sheet(recipe: Any, asked: Asked) -> Any:
    """The sheet of a recipe of kind views."""
    pipeline, files = asked.opened(recipe)
    drawn = [files.read(k).run(pipeline, asked.epoch) for k in range(min(asked.rows, len(files)))]
    views = [[picture_of_output(out[name], recipe.output) for name in pipeline.outputs] for out in drawn]
    return Sheet([SheetRow([CellGroup([Cell(picture) for picture in of_one])]) for of_one in views], title=recipe.name)
