"""Plan how much training fits into the minutes of a trial, from a short rehearsal of it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from augrecipes.trials.ablation import most_runs
from augrecipes.trials.record import TrialPlan
from augrecipes.trials.statistics import ALPHA, smallest_difference
from augrecipes.trials.training import Trainee, Trainer, TrainingResult, threads_of_torch

_STEPS = 5  # of the rehearsal, for each recipe
_REHEARSED = 0.1  # most of the time; recipes beyond that are taken to cost as much as those rehearsed
_FEWEST, _MOST_EPOCHS = 8, 100  # steps and epochs of a training
_POINTS = 4  # of the curve
_USABLE = 0.7  # of the time; the rest is a reserve for a machine that slows down: seeds must run in full
_VALIDATING = 0.3  # of the time, at most
_LEAST_SCORED, _MOST_SCORED = 32, 2_000  # validation samples
_DISAGREEMENT = 0.1  # share of samples on which two networks differ, at least, where scores are shares


def rehearse(
    trainer: Trainer, trainees: Sequence[Trainee], minutes: float, seeds: int, epochs: float | None,
    elapsed: Callable[[], float], rungs: Callable[[int], tuple[int, ...]], arms: int, pairs: int,
) -> TrialPlan:  # fmt: skip
    """Train a few steps under each recipe, and plan what fits into the minutes.

    Args:
        trainer: trains all of them.
        trainees: each is trained with each seed.
        minutes: budget of the whole trial.
        seeds: the most that may be planned.
        epochs: length of each training; None: as many as fit.
        elapsed: returns the seconds since the trial began.
        rungs: returns the rungs of a number of seeds, where an ablation drops arms; other trials have one rung.
        arms: number of recipes, the whole recipe of an ablation included.
        pairs: number of comparisons between recipes.
    """
    first = trainees[0]
    part = np.arange(min(len(first.valid), _LEAST_SCORED))
    runs: list[TrainingResult] = []
    for trainee in trainees:
        short = replace(trainee, valid=trainee.valid.subset(part), augmented={})
        if not runs:
            trainer.train(short, 0, 2, 1)  # a warm-up, not measured
        runs.append(trainer.train(short, 0, _STEPS, 1))
        if elapsed() > _REHEARSED * 60 * minutes:
            break
    scale = len(trainees) / len(runs)
    step = scale * sum(run.step_seconds for run in runs)
    start = scale * sum(run.seconds - run.train_seconds - run.valid_seconds * len(part) for run in runs)
    by_sample = scale * sum(run.valid_seconds for run in runs)
    once = by_sample / len(trainees) * sum(len(trainee.augmented) for trainee in trainees)
    most = min(len(first.valid), _MOST_SCORED)
    steps_per_epoch = max(1, len(first.train) // trainer.batch_size)
    seconds = _USABLE * (60 * minutes - elapsed())

    def work(seeds: int) -> float:
        """The most work for so many seeds, in units of one seed of all recipes."""
        return most_runs(rungs(seeds), arms - 1) / arms

    def fitting(seeds: int) -> tuple[int, int, int]:
        """Steps, points of the curve, and validation samples, for so many seeds."""
        left = max(seconds / work(seeds) - start, 1e-9)
        validating = _VALIDATING * left
        points = max(1, min(_POINTS, int((validating / most - once) / by_sample)))
        valid = min(most, max(_LEAST_SCORED, int(validating / (points * by_sample + once))))
        if epochs is not None:
            return max(1, round(epochs * steps_per_epoch)), points, valid
        steps = int((left - valid * (points * by_sample + once)) / step)
        return min(steps // steps_per_epoch, _MOST_EPOCHS) * steps_per_epoch or steps, points, valid

    fit = seeds
    while fit > 1 and epochs is None and fitting(fit)[0] < _FEWEST:
        fit -= 1
    steps, points, valid = fitting(fit)
    steps = max(steps, 1 if epochs is not None else _FEWEST)
    planned = start + steps * step + valid * (points * by_sample + once)
    if epochs is not None:
        fit = next((n for n in range(seeds, 1, -1) if work(n) * planned <= seconds), 1)
    differences = [np.subtract(a.scores, b.scores).std() for a, b in combinations(runs, 2)]
    floor = 0.0 if trainer.lesson.unit else _DISAGREEMENT**0.5
    noise = max([*differences, floor]) / valid**0.5
    return TrialPlan(
        minutes=minutes, seeds=fit, asked=seeds, epochs=round(steps / steps_per_epoch, 3), steps=steps,
        batch_size=trainer.batch_size, train=len(first.train), valid=valid, points=points,
        rehearsal=elapsed(), seconds=planned,
        detectable=smallest_difference(noise, fit, pairs, ALPHA / len(rungs(fit))),
        device=trainer.device.name, threads=threads_of_torch(),
    )  # fmt: skip
