"""A clock for pipelines: seconds by step, whichever way that runs, and by what there is beside the steps."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.rewrite.nodes import Fused, opened
from augrecipes.compiler.run.instrument import SINK, route_steps
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.flow import Arrival

READ, DECODE = "\x00read", "\x00decode"  # of files
REST = "\x00rest"  # for those who time what there is beside all that


class _UnderWay(threading.local):
    """What is under way in a thread, and since when time has been charged to the last of it."""

    def __init__(self) -> None:
        self.stack: list[str] = []
        self.since = 0.0


class Clock:
    """Seconds by what they were spent on: in each thread on what was begun last, so that parts add up to the whole.

    What the clock itself takes is charged to nobody.

    >>> clock = Clock()
    >>> with clock.stage("outer"), clock.stage("inner"):
    ...     pass
    >>> sorted(clock.spent)
    ['inner', 'outer']
    """

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self._here, self._lock = _UnderWay(), threading.Lock()

    def enter(self, what: str) -> None:
        """Start charging time to `what`."""
        now, here = perf_counter(), self._here
        if here.stack:
            self._add(here.stack[-1], now - here.since)
        here.stack.append(what)
        here.since = perf_counter()

    def leave(self) -> None:
        """Charge time to what was under way before, again."""
        now, here = perf_counter(), self._here
        self._add(here.stack.pop(), now - here.since)
        here.since = perf_counter()

    def charge(self, parts: Iterable[tuple[str, float]]) -> None:
        """Add seconds that somebody else has measured just now: what is under way has not taken them."""
        here = self._here
        for what, seconds in parts:
            self._add(what, seconds)
            here.since += seconds

    def _add(self, what: str, seconds: float) -> None:
        with self._lock:
            self.spent[what] += seconds

    @contextmanager
    def stage(self, what: str) -> Iterator[None]:
        """Charge the time inside the block to `what`."""
        self.enter(what)
        try:
            yield
        finally:
            self.leave()

    def run(self, what: str, work: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call `work`, charge its time to `what`, and return what it returns."""
        self.enter(what)
        try:
            return work(*args, **kwargs)
        finally:
            self.leave()

    def take(self) -> dict[str, float]:
        """Return and forget the seconds that were spent since the last time."""
        with self._lock:
            taken = dict(self.spent)
            self.spent.clear()
        return taken


def median_run(runs: Iterable[dict[str, float]]) -> dict[str, float]:
    """The parts of the run that takes the median time, of several: they add up to it.

    >>> median_run([{"a": 1.0, "b": 5.0}, {"a": 4.0}, {"b": 1.0}])
    {'a': 4.0}
    """
    ordered = sorted(runs, key=lambda parts: sum(parts.values()))
    return ordered[len(ordered) // 2]


def clocked(
    pipeline: Pipeline, clock: Clock, arrival: Arrival | None = None, between: Callable[[], object] | None = None
) -> list[str]:
    """Let a clock time a pipeline, and all copies of it: each step by its label, `SINK`, and the decoding of files.

    Time belongs to what does the work, and programs put some off: of a crop nothing is done before a later step, or
    the sink, makes its pixels. Steps that are merged count together, and a group has its choice alone.

    Args:
        pipeline: of its own; it is changed.
        clock: that times it.
        arrival: how images come, for the labels; None: as this very pipeline takes them.
        between: called before each step that Python runs; what it raises ends the sample.

    Returns:
        The labels, groups before their children, as the plan has them.

    >>> import numpy as np, augrecipes as ar
    >>> pipeline, clock = ar.load("folder-128").compile(optimize="none"), Clock()
    >>> labels = clocked(pipeline, clock)
    >>> _ = pipeline.at(0)(image=np.zeros((200, 300, 3), np.uint8))
    >>> [*clock.spent] == [*labels, SINK]
    True
    """
    nodes = [node for top in pipeline.nodes(arrival) for node in opened(top)]
    fused = [node for node in nodes if isinstance(node, Fused)]
    sites = {inner.site: node.site for node in fused for step in node.steps for inner in step.walk()}

    def call(label: str, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if between is not None:
            between()
        return clock.run(sites.get(label, label), step, args, kwargs)

    def watch(program: Program) -> None:
        names = [*(sites.get(label, label) for label in _filled(program.labels)), SINK, DECODE]
        program.timed(lambda spent: clock.charge((name, 1e-9 * n) for name, n in zip(names, spent, strict=True)))

    route_steps(pipeline, call, watch)
    return [node.site for node in nodes]


def _filled(labels: Sequence[str]) -> Iterator[str]:
    """The labels of a plan's steps; what is done between two of them goes with the one before."""
    last = SINK
    for label in labels:
        last = label or last
        yield last
