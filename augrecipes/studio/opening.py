"""A studio for a recipe and data as users name them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from augrecipes.data.reading.listing import Data
from augrecipes.errors import DataError, RecipeError
from augrecipes.pack.check import remains
from augrecipes.recipe import gallery
from augrecipes.recipe.loading import Source, find, load
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.write import text_of, to_yaml
from augrecipes.studio.studio import Studio

NEW = """version: 1
recipe: my-recipe
steps:
  - RandomResizedCrop: {size: [224, 224], scale: [0.5, 1.0]}
  - HorizontalFlip
  - ColorJitter: {brightness: 0.2, contrast: 0, saturation: 0.2, hue: 0.05}
eval: derived
output: {dtype: float32, layout: chw, normalize: imagenet}
"""


def opened(
    recipe: Recipe | Source | None, data: Data | None = None, *, masks: Any = None, read_only: bool = False
) -> Studio:
    """A studio, before anybody can ask it.

    Args:
        recipe: a file, which may be missing still, and which is what the page writes; or what `augrecipes.load` takes
            beside, a Recipe, or None for a small one to begin with: these have no file.
        data: as `augrecipes.preview` takes them; None: the demo's pictures.
        masks: a folder of masks that match the images' names.
        read_only: never write the file.

    Raises:
        RecipeError: no recipe is called so.
        DataError: the data are a packed store.
    """
    if isinstance(data, str | os.PathLike) and Path(data).is_dir() and remains(Path(data)):
        message = "is a packed store, which ar.Packed reads: give the files it was packed from"
        raise DataError(message, os.fsdecode(data))
    _run_plugins(recipe)
    more: dict[str, Any] = {"data": data, "masks": masks, "read_only": read_only}
    if recipe is None:
        return Studio(text=NEW, **more)
    if isinstance(recipe, Recipe):
        return Studio(text=to_yaml(recipe), **more)
    if isinstance(recipe, Mapping):
        return Studio(text=text_of(recipe), **more)
    if isinstance(recipe, str) and "\n" in recipe:
        return Studio(text=recipe, **more)
    path = find(recipe)
    if isinstance(recipe, str) and recipe in gallery.gallery_names():
        return Studio(text=path.read_text(encoding="utf-8"), **more)
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise RecipeError(f"{path}: no file, and none can be written there")
    return Studio(file=path.resolve(), text="" if path.exists() else NEW, **more)


def _run_plugins(recipe: Recipe | Source | None) -> None:
    """Run the plugins that the recipe names: whoever opens it asks for them. What pages send later runs none."""
    if recipe is not None and not isinstance(recipe, Recipe):
        with suppress(RecipeError):  # the page shows what is wrong
            load(recipe)
