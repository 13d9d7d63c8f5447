"""Where the time of one plan goes: to its steps, class by class; or to keys, draws, OpenCV's functions and Python."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import albumentations as A
import cv2
import numpy as np

import augrecipes as ar
from augrecipes.bench.clock import Clock
from augrecipes.compiler.kernels.colour_ops import ColourOps
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.compiler.kernels.warps import Warps
from augrecipes.compiler.run.instrument import SINK, instrument

_DRAWING = ("should_apply", "get_params", "get_params_dependent_on_data", "update_transform_params")
_CODES = {
    cv2.COLOR_RGB2RGBA: "three channels to four, near",
    cv2.COLOR_RGBA2RGB: "four channels to three",
    cv2.COLOR_RGB2HSV: "to HSV",
    cv2.COLOR_BGR2HSV: "to HSV",
    cv2.COLOR_HSV2RGB: "from HSV",
    cv2.COLOR_HSV2BGR: "from HSV",
}

REST = "rest"  # keys, checks, labels, copies, and the choices of groups
_TURNS = 3


def shares(recipe: ar.Recipe, optimize: Any, given: Sequence[dict[str, Any]], count: int) -> dict[str, float]:
    """The share of a sample's time that each class of steps takes; kernels of several steps by their own names.

    Args:
        recipe: of images.
        optimize: the setting of the optimiser.
        given: what the pipeline is called with, in turns.
        count: of samples, each of which is run several times; the quickest run counts.
    """
    pipeline, clock = recipe.compile(optimize=optimize, threads=1), Clock()

    def call(label: str, step: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        kernel, several, _ = label.partition("(")
        what = "sink" if label == SINK else kernel if several else type(step).__name__
        group = isinstance(step, A.BaseCompose) and not several
        return clock.run(REST if group else what, step, args, kwargs)

    instrument(pipeline, call)
    spent = Counter[str]()
    for index in range(count):
        runs = []
        for _ in range(_TURNS):
            with clock.stage(REST):
                pipeline.at(index)(**given[index % len(given)])
            runs.append(clock.take())
        spent.update(min(runs, key=lambda run: sum(run.values())))
    return {what: seconds / spent.total() for what, seconds in spent.most_common()}


def breakdown(recipe: ar.Recipe, pool: Sequence[np.ndarray], count: int) -> list[tuple[str, float]]:
    """(part of the plan: what, mean µs a sample) of `fast`."""
    pipeline = recipe.compile(optimize="fast")
    out = pipeline.at(0)(image=pool[0])["image"]
    batch = np.zeros((32, *out.shape), out.dtype)
    clock = _Clock()

    def call(key: int, **targets: Any) -> None:
        pipeline.at(key)(**targets)

    sample = clock.of("pipeline: Python", call)
    with _clocked(clock, pipeline):
        for k in range(count):
            if k == count // 10:
                clock.spent.clear()  # warm by now
            sample(image=pool[k % len(pool)], out=batch[k % len(batch)], key=k)
    turns = count - count // 10
    return sorted((what, spent / turns * 1e6) for what, spent in clock.spent.items())


class _Clock(Clock):
    """A clock around functions that are called from elsewhere."""

    def of(self, what: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """`work`, charged to `what`."""

        @functools.wraps(work)
        def timed(*args: Any, **kwargs: Any) -> Any:
            return self.run(what, work, args, kwargs)

        return timed

    def within(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """A function of OpenCV, charged to the part of the plan that calls it."""

        @functools.wraps(work)
        def timed(*args: Any, **kwargs: Any) -> Any:
            if self.under_way is None:
                return work(*args, **kwargs)
            part = self.under_way.partition(":")[0]
            code = _CODES.get(args[1]) if name == "cvtColor" and len(args) > 1 else None
            return self.run(f"{part}: {code or name}", work, args, kwargs)

        return timed


@contextmanager
def _clocked(clock: _Clock, pipeline: ar.Pipeline) -> Iterator[None]:
    """Puts clocks around OpenCV's functions, the kernels and every step's draws."""
    patches = [
        mock.patch.object(cv2, name, clock.within(name, found))
        for name, found in vars(cv2).items()
        if type(found).__name__ == "builtin_function_or_method" and (name[0].islower() or name == "LUT")
    ]
    for part, kernel in (("geometry", Warps), ("colours", ColourOps), ("sink", Sink)):
        patches.append(mock.patch.object(kernel, "__call__", clock.of(f"{part}: Python", kernel.__call__)))
    patches.append(mock.patch.object(pipeline, "position", clock.of("draws: keys", pipeline.position)))
    patches += [
        mock.patch.object(step, name, clock.of("draws: samplers", getattr(step, name)))
        for step in _leaves(pipeline.transforms)
        for name in _DRAWING
    ]
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in reversed(patches):
            patch.stop()


def _leaves(steps: Sequence[Any]) -> Iterator[Any]:
    for step in steps:
        if isinstance(step, A.BaseCompose):
            yield from _leaves(step.transforms)
        else:
            yield step
