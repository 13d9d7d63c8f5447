"""Load recipes from files."""

from pathlib import Path

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import load


def parse_file(path: Path) -> tuple[Recipe | None, tuple[Diagnostic, ...]]:
    """Return the recipe of a file, or None and its problems."""
    try:
        return load(path), ()
    except RecipeError as error:
        return None, error.problems
