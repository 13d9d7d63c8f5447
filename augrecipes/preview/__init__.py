"""Contact sheets: sources down the side, and to the right of each what the recipe makes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.preview.batch import batch_sheet
from augrecipes.preview.rows import SheetRequest
from augrecipes.preview.sheet import Sheet, checked_path, save_sheet
from augrecipes.progress import Progress
from augrecipes.recipe import kinds
from augrecipes.recipe.model import Mode, Optimize, Recipe
from augrecipes.recipe.parse import Source, as_recipe
from augrecipes.sources.opening import Data, StrPath


def preview(
    recipe: Recipe | Source,
    data: Data,
    out: StrPath,
    *,
    rows: int = 4,
    columns: int | None = None,
    seed: int = 0,
    epoch: int = 0,
    stages: bool = False,
    batch: int | None = None,
    mode: Mode = "train",
    optimize: Optimize | None = None,
    masks: StrPath | None = None,
    progress: Progress | None = None,
) -> Path:
    """Draw what a recipe does to some images, and write it as an image.

    Args:
        recipe: a Recipe, or what `augrecipes.load` takes.
        data: a folder (class folders or flat), one image, or a CSV file as `ImageFolder(files=...)` reads it. For a
            recipe of kind pair: a folder, or a list of them, for each target, `{"hr": ..., "lr": ...}`, or a CSV file
            as `PairedImages(files=...)` reads it. For one of kind bag: a folder of bags, or a CSV file as
            `TileBags(files=...)` reads it.
        out: the file to write, `.png` or `.jpg`; missing folders are made.
        rows: sources, spread evenly over the data and its classes.
        columns: draws of each source, one epoch each (`eval` has one); of bags the tiles, in two epochs. None: 6
            draws, or 12 tiles.
        seed: of the draws; the sheet shows what a Dataset with this seed hands out.
        epoch: of the first draw.
        stages: show one draw after every step instead.
        batch: show so many samples as one batch instead, as they are and mixed by the recipe's `batch:`.
        mode: `train` or `eval`.
        optimize: `none`, `exact` or `fast`; None takes the recipe's own choice.
        masks: folder of masks that match the images' names.
        progress: called with (sources done, sources in all).

    Returns:
        The path written.

    Raises:
        RecipeError: the recipe is not valid, or cannot be compiled.
        DataError: there is no image that can be read, targets do not suit the recipe, or the file cannot be written
            as asked.

    Files that cannot be read are left out, named at the foot of the sheet, and logged.

    >>> import tempfile
    >>> from augrecipes.demo.dataset import draw_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = draw_dataset(Path(folder), tiles=3, photo_count=0, shrink=4)
    ...     preview("folder-128", data.tissue, Path(folder) / "grid.png", rows=2, columns=3).name
    'grid.png'
    """
    out = checked_path(out)
    sheet = sample_grid(
        recipe, data, rows=rows, columns=columns, seed=seed, epoch=epoch, stages=stages, batch=batch, mode=mode,
        optimize=optimize, masks=masks, progress=progress,
    )  # fmt: skip
    return save_sheet(sheet, out)


def sample_grid(
    recipe: Recipe | Source,
    data: Data,
    *,
    rows: int = 4,
    columns: int | None = None,
    seed: int = 0,
    epoch: int = 0,
    stages: bool = False,
    batch: int | None = None,
    mode: Mode = "train",
    optimize: Optimize | None = None,
    masks: StrPath | None = None,
    progress: Progress | None = None,
) -> NDArray[np.uint8]:
    """The sheet that `preview` writes, uint8 H×W×3 RGB; arguments and errors are the same."""
    if rows < 1 or (columns is not None and columns < 1):
        raise DataError(f"a preview needs at least one row and one column, got {rows} and {columns}")
    recipe = as_recipe(recipe)
    if masks is not None and not recipe.facts.annotated:
        raise DataError(f"{recipe.name} is of kind {recipe.kind}, which has no masks")
    usual = 12 if recipe.facts.tiles else 1 if recipe.facts.views else 6
    how = {"mode": mode, "optimize": optimize, "seed": seed}
    request = SheetRequest(data, rows, columns or usual, epoch, stages, how, masks, progress)
    if batch is not None:
        return batch_sheet(recipe, replace(request, rows=batch, columns=1)).pixels
    return sheet_of(recipe, request).pixels


def sheet_of(recipe: Recipe, request: SheetRequest) -> Sheet:
    """The sheet of a recipe, before it is drawn; DataError where nothing can be shown."""
    found: Sheet = kinds.part(recipe.kind, "sheet").sheet(recipe, request)
    return found
