"""What `eval: derived` makes of each step, for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from augrecipes.compiler.prefix import brief, described
from augrecipes.recipe.derive import DerivedRow, derive
from augrecipes.recipe.model import Recipe


@dataclass(frozen=True, slots=True)
class DerivedStep:
    """A step of training, what stands for it in evaluation, and why.

    Attributes:
        site: of the step of training.
        depth: in groups.
        becomes: the steps of evaluation in a line each; of a group whose steps are told one by one, none.
        why: in a few words.
    """

    site: str
    depth: int
    becomes: tuple[str, ...]
    why: str


def derived_steps(recipe: Recipe) -> tuple[DerivedStep, ...]:
    """A row for every step of training; none where the recipe says something else than `eval: derived`.

    >>> import augrecipes as ar
    >>> [row.becomes for row in derived_steps(ar.load("folder-128", overrides={"eval": "derived"}))]
    [('SmallestMaxSize(interpolation: area, max_size: 128)',), ('CenterCrop(height: 128, width: 128)',), ()]
    """
    return tuple(_listed(derive(recipe.steps, recipe.scales.plain()), 0)) if recipe.derived else ()


def _listed(rows: Iterable[DerivedRow], depth: int) -> Iterator[DerivedStep]:
    for row in rows:
        becomes = () if row.inner else tuple(brief(described(step)) for step in row.becomes)
        yield DerivedStep(row.step.site, depth, becomes, row.why)
        yield from _listed(row.inner, depth + 1)
