"""`load`: a recipe by gallery name, from a file, or written in Python; with overrides."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.recipe import gallery, parse
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.problems import near
from augrecipes.recipe.write import text_of

Source = str | os.PathLike[str] | Mapping[str, Any]  # of a recipe: what `load` takes


def load(
    source: Source,
    *,
    overrides: Mapping[str, Any] | None = None,
    without: Sequence[str] = (),
    plugins: bool = True,
) -> Recipe:
    """A recipe: of the gallery, from a file, or written in Python.

    Args:
        source: a gallery name such as `"folder-128"`; or a path: what ends in .yaml or .yml, holds a separator, or
            names a file and no gallery recipe; or YAML text, which has a line break; or what such text would hold, as
            a mapping. Text and mappings can extend recipes of the gallery, not files.
        overrides: values by address, as in a variant's `set:`, such as `{"RandomCrop.height": 64}`.
        without: addresses of steps to leave out, as in a variant's `without:`.
        plugins: run the plugins of installed packages that it names. False, for the recipes of strangers: it may name
            those that this program has run already, and no others; so with classes that installed packages announce.

    Raises:
        RecipeError: it is no valid recipe; `problems` lists everything that is wrong.

    >>> load("folder-128").name
    'folder-128'
    >>> load({"version": 1, "recipe": "mine", "steps": ["HorizontalFlip", {"Rotate": {"limit": 10}}]}).steps[1].site
    'Rotate#1'
    """
    if isinstance(source, Mapping):
        return parse.parse_text(text_of(source), overrides=overrides, without=without, plugins=plugins)
    if isinstance(source, str) and "\n" in source:
        return parse.parse_text(source, overrides=overrides, without=without, plugins=plugins)
    recipe, problems = parse.parse_file(find(source), overrides=overrides, without=without, plugins=plugins)
    if recipe is None:
        raise RecipeError(problems=problems)
    return recipe


def as_recipe(recipe: Recipe | Source) -> Recipe:
    """A Recipe as it is, and whatever else `load` takes loaded."""
    return recipe if isinstance(recipe, Recipe) else load(recipe)


def find(name_or_path: str | os.PathLike[str]) -> Path:
    """The file of a recipe by gallery name or path; the file of a path may be missing.

    Raises:
        RecipeError: neither a recipe of the gallery nor a path.

    >>> find("folder-128").name
    'folder-128.yaml'
    """
    text = os.fsdecode(name_or_path)
    if text in gallery.gallery_names():
        return gallery.path(text)
    path = Path(text)
    if path.suffix in (".yaml", ".yml") or len(path.parts) > 1 or path.exists() or not isinstance(name_or_path, str):
        return path
    names = gallery.gallery_names()
    hint = near(text, names).text or f"; it has {', '.join(names)}"
    message = f"neither a file nor a recipe of the gallery{hint}"
    raise RecipeError(problems=[Diagnostic(message, 1, 1, "E101", text, text)])
