"""The share of a training step spent waiting for samples: loading, forward, backward and optimiser are timed in turn.

The GPU is synchronised after each part, as a loop does that prints its loss, so the times are those of the work itself.
Workers read ahead meanwhile. Reading in this process overlaps with nothing; a loop that never synchronises would partly
hide it.
"""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import torch

import augrecipes.data.loader as loading
from augrecipes.bench.sides import Side
from augrecipes.bench.step import LOADING, ModelStep, Wait
from augrecipes.bench.timing import mad
from augrecipes.data.reader_plan import Backend
from augrecipes.progress import Progress

_ROUNDS, _FEWEST_STEPS = 3, 4
_AHEAD = 2  # batches prefetched per worker: the default of torch and of the loader


@dataclass(frozen=True, slots=True)
class StepPart:
    """A part of a training step. Parts run one after another.

    Attributes:
        name: `loading` (waiting for the batch), `to device` (copying it, where the device has memory of its own),
            `device stage` (what the recipe's output leaves to the device), `forward` (the loss included), `backward`,
            `optimiser`; or `loading` and `training step`, if the user gave the step's milliseconds.
        ms: ms per step: the mean over the steps of a pass, of the median pass. Batches of several workers may come in
            bursts, and the median step would not show the wait between them.
        mad: median absolute deviation of `ms` over the passes.
        share: share of the whole step, 0..1; all shares add up to 1.
    """

    name: str
    ms: float
    mad: float
    share: float


@dataclass(frozen=True, slots=True)
class Training:
    """The timing of training steps with the samples of a side.

    Attributes:
        recipe: its name.
        level: `none`, `exact`, `fast`, or `stock`.
        backend: `batches` (read on demand in this process), `threads` or `processes` (which prefetch).
        workers: number of workers; 0 for `batches`.
        device: `cpu`, or `cuda:0` and the GPU's name.
        threads: number of threads that torch uses for the step on the CPU.
        step: the training step: `3 ms, waited for`, or the file, the model, its loss and its optimiser.
        batch_size: samples in a batch.
        steps: number of timed steps.
        parts: the parts of a step, in order.
    """

    recipe: str
    level: str
    backend: str
    workers: int
    device: str
    threads: int
    step: str
    batch_size: int
    steps: int
    parts: tuple[StepPart, ...]

    @property
    def name(self) -> str:
        """Recipe and level."""
        return f"{self.recipe} · {self.level}"

    @property
    def waiting(self) -> float:
        """The share of a step spent waiting for samples, 0..1."""
        return sum(part.share for part in self.parts if part.name == LOADING)

    @property
    def step_ms(self) -> float:
        """Milliseconds per batch, without loading."""
        return sum(part.ms for part in self.parts if part.name != LOADING)


@dataclass(frozen=True)
class Case:
    """A side with the loader's `backend` and number of workers (0 with `batches`).

    Stock does not run in threads.
    """

    side: Side
    backend: Backend = "batches"
    workers: int = 0


def measure(
    cases: Sequence[Case],
    step: Wait | ModelStep,
    batch_size: int,
    *,
    seconds: float,
    progress: Progress = lambda *_: None,
) -> tuple[Training, ...]:
    """Time training steps with the samples of several sides, interleaved pass by pass, over the same samples.

    All cases train the same model, which goes on learning. The number of torch's threads is left as set.

    Args:
        cases: the sides, with their backend and workers.
        step: the training step.
        batch_size: samples in a batch.
        seconds: approximate time for each case; three passes of at least four steps.
        progress: called with (passes done, passes), a first one of each case among them.

    Raises:
        BenchError: the model, its loss or its optimiser fails.
        DataError: the data cannot be read, or a step of a recipe fails.
        CollateError: samples do not fit into one batch.
    """
    runs = []
    for k, case in enumerate(cases):
        progress(k, len(cases) * (1 + _ROUNDS))
        # A pass of a few steps warms everything up and finds errors.
        trial = _CaseRun(case, step, batch_size, max(_FEWEST_STEPS, 2 * case.workers))
        with closing(trial.batches):
            a_step = sum(trial.once().values()) / 1e3
        steps = int(seconds / a_step / _ROUNDS) - trial.untimed
        runs.append(_CaseRun(case, step, batch_size, max(trial.steps, steps)))
    with ExitStack() as stack:
        for run in runs:
            stack.enter_context(closing(run.batches))
        for turn in range(_ROUNDS):
            for k, run in enumerate(runs[::-1] if turn % 2 else runs):
                run.passes.append(run.once())
                progress((1 + turn) * len(runs) + k + 1, (1 + _ROUNDS) * len(runs))
    return tuple(run.summary() for run in runs)


class _CaseRun:
    """A case in progress, which runs passes of a number of timed steps."""

    def __init__(self, case: Case, step: Wait | ModelStep, batch_size: int, steps: int) -> None:
        self.case, self.steps, self.passes = case, steps, list[dict[str, float]]()
        self._train, self._batch_size = step.for_recipe(case.side.source), batch_size
        # The first batches meet empty queues. Workers must have more to read until the last timed step.
        self.untimed = 1 + _AHEAD * case.workers
        batches = self.untimed + steps + _AHEAD * case.workers
        self.batches = loading.loader(
            case.side.dataset, batch_size, num_workers=case.workers, backend=case.backend, prefetch_factor=_AHEAD,
            samples_per_epoch=batches * batch_size, persistent_workers=case.backend == "processes",
        )  # fmt: skip

    def once(self) -> dict[str, float]:
        """Run a pass; returns the mean milliseconds per step, by part."""
        self.case.side.rewind()
        self.batches.set_epoch(0)
        spent: defaultdict[str, float] = defaultdict(float)
        last = perf_counter()

        def mark(part: str) -> None:
            """Synchronise the device and assign the time since the last part's end to a part."""
            nonlocal last
            self._train.device.wait()
            now = perf_counter()
            spent[part] += now - last
            last = now

        for number, batch in enumerate(self.batches):
            if number == self.untimed:
                spent.clear()
            if number < self.untimed + self.steps:
                mark(LOADING)
                self._train(batch, mark)
        return {part: 1e3 * seconds / self.steps for part, seconds in spent.items()}

    def summary(self) -> Training:
        """Return the timing over all passes."""
        columns = {part: [spent[part] for spent in self.passes] for part in self.passes[0]}
        medians = {part: float(np.median(column)) for part, column in columns.items()}
        whole, device, side = sum(medians.values()), self._train.device.name, self.case.side
        parts = tuple(StepPart(name, ms, mad(columns[name]), ms / whole) for name, ms in medians.items())
        return Training(
            side.recipe, side.optimize, self.case.backend, self.case.workers, device, torch.get_num_threads(),
            self._train.text, self._batch_size, self.steps * len(self.passes), parts,
        )  # fmt: skip
