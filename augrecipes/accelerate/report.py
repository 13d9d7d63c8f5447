"""What an accelerated pipeline says of itself: how each of its steps runs, and how many times as fast all of it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import cv2
import numpy as np

from augrecipes.display import Displayed
from augrecipes.ops.box_formats import from_corners_px
from augrecipes.report import Note, Report, TextTable

_SECONDS, _LEAST = 0.5, 3


class StepReport(NamedTuple):
    """A step, how it runs (`native`, `albumentations`, `as it was`), and what is to be said of that."""

    step: str
    how: str
    remark: str = ""


class Timing(NamedTuple):
    """Medians of calls, ms, of the pipeline as it was and as it is now, on a sample `what`."""

    before: float
    now: float
    what: str


@dataclass(frozen=True, slots=True)
class Acceleration(Displayed):
    """How an accelerated pipeline runs; prints as a table.

    Attributes:
        name: of the class that it was made of.
        optimize: `none`, `exact` or `fast`.
        why_not: why nothing is accelerated; empty: something may be.
        steps: how each of them runs.
        timing: what was measured, or None.
    """

    name: str
    optimize: str
    why_not: str
    steps: Sequence[StepReport]
    timing: Timing | None = None

    @property
    def ratio(self) -> float | None:
        """How many times as fast as it was; None: not measured."""
        return None if self.timing is None else self.timing.before / self.timing.now

    def report(self) -> Report:
        """The same as a report."""
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
    """Two calls timed in turns, for half a second; the first of each is not counted."""
    times: list[list[float]] = [[], []]
    end = perf_counter() + _SECONDS
    while len(times[0]) <= _LEAST or perf_counter() < end:
        for call, found in zip(calls, times, strict=True):
            start = perf_counter()
            call()
            found.append(1e3 * (perf_counter() - start))
    return Timing(median(times[0][1:]), median(times[1][1:]), what)


def sample_for(processors: Mapping[str, Any]) -> dict[str, Any]:
    """A drawn image of 480×640 with a mask, and a box and a point where a Compose has processors for some."""
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
