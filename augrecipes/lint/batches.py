"""L8: what a recipe says of whole batches."""

from __future__ import annotations

from augrecipes.lint.record import Finding, Findings, rule
from augrecipes.lint.walk import after, arriving, on_one_grid
from augrecipes.recipe.model import Recipe


@rule("L801", "batch-size-differs")
def batch_size_differs(recipe: Recipe) -> Findings:
    """Steps of `batch:` behind steps that may leave images of different sizes."""
    size = arriving(recipe)
    for step in next(on_one_grid(recipe)) if recipe.batch else ():
        size = after(step, size)
    if recipe.batch and not size.exact:
        message = f"{recipe.batch[0].name} mixes images of one size; end `steps:` in a crop of fixed size"
        yield Finding(message, recipe.batch[0])
