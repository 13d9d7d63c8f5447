"""Native programs in tests: samples run by programs alone, and faults planted in programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from augrecipes.compiler.executor.program import ExitReached, Program
from augrecipes.compiler.run.program_run import PythonFallback

RUN_BATCH = Program.run_batch


def by_programs(pipeline: Any, index: int, sample: dict[str, Any], epoch: int = 2) -> dict[str, Any] | None:
    """Run a sample by native programs, from exit to exit; None if it falls back to Python."""
    try:
        made: dict[str, Any] = pipeline.program_runner.run((epoch, index, 0), sample, np.empty)
    except PythonFallback:
        return None
    return made


def with_results(spoil: Callable[[np.ndarray], object], of: np.ndarray | None = None) -> Any:
    """Return a faulty `Program.run_batch`: `spoil` changes results in place, or only those `of` one image."""

    def run_batch(self: Program, epoch: int, keys: Any, images: Any, rows: Any, *more: Any, **named: Any) -> Any:
        found: list[Any] = []

        def watched(*what: Any) -> Any:
            found.append(rows(*what))
            return found[-1]

        left = RUN_BATCH(self, epoch, keys, images, watched, *more, **named)
        if left is not None and found and found[-1] is not None:
            out, at = found[-1]
            for k in {*range(len(images))}.difference(left):
                if of is None or images[k] is of:
                    spoil(out[at[k]])
        return left

    return run_batch


def _raise_last(result: np.ndarray) -> None:
    result[(-1,) * result.ndim] += 1


def one_level_off(of: np.ndarray | None = None) -> Any:
    """Return a faulty `Program.run_batch` that changes the last value of a result."""
    return with_results(_raise_last, of)


def a_step_too_far(
    self: Program, epoch: int, keys: Any, images: Any, rows: Any, begin: int = -1, *more: Any, **named: Any
) -> Any:
    """A faulty `Program.run_batch` that resumes a sample one step too late after an exit."""
    return RUN_BATCH(self, epoch, keys, images, rows, begin + (begin >= 0), *more, **named)


def before_the_last_step(
    self: Program, epoch: int, keys: Any, images: Any, rows: Any, begin: int = -1, exits: Any = None, **named: Any
) -> Any:
    """A faulty `Program.run_batch` that returns the input image at an exit."""
    left = RUN_BATCH(self, epoch, keys, images, rows, begin, exits, **named)
    for k, reached in (exits or {}).items():
        exits[k] = ExitReached(reached.place, images[k])
    return left
