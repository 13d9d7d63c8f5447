"""Base of accelerated pipelines: copies whose calls draw by keys, and their report."""

import itertools
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import cv2
import numpy as np

from augrecipes.compiler.lowering.lower import copied
from augrecipes.compiler.run import draws
from augrecipes.ops.box_formats import from_corners_px
from augrecipes.recipe.model import Optimize
from augrecipes.report import Displayed, Note, Report, TextTable
from augrecipes.seeds import END_OF_KEYS, MASK, mix

_SECONDS, _LEAST = 0.5, 3


class StepReport(NamedTuple):
    """A step, how it runs (`native`, `albumentations`, `as it was`), and a remark on why."""

    step: str
    how: str
    remark: str = ""


class Timing(NamedTuple):
    """Median times of a call, ms, of the original and the accelerated pipeline, on a sample `what`."""

    before: float
    now: float
    what: str


@dataclass(frozen=True, slots=True)
class Acceleration(Displayed):
    """How an accelerated pipeline runs; prints as a table.

    Attributes:
        name: name of the original class.
        optimize: `none`, `exact` or `fast`.
        why_not: why nothing is accelerated; empty: something may be.
        steps: how each step runs.
        timing: the measured times; None: not measured.
    """

    name: str
    optimize: str
    why_not: str
    steps: Sequence[StepReport]
    timing: Timing | None = None

    @property
    def ratio(self) -> float | None:
        """The speed-up; None: not measured."""
        return None if self.timing is None else self.timing.before / self.timing.now

    def report(self) -> Report:
        """The steps and times as a report."""
        native = sum(step.how == "native" for step in self.steps)
        title = f"{self.name}, optimize={self.optimize!r}: {native} of {len(self.steps)} steps run natively"
        notes = [Note(f"nothing is accelerated: {self.why_not}")] if self.why_not else []
        if self.timing is None:
            notes.append(Note("not measured: explain() does"))
        else:
            before, now, what = self.timing
            notes.append(Note(f"{before:.2f} ms before, {now:.2f} ms now on {what}: {before / now:.1f} times as fast"))
        return Report(tables=[TextTable(title, (), [*map(tuple, self.steps)])], notes=notes)

    def __repr__(self) -> str:
        return self.report().text(100)


def in_turns(calls: Sequence[Callable[[], Any]], what: str) -> Timing:
    """Time two functions alternately for half a second, without the first call of each."""
    times: list[list[float]] = [[], []]
    end = perf_counter() + _SECONDS
    while len(times[0]) <= _LEAST or perf_counter() < end:
        for call, taken_ms in zip(calls, times, strict=True):
            start = perf_counter()
            call()
            taken_ms.append(1e3 * (perf_counter() - start))
    return Timing(median(times[0][1:]), median(times[1][1:]), what)


def sample_for(processors: Mapping[str, Any]) -> dict[str, Any]:
    """A synthetic image of 480×640 with a mask, and a box and a keypoint where a Compose has processors for these."""
    generator = np.random.default_rng(0)
    small = generator.integers(0, 256, (12, 16, 3), np.uint8)
    image = cv2.resize(small, (640, 480), interpolation=cv2.INTER_CUBIC)
    sample: dict[str, Any] = {"image": image, "mask": (image[..., 0] > 127).astype(np.uint8)}
    for name, processor in processors.items():
        params = processor.params
        if name == "bboxes":
            sample[name] = from_corners_px(np.array([[160.0, 120, 480, 360]]), params.format, 480, 640)
        else:
            sample[name] = np.array([[320.0, 240, *[1.0] * (len(params.format) - 2)]], np.float32)
        sample |= {label: [1] for label in params.label_fields or ()}
    return sample


_MADE_ANEW = ("_made", "_count", "_draws", "_is_keyed", "random_generator", "py_random")


