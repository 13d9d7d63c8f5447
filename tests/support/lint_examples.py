"""The example recipes of lints in docs/CODES.md."""

from augrecipes.recipe.codes import Code


def example(entry: Code) -> str:
    """Return the recipe that has the problem."""
    return _without(entry, "+")


def mended(entry: Code) -> str:
    """Return the mended recipe, which no lint reports."""
    return _without(entry, "-")


def _without(entry: Code, mark: str) -> str:
    lines = (line[1:] for line in entry.diff.splitlines() if not line.startswith(mark))
    return "\n".join(("version: 1", "recipe: example", *lines))
