"""Sheets of views: both views of a picture beside each other."""

from typing import Any

import numpy as np

from augrecipes.data.reading.sample import open_data
from augrecipes.preview.display import picture_of_output

COLUMNS = 1


def sheet(recipe: Any, data: Any, *, rows: int, seed: int, epoch: int, compiled: Any, **more: Any) -> Any:
    """The sheet of a recipe of kind views, uint8 H×W×3 RGB."""
    del more
    pipeline = recipe.compile(seed=seed, **compiled)
    files = open_data(recipe, pipeline.targets, data)
    drawn = [files.read(k).run(pipeline, epoch) for k in range(min(rows, len(files)))]
    shown = [np.hstack([picture_of_output(out[name], recipe.output) for name in pipeline.outputs]) for out in drawn]
    return np.vstack(shown)
