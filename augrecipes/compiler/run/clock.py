"""Every step of a pipeline called through a function of one's own; and a clock that so times steps, and what is beside
them."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.rewrite import UNOPTIMIZED_INPUTS
from augrecipes.compiler.rewrite.nodes import Fused, is_open, opened
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.flow import Arrival
from augrecipes.recipe.model import Step

SINK = "\x00sink"  # no step can be labelled so

# (label, the step or sink, positional arguments, keyword arguments) → what the step returns, mostly.
Call = Callable[[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]


def instrument(pipeline: Pipeline, call: Call) -> None:
    """Let every step and sink of a pipeline be called through `call`, those inside groups too.

    Args:
        pipeline: of its own, whose steps run as they are written; it is changed, and no copy for another thread is.
        call: calls the step, and returns what it returned.

    >>> import numpy as np, augrecipes as ar
    >>> pipeline, seen = ar.load("folder-128").compile(optimize="none"), []
    >>> instrument(pipeline, lambda label, step, args, kwargs: (seen.append(label), step(*args, **kwargs))[1])
    >>> _ = pipeline.at(0)(image=np.zeros((200, 300, 3), np.uint8))
    >>> seen[:-1], seen[-1] == SINK
    (['SmallestMaxSize#1', 'RandomCrop#1', 'HorizontalFlip#1'], True)
    """
    pairs = zip(pipeline.keyed_steps, pipeline.compiled.plans[pipeline.arrival].steps, strict=True)
    pipeline.run_through([_wrap(*pair, call) for pair in pairs])
    _wrap_sinks(pipeline, call)


def route_steps(pipeline: Pipeline, call: Call, watch: Callable[[Any], object] = lambda _: None) -> None:
    """Let whatever step and sink Python runs be called through `call`; programs go on as they are.

    Args:
        pipeline: of its own; it is changed, and so is every copy of it.
        call: calls the step, and returns what it returned.
        watch: called with each program, when it is made.

    >>> import numpy as np, augrecipes as ar
    >>> pipeline, seen = ar.load("folder-128").compile(optimize="none"), []
    >>> route_steps(pipeline, lambda label, step, args, kwargs: (seen.append(label), step(*args, **kwargs))[1])
    >>> _ = pipeline.again().at(0)(image=np.zeros((200, 300, 3), np.uint8))
    >>> seen[0]
    'SmallestMaxSize#1'
    """

    def dress(copy: Pipeline) -> None:
        copy.call, copy.watch = call, watch
        copy.run_through(copy.keyed_steps)  # what programs there are is made again
        if copy.optimize == "none" or copy.arrival in UNOPTIMIZED_INPUTS:
            instrument(copy, call)
        else:
            _wrap_sinks(copy, call)

    pipeline.dress(dress)


def _wrap_sinks(pipeline: Pipeline, call: Call) -> None:
    pipeline.sinks = {name: _Instrumented(sink, SINK, call) for name, sink in pipeline.sinks.items()}


def _wrap(made: Any, step: Step, call: Call) -> Any:
    if is_open(step):
        group = getattr(made, "innermost", made)  # an earlier call goes on being called
        group.transforms = [_wrap(m, s, call) for m, s in zip(group.transforms, step.steps, strict=True)]
    return _Instrumented(made, step.site, call)


class _Instrumented:
    """Stands in for a step, or a sink, and is that step in all but its calls."""

    def __init__(self, wrapped: Any, label: str, call: Call) -> None:
        self._wrapped, self._label, self._call = wrapped, label, call
        self.innermost = getattr(wrapped, "innermost", wrapped)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # the pipelines ask some steps what they are
        return type(self._wrapped)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(self._label, self._wrapped, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wrapped, name)


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
        now, here = perf_counter(), self._here
        if here.stack:
            self._add(here.stack[-1], now - here.since)
        here.stack.append(what)
        here.since = perf_counter()
        try:
            yield
        finally:
            now = perf_counter()
            self._add(here.stack.pop(), now - here.since)
            here.since = perf_counter()

    def run(self, what: str, work: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call `work`, charge its time to `what`, and return what it returns."""
        with self.stage(what):
            return work(*args, **kwargs)

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
