"""Sheets of views: both views of a picture beside each other."""

from typing import Any

import numpy as np

from augrecipes.data.reading.sample import open_data
from augrecipes.preview.display import picture_of_output
from augrecipes.preview.rows import Asked

COLUMNS = 1


def sheet(recipe: Any, asked: Asked) -> Any:
    """The sheet of a recipe of kind views, uint8 H×W×3 RGB."""
    pipeline = recipe.compile(seed=asked.seed, **asked.compiled)
    files = open_data(recipe, pipeline.targets, asked.data)
    drawn = [files.read(k).run(pipeline, asked.epoch) for k in range(min(asked.rows, len(files)))]
    shown = [np.hstack([picture_of_output(out[name], recipe.output) for name in pipeline.outputs]) for out in drawn]
    return np.vstack(shown)
