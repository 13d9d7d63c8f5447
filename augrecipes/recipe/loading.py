"""`load`: a recipe by gallery name or path, with overrides."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.recipe import gallery, parse, spelling
from augrecipes.recipe.model import Recipe


def load(
    name_or_path: str | os.PathLike[str],
    *,
    overrides: Mapping[str, Any] | None = None,
    without: Sequence[str] = (),
) -> Recipe:
    """A recipe by its gallery name or path.

    Args:
        name_or_path: a gallery name such as `"folder-128"`, or a path. What ends in .yaml or .yml, holds a
            separator, or names a file and no gallery recipe, is a path.
        overrides: values by address, as in a variant's `set:`, such as `{"RandomCrop.height": 64}`.
        without: addresses of steps to leave out, as in a variant's `without:`.

    Raises:
        RecipeError: it is no valid recipe; `problems` lists everything that is wrong.

    >>> load("folder-128").name
    'folder-128'
    """
    recipe, problems = parse.parse_file(find(name_or_path), overrides=overrides, without=without)
    if recipe is None:
        raise RecipeError(problems=problems)
    return recipe


def find(name_or_path: str | os.PathLike[str]) -> Path:
    """The file of a recipe by gallery name or path; the file of a path may be missing.

    Raises:
        RecipeError: neither a recipe of the gallery nor a path.

    >>> find("folder-128").name
    'folder-128.yaml'
    """
    text = os.fsdecode(name_or_path)
    if text in gallery.names():
        return gallery.path(text)
    path = Path(text)
    if path.suffix in (".yaml", ".yml") or len(path.parts) > 1 or path.exists() or not isinstance(name_or_path, str):
        return path
    names = gallery.names()
    hint = spelling.hint(text, names) or f"; it has {', '.join(names)}"
    message = f"neither a file nor a recipe of the gallery{hint}"
    raise RecipeError(problems=[Diagnostic(message, 1, 1, "E101", text, text)])
