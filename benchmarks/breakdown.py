"""Where the time of one plan goes: keys and draws, each call of OpenCV, and what Python does around them."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any
from unittest import mock

import albumentations as A
import cv2
import numpy as np

import augrecipes as ar
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.compiler.kernels.tints import Tints
from augrecipes.compiler.kernels.warps import Warps

_DRAWING = ("should_apply", "get_params", "get_params_dependent_on_data", "update_transform_params")
_CODES = {
    cv2.COLOR_RGB2RGBA: "three channels to four, near",
    cv2.COLOR_RGBA2RGB: "four channels to three",
    cv2.COLOR_RGB2HSV: "to HSV",
    cv2.COLOR_BGR2HSV: "to HSV",
    cv2.COLOR_HSV2RGB: "from HSV",
    cv2.COLOR_HSV2BGR: "from HSV",
}


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


class _Clock:
    """Charges time to whatever was entered last; what the clock itself takes is charged to nobody."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self._stack: list[str] = []
        self._since = 0.0

    def run(self, what: str, work: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        now = perf_counter()
        if self._stack:
            self.spent[self._stack[-1]] += now - self._since
        self._stack.append(what)
        self._since = perf_counter()
        try:
            return work(*args, **kwargs)
        finally:
            now = perf_counter()
            self.spent[what] += now - self._since
            self._stack.pop()
            self._since = perf_counter()

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
            if not self._stack:
                return work(*args, **kwargs)
            part = self._stack[-1].partition(":")[0]
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
    for part, kernel in (("geometry", Warps), ("colours", Tints), ("sink", Sink)):
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