class KeyedCopy:
    """An accelerated copy of a pipeline that keys its draws, pickles, and reports how it runs.

    Attributes:
        source: the original class.
        transforms: copies of the original transforms.
        why_not: why nothing is accelerated; empty: something may be.

    The subclass for each library defines `class_of` (the accelerated subclass of a class), `_compiled` and
    `_uncompiled` (the runner of the transforms, and that where compiling fails), `_steps` (the report of each step) and
    `_drawn` (a synthetic sample, as arguments of a call).
    """

    source: Any
    transforms: Any
    why_not = ""
    _optimize: Optimize
    _timing = None
    _seen: Any = None  # the transforms that were compiled
    _made: Any = None

    @classmethod
    def of(cls: Any, pipeline: Any, optimize: Optimize, seed: int | None) -> Any:
        """Make an accelerated copy of a pipeline."""
        copy = object.__new__(cls.class_of(getattr(pipeline, "source", type(pipeline))))
        copy.__dict__.update(carried(copied(vars(pipeline))), _optimize=optimize, _timing=None)
        copy.start(seed)
        return copy

    def start(self, seed: int | None) -> None:
        """Restart the draws from a seed; None: a random one."""
        number = int.from_bytes(os.urandom(8), "little") if seed is None else mix(operator.index(seed))
        self._number, self._home, self._count = number, draws.home_process(), itertools.count()
        self._stream = END_OF_KEYS | (number & (MASK >> 1))
        self._key_generators()

    def _key_generators(self) -> None:
        """Replace generators of the library, where there are any, by keyed ones."""

    def _key(self) -> tuple[int, int]:
        """The epoch and index of the next call, which no other call has."""
        if os.getpid() != self._home:  # a worker: its own stream, a new one in each epoch
            self._home = os.getpid()
            self._stream = END_OF_KEYS | (mix(self._number, draws.process_stream()) & (MASK >> 1))
        return self._stream, next(self._count)

    def current(self: Any) -> Any:
        """The runner of the current transforms, compiled anew when their list has changed."""
        if self._made is None or self._seen != [*self.transforms]:
            self._seen = [*self.transforms]
            try:
                self._made = self._compiled()
            except Exception as error:  # never refuse what works without us
                self._made = self._uncompiled(f"it could not be compiled: {error}")
        return self._made

    def explain(self: Any, *inputs: Any, **targets: Any) -> Acceleration:
        """Report which steps run natively, and measure the speed-up on a sample.

        Args:
            inputs: a sample, as for a call; without one a synthetic image of 480×640.
            targets: targets of the sample by name, as for a call.

        Returns:
            A report that prints as a table; its `timing` has the median times in ms, and `ratio` the speed-up.
        """
        if self.why_not:
            return self._report()
        drawn = not (inputs or targets)
        if drawn:
            inputs, targets = self._drawn()
        plain = object.__new__(self.source)
        plain.__dict__.update(vars(self))
        # A copy, so that measuring takes no draw of this pipeline.
        calls = [partial(pipeline, *inputs, **targets) for pipeline in (plain, copy(self))]
        dtype = getattr(targets.get("image"), "dtype", np.dtype(np.uint8))
        slow = "" if dtype == np.uint8 else f", whose {dtype} no kernel takes"
        what = "a drawn image of 480×640" if drawn else f"the sample{slow}"
        try:
            self._timing = in_turns(calls, what)
        except Exception as error:
            if not drawn:
                raise
            raise ValueError(f"{what} does not go through it ({error}): give a sample, explain(image=...)") from error
        return self._report()

    def _report(self: Any) -> Acceleration:
        if not self.why_not:
            self.current()
        plain = (StepReport(type(each).__name__, "as it was") for each in self.transforms)
        steps = [*(plain if self.why_not else self._steps())]
        return Acceleration(self.source.__name__, self._optimize, self.why_not, steps, self._timing)

    def __reduce__(self: Any) -> tuple[Any, ...]:
        return _restore, (self.class_of, self.source, carried(vars(self)), int(repr(self._count)[6:-1]))  # "count(7)"

    def __repr__(self) -> str:
        return str(self._report())


def class_made(base: type[KeyedCopy], source: Any, *, is_own: bool, **methods: Any) -> Any:
    """Make the accelerated subclass of a class; a user's own class (`is_own`) keeps its methods."""
    why_not = f"{source.__name__} is a class of its own, which is called as it is"
    more = {"why_not": why_not} if is_own else methods
    return type(source.__name__, (base, source), {"__module__": base.__module__, "source": source, **more})


def carried(state: dict[str, Any]) -> dict[str, Any]:
    """The part of an object's state that a copy takes along, without what it computes itself."""
    return {name: value for name, value in state.items() if name not in _MADE_ANEW}


def _restore(class_of: Callable[[Any], type[KeyedCopy]], source: Any, state: dict[str, Any], count: int) -> KeyedCopy:
    """Restore a pickled or copied pipeline, which continues the draws."""
    copy = object.__new__(class_of(source))
    copy.__dict__.update(state, _count=itertools.count(count))
    copy._key_generators()
    return copy
