"""What `verify` has found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from augrecipes.errors import DataError
from augrecipes.flow import Dtype
from augrecipes.recipe.model import Mode, Optimize, Recipe
from augrecipes.verify.contract import Figure, Promise, Worst

WORST = 3  # samples


@dataclass(frozen=True)
class Verification:
    """What was found.

    Attributes:
        recipe: as it was loaded.
        mode: the section.
        optimize: of the plan.
        seed: of the draws.
        promises: the contract of the plan for each dtype of image that was compared.
        samples: how many were compared, of the dtype that the most were of.
        figures: what was measured, by target and law.
        origins: from each target that comes out to the one that it is made of.
        worst: the samples nearest to, or furthest beyond, what is allowed, the worst first.
        left_out: what was wrong with samples that cannot be read, or that both pipelines refuse.
    """

    recipe: Recipe
    mode: Mode
    optimize: Optimize
    seed: int
    promises: dict[Dtype, Promise]
    samples: int
    figures: tuple[Figure, ...]
    origins: dict[str, str]
    worst: tuple[Worst, ...]
    left_out: tuple[DataError, ...] = ()

    @property
    def promise(self) -> Promise:
        """The contract of the plan, whatever the dtype."""
        return together([*self.promises.values()])

    @property
    def broken(self) -> tuple[Figure, ...]:
        """The laws that do not hold on every sample."""
        return tuple(figure for figure in self.figures if not figure.ok)

    @property
    def ok(self) -> bool:
        """Whether every contract holds."""
        return not self.broken


def together(every: Sequence[Promise]) -> Promise:
    """What all of them together promise."""
    rules = dict.fromkeys(rule for promise in every for rule in promise.rules)
    random = dict.fromkeys(rule for promise in every for rule in promise.random)
    return Promise(any(p.geometry for p in every), max(p.levels for p in every), (*rules,), (*random,))
