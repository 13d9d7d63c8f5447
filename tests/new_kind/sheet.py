"""Sheets of views: both views of an image beside each other."""

from typing import Any

from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import rgb_of_output
from augrecipes.preview.rows import SheetRequest
from augrecipes.preview.sheet import Sheet


def sheet(recipe: Any, request: SheetRequest) -> Any:
    """The sheet of a recipe of kind views."""
    pipeline, files = request.opened(recipe)
    drawn = [files.read(k).run(pipeline, request.epoch) for k in range(min(request.rows, len(files)))]
    views = [[rgb_of_output(out[name], recipe.output) for name in pipeline.outputs] for out in drawn]
    return Sheet([SheetRow([CellGroup([Cell(picture) for picture in of_one])]) for of_one in views], title=recipe.name)
