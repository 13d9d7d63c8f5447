"""The sheet that `preview` draws, before it is drawn."""

from __future__ import annotations

from typing import Any

from augrecipes.preview import sheet_of as preview_sheet
from augrecipes.preview.rows import SheetRequest
from augrecipes.preview.sheet import Sheet
from augrecipes.recipe.parse import as_recipe


def sheet_of(
    recipe: Any, data: Any, *, rows: int = 4, columns: int = 6, epoch: int = 0, stages: bool = False, masks: Any = None,
    **compiled: Any,
) -> Sheet:  # fmt: skip
    """Arguments are those of `preview`."""
    return preview_sheet(as_recipe(recipe), SheetRequest(data, rows, columns, epoch, stages, compiled, masks))
