"""The recipes in the examples of lints, docs/CODES.md."""

from augrecipes.recipe.codes import Code


def example(entry: Code) -> str:
    """A recipe that the lint speaks of."""
    return _without(entry, "+")


def mended(entry: Code) -> str:
    """The recipe mended; no lint speaks of it."""
    return _without(entry, "-")


def _without(entry: Code, mark: str) -> str:
    lines = (line[1:] for line in entry.diff.splitlines() if not line.startswith(mark))
    return "\n".join(("version: 1", "recipe: example", *lines))
