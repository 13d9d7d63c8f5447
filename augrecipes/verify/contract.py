"""What a plan promises: the contracts of the rules that made it; and the two pipelines that are compared for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import DataError
from augrecipes.flow import Dtype
from augrecipes.recipe.model import Optimize, Recipe, RuleName

# What float32 and float16 outputs round off, in levels of 0..255: the sinks of `none` and `fast` agree to 1e-6.
_ROUNDING = {"uint8": 0.0, "float32": 1e-3, "float16": 0.15}


@dataclass(frozen=True, slots=True)
class Promise:
    """The contract of a whole plan.

    Attributes:
        geometry: merged resamplings took part: images are compared by where their pixels come from.
        levels: by how many levels of 0..255 colours may differ, the rules' levels added up; 0: not at all.
        rules: names of the rules that fired, in order.
        random: of those, the ones whose contract is the distribution of random numbers.

    >>> str(Promise()), str(Promise(geometry=True)), str(Promise(levels=2)), str(Promise(True, 2))
    ('EXACT', 'GEOMETRY', 'LEVELS(2)', 'GEOMETRY + LEVELS(2)')
    >>> str(Promise(levels=0.02)), str(Promise(random=("own_noise",)))
    ('LEVELS(0.02)', 'DISTRIBUTION')
    """

    geometry: bool = False
    levels: float = 0
    rules: tuple[str, ...] = ()
    random: tuple[RuleName, ...] = ()

    def __str__(self) -> str:
        parts = [self.geometry and "GEOMETRY", self.levels and self.colours, self.random and "DISTRIBUTION"]
        return " + ".join(part for part in parts if part) or "EXACT"

    @property
    def colours(self) -> str:
        """The contract of the colours alone."""
        return f"LEVELS({self.levels:g})" if self.levels else "EXACT"

    def compared(self, recipe: Recipe) -> Recipe:
        """The recipe with the random numbers of `none`: what its images can be compared by, value by value."""
        return replace(recipe, without_rules=(*recipe.without_rules, *self.random)) if self.random else recipe


def promise_of(pipeline: Pipeline, dtype: Dtype) -> Promise:
    """The promise of a compiled recipe for images of `dtype`."""
    fired = pipeline.compiled.plans[dtype].fired
    return Promise(
        geometry=any(firing.contract == "GEOMETRY" for firing in fired),
        levels=sum(firing.levels for firing in fired),
        rules=tuple(firing.rule for firing in fired),
        random=tuple(dict.fromkeys(cast(RuleName, f.rule) for f in fired if f.contract == "DISTRIBUTION")),
    )


def rounding(optimize: Optimize, dtype: str) -> float:
    """By how many levels two equal images may differ in an output of `dtype`.

    >>> rounding("exact", "float32"), rounding("fast", "float32")
    (0.0, 0.001)
    """
    return _ROUNDING[dtype] if optimize == "fast" else 0.0


class Two(NamedTuple):
    """The pipeline that counts, and the one that is checked."""

    plain: Any
    fast: Any


class PlanDiffersError(Exception):
    """The plan refuses what the recipe takes, or the other way round, or gives something of another kind."""


class Planned:
    """The optimised pipeline, whose refusals are no DataError: the recipe's own would be."""

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline

    def __getattr__(self, name: str) -> Any:
        return getattr(self.pipeline, name)

    def again(self, *compiled: Any) -> Planned:
        """As the pipeline's."""
        return Planned(self.pipeline.again(*compiled))

    def at(self, index: int, epoch: int, tile: int) -> Callable[..., dict[str, Any]]:
        """As the pipeline's."""

        def run(**targets: Any) -> dict[str, Any]:
            try:
                done: dict[str, Any] = self.pipeline.at(index, epoch, tile)(**targets)
            except DataError as error:
                raise PlanDiffersError from error
            return done

        return run
