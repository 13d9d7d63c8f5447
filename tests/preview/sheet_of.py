"""The sheet that `preview` draws, before it is drawn."""

from __future__ import annotations

from typing import Any

from augrecipes import kinds
from augrecipes.preview.rows import Asked
from augrecipes.preview.sheet import Sheet
from augrecipes.recipe.loading import as_recipe


def sheet_of(
    recipe: Any, data: Any, *, rows: int = 4, columns: int | None = None, seed: int = 0, epoch: int = 0,
    stages: bool = False, masks: Any = None, **compiled: Any,
) -> Sheet:  # fmt: skip
    """Arguments are those of `preview`."""
    recipe = as_recipe(recipe)
    part = kinds.part(recipe.kind, "sheet")
    asked = Asked(data, rows, columns or part.COLUMNS, seed, epoch, stages, compiled, masks)
    sheet: Sheet = part.sheet(recipe, asked)
    return sheet
