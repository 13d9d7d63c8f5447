"""A studio for a recipe and data as users name them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from augrecipes.errors import RecipeError
from augrecipes.ops.registry import effective
from augrecipes.recipe import gallery
from augrecipes.recipe.loading import Source, find, load
from augrecipes.recipe.model import Recipe, Step
from augrecipes.recipe.write import text_of, to_yaml
from augrecipes.sources.opening import Data
from augrecipes.sources.stored import Store
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
        data: as `augrecipes.preview` takes them, or a packed store; None: the demo's pictures.
        masks: a folder of masks that match the images' names.
        read_only: never write the file.

    Raises:
        RecipeError: no recipe is called so.
        StoreError: the data are a packed store that is damaged.
        DataError: masks beside a store.
    """
    _run_plugins(recipe)
    more: dict[str, Any] = {"data": data, "masks": masks, "read_only": read_only}
    if recipe is None:
        made = Studio(text=NEW, **more)
        made.text = begun(made.shelf.store) if made.shelf.store is not None else NEW
        return made
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


def begun(store: Store) -> str:
    """A recipe that begins with the steps that a store was packed with, for want of another."""
    about = store.about
    of_kind: dict[str, Any] = {"kind": store.kind}
    of_kind |= {"scales": about["scales"]} if about["scales"] else {}
    steps = text_of({"steps": [*map(_written, about["steps"])]}) if about["steps"] else "steps:\n"
    return text_of({"version": 1, "recipe": "my-recipe", **of_kind}) + steps + "  - HorizontalFlip\neval: derived\n"


def _written(described: Mapping[str, Any]) -> Any:
    """A step of a store's index as a recipe writes it: without what its class does anyway."""
    name = described["step"]
    usual = {} if "steps" in described else json.loads(json.dumps(effective(Step(name)), default=str))
    said = {key: value for key, value in described.items() if key not in ("step", "site", "steps")}
    given: dict[str, Any] = {key: value for key, value in said.items() if key not in usual or value != usual[key]}
    if "#" not in (site := described.get("site", "#")):  # the step had an id, which decides its draws
        given["id"] = site
    if "steps" in described:
        given["steps"] = [_written(step) for step in described["steps"]]
    return {name: given} if given else name
