"""One sample as several recipes see it: the same file, at the same key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import DataError
from augrecipes.recipe.model import Recipe
from augrecipes.sources.sample import Sample


@dataclass(frozen=True, slots=True)
class RecipeRun:
    """One recipe, compiled.

    Attributes:
        name: that it is shown under.
        recipe: what it was compiled from.
        pipeline: of it.
        reader: of the data, as the recipe takes them.
    """

    name: str
    recipe: Recipe
    pipeline: Pipeline
    reader: Any


@dataclass(frozen=True, slots=True)
class ComparedSample:
    """One sample, and what each recipe makes of it."""

    given: Sample
    outputs: tuple[dict[str, Any], ...]


def run_sample(sides: Sequence[RecipeRun], k: int, epoch: int) -> ComparedSample:
    """Read a sample for every recipe, and run it.

    Args:
        sides: the recipes.
        k: number of the sample.
        epoch: of the draws.

    Raises:
        DataError: it cannot be read, a step fails, or a recipe reads another file; the file is named.
    """
    given = [side.reader.read(k) for side in sides]
    first = given[0]
    for one, side in zip(given, sides, strict=True):
        if one.path != first.path:
            raise DataError(
                f"sample {k} of {side.name} is another file, {one.path}: they do not read the same", first.path
            )
    try:
        outputs = [one.run(side.pipeline, epoch) for one, side in zip(given, sides, strict=True)]
    except DataError as error:
        raise error if error.path else error.with_path(first.path) from None
    return ComparedSample(first, tuple(outputs))
