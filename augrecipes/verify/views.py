"""Views are verified one name at a time, as recipes of one image, and reported as targets of one sample."""

from __future__ import annotations

from dataclasses import dataclass, replace

from augrecipes.recipe.model import Recipe
from augrecipes.sources.sample import RecipeSource, Sample
from augrecipes.verify.verification import WORST, Verification, together


@dataclass
class Numbered:
    """Samples, of which each stands for a view of another number, so that all are looked at."""

    reader: RecipeSource
    count: int

    def __len__(self) -> int:
        return len(self.reader)

    def read(self, number: int) -> Sample:
        """One sample, at the key of a view."""
        return replace(self.reader.read(number), tile=number % self.count)


def of_views(recipe: Recipe, found: dict[str, Verification]) -> Verification:
    """What was found of each view, as of targets of one sample."""
    first, *_ = every = [*found.values()]
    figures = [
        replace(figure, target=name if figure.target == "image" else f"{name}_{figure.target}")
        for name, one in found.items()
        for figure in one.figures
    ]
    worst = sorted((one for of in every for one in of.worst), key=lambda one: not one.readings[0].broken)
    return replace(
        first, recipe=recipe, figures=tuple(figures), worst=(*worst[:WORST],), origins=dict.fromkeys(found, "image"),
        promises={dtype: together([one.promises[dtype] for one in every]) for dtype in first.promises},
        left_out=tuple({str(error): error for one in every for error in one.left_out}.values()),
    )  # fmt: skip
