"""How long every step takes, on images of one's own: a recipe as it is written, and as it is planned.

Time belongs to what does the work; see `augrecipes.compiler.run.clock.clocked`.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from augrecipes.compiler.compile import build, check
from augrecipes.compiler.rewrite.nodes import opened
from augrecipes.compiler.run.clock import REST, SINK, Clock, clocked, median_run
from augrecipes.compiler.run.opencv_threads import cv2_single_thread
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.machine import no_collection
from augrecipes.progress import Progress
from augrecipes.recipe.model import Mode, Optimize, Recipe

SECONDS = 2.0  # for each of both
_MOST_SAMPLES, _FEWEST_SAMPLES = 64, 4
_ROUNDS = 7  # that a sample is run again in, where time allows; never fewer than the least
_LEAST_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Times:
    """What one plan takes, in ms a sample.

    Attributes:
        steps: by label, the steps that run and those inside groups; a group's time has its children's in it. A step
            that acts in some samples only counts as nothing in the others. A program puts work off: a crop takes
            nothing, and the step or the sink that makes its pixels takes it all.
        sink: normalisation, dtype, layout; and what no step has made before it.
        overhead: keys, checks and what else runs between the steps.
        whole: all of it.
    """

    steps: dict[str, float] = field(compare=False)  # which stand with the steps in an explanation
    sink: float
    overhead: float
    whole: float


@dataclass(frozen=True, slots=True)
class PlanTiming:
    """What a recipe takes before and after the optimiser.

    Attributes:
        before: as it is written.
        after: as it is planned.
        ratio: before over after: the median over the rounds.
        spread: the median distance of the rounds from it.
        samples: how many draws were timed.
        rounds: how often each.
        what: the images that it was measured on: file and size.
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
    """Time the steps of a recipe, unoptimised and optimised, in turns and with the same draws, on one thread.

    Each sample is run in several rounds. The round that takes the median time stands for it, so that the times of its
    steps add up; times are means over the samples.

    Args:
        recipe: of any kind.
        targets: what a pipeline is called with: images, and what lies on them.
        mode: `train` or `eval`.
        optimize: of the plan; None: the recipe's own choice.
        seed: of the draws.
        seconds: for each of both, roughly.
        progress: called with (rounds done, rounds in all).
        resumes: the images come as an earlier part of the recipe has left them.
        between: called before every sample, and every step that Python runs; what it raises ends it.

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
        _TimedPipeline(build(recipe, mode, one, seed, threads=1, resumes=resumes), targets, between)
        for one in ("none", optimize or recipe.optimize)
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
    spread = median(abs(one - ratio) for one in ratios)
    return PlanTiming(plain.times(), planned.times(), ratio, spread, samples, rounds)


class _TimedPipeline:
    """A pipeline of its own whose steps are timed: ordinary pipelines know nothing of clocks."""

    def __init__(
        self, pipeline: Pipeline, targets: dict[str, Any], between: Callable[[], object] | None = None
    ) -> None:
        self.pipeline, self.targets, self._between = pipeline, targets, between
        self._clock = Clock()
        self.runs: dict[int, list[dict[str, float]]] = defaultdict(list)  # by sample, the seconds of its parts
        clocked(pipeline, self._clock, between=between)

    def run(self, index: int) -> float:
        """Run one sample; its seconds."""
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
        """The means of the median runs."""
        medians = [median_run(runs) for runs in self.runs.values()]
        own: dict[str, float] = defaultdict(float)
        for parts in medians:
            for label, seconds in parts.items():
                own[label] += 1e3 * seconds / len(medians)
        tops = self.pipeline.nodes()
        steps = {node.site: sum(own[inner.site] for inner in opened(node)) for top in tops for node in opened(top)}
        sink, whole = own[SINK], sum(own.values())
        return Times(steps, sink, whole - sink - sum(steps[top.site] for top in tops), whole)
