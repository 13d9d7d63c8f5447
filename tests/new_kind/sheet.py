"""Sheets of views: both views of a picture beside each other."""

from typing import Any

import numpy as np

from augrecipes.preview.display import picture_of_output
from augrecipes.preview.rows import Asked
from augrecipes.preview.shown import LabelledPicture, PictureRow, Sheet

COLUMNS = 1


def sheet(recipe: Any, asked: Asked) -> Any:
    """The sheet of a recipe of kind views."""
    pipeline, files = asked.opened(recipe)
    drawn = [files.read(k).run(pipeline, asked.epoch) for k in range(min(asked.rows, len(files)))]
    shown = [np.hstack([picture_of_output(out[name], recipe.output) for name in pipeline.outputs]) for out in drawn]
    rows = [PictureRow([[LabelledPicture(picture)]]) for picture in shown]
    return Sheet(rows, lambda: np.vstack(shown), title=recipe.name)
