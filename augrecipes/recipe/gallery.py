"""The recipes that come with augrecipes: `recipes/` in a checkout, `augrecipes/gallery/` in a wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from augrecipes.errors import RecipeError
from augrecipes.recipe.problems import near

SUFFIX = ".yaml"


@cache
def folder() -> Path:
    """Where the gallery lies."""
    package = Path(__file__).resolve().parent.parent
    packed = package / "gallery"
    return packed if packed.is_dir() else package.parent / "recipes"


@cache
def gallery_names() -> tuple[str, ...]:
    """Names of the gallery's recipes, sorted.

    >>> "folder-128" in gallery_names()
    True
    """
    return tuple(sorted(path.stem for path in folder().glob(f"*{SUFFIX}")))


def path(name: str) -> Path:
    """The file of a gallery recipe.

    Raises:
        RecipeError: the gallery has no such recipe.

    >>> path("folder-128").name
    'folder-128.yaml'
    """
    if name not in gallery_names():
        known = gallery_names()
        raise RecipeError(f"no recipe {name!r} in the gallery{near(name, known).text}; it has {', '.join(known)}")
    return folder() / f"{name}{SUFFIX}"
