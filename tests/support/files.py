"""Recipes in files."""

from pathlib import Path

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import load


def parse_file(path: Path) -> tuple[Recipe | None, tuple[Diagnostic, ...]]:
    """The recipe of a file, or what is wrong with it."""
    try:
        return load(path), ()
    except RecipeError as error:
        return None, error.problems
