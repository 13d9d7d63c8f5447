"""How long every step takes on the user's images, in the recipe as written and as planned.

Time is charged to the step that does the work; see `augrecipes.compiler.run.clock.clocked`.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from augrecipes.compiler.compile import build, check
from augrecipes.compiler.rewrite.nodes import opened
from augrecipes.compiler.run.batch_threads import cv2_single_thread
from augrecipes.compiler.run.clock import REST, SINK, Clock, clocked, median_run
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.machine import no_collection
from augrecipes.progress import Progress
from augrecipes.recipe.model import Mode, Optimize, Recipe

SECONDS = 2.0  # for each of the two plans
_MOST_SAMPLES, _FEWEST_SAMPLES = 64, 4
_ROUNDS = 7  # runs of each sample, where time allows; never fewer than `_LEAST_ROUNDS`
_LEAST_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Times:
    """The time that one plan takes, in ms per sample.

    Attributes:
        steps: by label, every step, those inside groups too; a group's time includes its children's. In samples where
            a step does not act it counts as 0. Programs defer work: a crop takes nothing, and the step or the sink
            that computes its pixels takes the time.
        sink: normalisation, dtype, layout, and whatever work was still deferred.
        overhead: keys, checks and all else that runs between the steps.
        whole: the total.
    """

    steps: dict[str, float] = field(compare=False)  # an explanation has them in its rows of steps
    sink: float
    overhead: float
    whole: float


@dataclass(frozen=True, slots=True)
class PlanTiming:
    """The time that a recipe takes before and after the optimiser.

    Attributes:
        before: the recipe as written.
        after: the recipe as planned.
        ratio: before over after, the median over the rounds.
        spread: the median absolute deviation of the rounds' ratios.
        samples: how many draws were timed.
        rounds: how many times each was run.
        what: the images that were measured: file and size.
    """

    before: Times
    after: Times
    ratio: float
    spread: float
    samples: int
    rounds: int
    what: str = ""


def measure(
    recipe: Recipe,
    targets: dict[str, Any],
    *,
    mode: Mode = "train",
    optimize: Optimize | None = None,
    seed: int = 0,
    seconds: float = SECONDS,
    progress: Progress | None = None,
    resumes: bool = False,
    between: Callable[[], object] | None = None,
) -> PlanTiming:
    """Time the steps of a recipe, unoptimised and optimised, interleaved, with the same draws, on one thread.

    Each sample is run in several rounds and counts by the round of median time, so that the times of its steps add up;
    the times reported are means over the samples.

    Args:
        recipe: a recipe of any kind.
        targets: the arguments of the pipeline: images, masks, boxes...
        mode: `train` or `eval`.
        optimize: `none`, `exact` or `fast`; None: the recipe's own choice.
        seed: the seed of the draws.
        seconds: rough time budget for each of the two plans.
        progress: called with (rounds done, rounds in all).
        resumes: the images are the output of an earlier part of the recipe.
        between: called before every sample and every step that Python runs; an exception from it ends the measurement.

    Raises:
        DataError: a step fails on the images.
        LintError, RecipeError: as `Recipe.compile`.

    >>> import numpy as np, augrecipes as ar
    >>> found = measure(ar.load("folder-128"), {"image": np.zeros((200, 300, 3), np.uint8)}, seconds=0.05)
    >>> list(found.before.steps)
    ['SmallestMaxSize#1', 'RandomCrop#1', 'HorizontalFlip#1']
    >>> list(found.after.steps)
    ['SmallestMaxSize#1', 'RandomCrop#1', 'HorizontalFlip#1']
    """
    check(recipe)
    plain, planned = (
        _TimedPipeline(build(recipe, mode, level, seed, threads=1, resumes=resumes), targets, between)
        for level in ("none", optimize or recipe.optimize)
    )
    with cv2_single_thread:
        for index in range(_FEWEST_SAMPLES):  # warm-up
            slower = max(plain.run(index), planned.run(index))
        samples = max(_FEWEST_SAMPLES, min(_MOST_SAMPLES, int(seconds / _ROUNDS / slower)))
        rounds = max(_LEAST_ROUNDS, min(_ROUNDS, int(seconds / samples / slower)))
        plain.runs.clear()
        planned.runs.clear()
        ratios = []
        for done in range(rounds):
            before = after = 0.0
            for index in range(samples):
                before += plain.run(index)
                after += planned.run(index)
            ratios.append(before / after)
            if progress:
                progress(done + 1, rounds)
    ratio = median(ratios)
    spread = median(abs(other - ratio) for other in ratios)
    return PlanTiming(plain.times(), planned.times(), ratio, spread, samples, rounds)


class _TimedPipeline:
    """A pipeline with clocks around its steps; it is compiled for this alone, because clocks cost time."""

    def __init__(
        self, pipeline: Pipeline, targets: dict[str, Any], between: Callable[[], object] | None = None
    ) -> None:
        self.pipeline, self.targets, self._between = pipeline, targets, between
        self._clock = Clock()
        self.runs: dict[int, list[dict[str, float]]] = defaultdict(list)  # by sample, the seconds of its parts
        clocked(pipeline, self._clock, between=between)

    def run(self, index: int) -> float:
        """Run one sample and return its seconds."""
        if self._between is not None:
            self._between()
        call = self.pipeline.at(index)
        self._clock.take()
        with no_collection(), self._clock.stage(REST):
            call(**self.targets)
        parts = self._clock.take()
        self.runs[index].append(parts)
        return sum(parts.values())

    def times(self) -> Times:
        """The mean times over the samples, each by its median run."""
        medians = [median_run(runs) for runs in self.runs.values()]
        own: dict[str, float] = defaultdict(float)
        for parts in medians:
            for label, seconds in parts.items():
                own[label] += 1e3 * seconds / len(medians)
        tops = self.pipeline.nodes()
        steps = {node.site: sum(own[inner.site] for inner in opened(node)) for top in tops for node in opened(top)}
        sink, whole = own[SINK], sum(own.values())
        return Times(steps, sink, whole - sink - sum(steps[top.site] for top in tops), whole)
