"""Programs in tests: what they make by themselves, and faults that are planted in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from augrecipes.compiler.executor.program import ExitReached, Program
from augrecipes.compiler.run.program_run import PythonFallback

RUN_BATCH = Program.run_batch


def by_programs(pipeline: Any, index: int, sample: dict[str, Any], epoch: int = 2) -> dict[str, Any] | None:
    """A sample as programs make it, from exit to exit; None where Python has to."""
    try:
        made: dict[str, Any] = pipeline.program_runner.run((epoch, index, 0), sample, np.empty)
    except PythonFallback:
        return None
    return made


def with_results(spoil: Callable[[np.ndarray], object], of: np.ndarray | None = None) -> Any:
    """A fault for `Program.run_batch`: `spoil` changes the results in place; or only those `of` one image."""

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
    """A fault for `Program.run_batch`: the last value of a result is another."""
    return with_results(_raise_last, of)


def a_step_too_far(
    self: Program, epoch: int, keys: Any, images: Any, rows: Any, begin: int = -1, *more: Any, **named: Any
) -> Any:
    """A fault for `Program.run_batch`: a sample goes on one step too late behind an exit."""
    return RUN_BATCH(self, epoch, keys, images, rows, begin + (begin >= 0), *more, **named)


def before_the_last_step(
    self: Program, epoch: int, keys: Any, images: Any, rows: Any, begin: int = -1, exits: Any = None, **named: Any
) -> Any:
    """A fault for `Program.run_batch`: at an exit there is the image that came in."""
    left = RUN_BATCH(self, epoch, keys, images, rows, begin, exits, **named)
    for k, reached in (exits or {}).items():
        exits[k] = ExitReached(reached.place, images[k])
    return left
