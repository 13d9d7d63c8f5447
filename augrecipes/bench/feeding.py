"""Feeding a training: who should read, and how much of a training step is waiting then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from augrecipes.bench.advice import Advice
from augrecipes.bench.scope import Scope
from augrecipes.bench.sides import STOCK, Setting, Side, all_of
from augrecipes.bench.step import Step
from augrecipes.bench.sweep import Sweep, Swept, advised, no_word_about_cores, sweep
from augrecipes.bench.training import Case, Training, measure
from augrecipes.machine import cores
from augrecipes.progress import Parts


@dataclass(frozen=True)
class Feeding:
    """What was measured of it.

    Attributes:
        sweep: who reads, and how long epochs take then; None: not asked for.
        training: steps with the samples of each side, read in this process, and as is advised; empty: not asked for.
    """

    sweep: Sweep | None = None
    training: tuple[Training, ...] = ()

    def advice_for(self, side: Side) -> Advice | None:
        """Who should read a side's recipe; None: not asked for."""
        return None if self.sweep is None else self.sweep.advice_for(side.recipe)

    def step_ms(self, side: Side) -> float | None:
        """Milliseconds a sample that training takes, without loading; None: not asked for."""
        mine = (one for one in self.training if (one.recipe, one.level) == (side.recipe, side.optimize))
        return next((one.step_ms / one.batch_size for one in mine), None)


def feeding(sides: Sequence[Side], setting: Setting, scope: Scope, step: Step | None, advance: Parts) -> Feeding:
    """Measure what was asked for: a sweep where the scope has workers, a training where there is a step.

    The advice of a sweep knows how long a step takes, and the step is measured again with what is advised.

    Args:
        sides: that are compared. Each recipe is swept at its last setting.
        setting: of them.
        scope: of the sweep, and of each case of the training.
        step: what is trained.
        advance: called with (what is under way, done, of how much).
    """

    def train(cases: Sequence[Case]) -> tuple[Training, ...]:
        if step is None or not cases:
            return ()
        tell = lambda done, total: advance("training", done, total)  # noqa: E731
        with no_word_about_cores():
            return measure(cases, step, scope.batch_size, seconds=scope.seconds, progress=tell)

    fed = Feeding(None, train([Case(side) for side in sides]))
    if not scope.workers:
        return fed
    last = {side.recipe: side for side in sides if side.optimize != STOCK}
    swept = sweep([Swept(name, side.optimize, all_of(side, setting)) for name, side in last.items()], scope, advance)
    steps = {name: ms * scope.batch_size for name, side in last.items() if (ms := fed.step_ms(side)) is not None}
    swept = advised(swept, cores=cores(), batch_size=scope.batch_size, step_ms=steps)
    there = [(last[one.recipe], one) for one in swept.advice if one.workers]
    return Feeding(swept, fed.training + train([Case(side, one.backend, one.workers) for side, one in there]))
