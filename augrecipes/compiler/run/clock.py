"""Call every step of a pipeline through a given function; and a clock that times steps and all else that way."""

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

SINK = "\x00sink"  # no step can have this label

# (label, the step or sink, positional arguments, keyword arguments) → the step's result.
Call = Callable[[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]


def instrument(pipeline: Pipeline, call: Call) -> None:
    """Route every step and sink of a pipeline through `call`, those inside groups too.

    Args:
        pipeline: a pipeline that runs its steps as written; it is changed, its copies for other threads are not.
        call: calls the step and returns its result.

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
    """Route every step and sink that Python runs through `call`; programs stay.

    Args:
        pipeline: it is changed, and so is every copy of it.
        call: calls the step and returns its result.
        watch: called with each program when it is made.

    >>> import numpy as np, augrecipes as ar
    >>> pipeline, seen = ar.load("folder-128").compile(optimize="none"), []
    >>> route_steps(pipeline, lambda label, step, args, kwargs: (seen.append(label), step(*args, **kwargs))[1])
    >>> _ = pipeline.again().at(0)(image=np.zeros((200, 300, 3), np.uint8))
    >>> seen[0]
    'SmallestMaxSize#1'
    """

    def dress(copy: Pipeline) -> None:
        copy.call, copy.watch = call, watch
        copy.run_through(copy.keyed_steps)  # drops the cached programs, so that `watch` sees new ones
        if copy.optimize == "none" or copy.arrival in UNOPTIMIZED_INPUTS:
            instrument(copy, call)
        else:
            _wrap_sinks(copy, call)

    pipeline.dress(dress)


def _wrap_sinks(pipeline: Pipeline, call: Call) -> None:
    pipeline.sinks = {name: _Instrumented(sink, SINK, call) for name, sink in pipeline.sinks.items()}


def _wrap(transform: Any, step: Step, call: Call) -> Any:
    if is_open(step):
        group = getattr(transform, "innermost", transform)  # an instrumented pipeline can be instrumented again
        group.transforms = [_wrap(t, s, call) for t, s in zip(group.transforms, step.steps, strict=True)]
    return _Instrumented(transform, step.site, call)


class _Instrumented:
    """A proxy of a step or sink that routes its calls through `call`."""

    def __init__(self, wrapped: Any, label: str, call: Call) -> None:
        self._wrapped, self._label, self._call = wrapped, label, call
        self.innermost = getattr(wrapped, "innermost", wrapped)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # pipelines ask some steps for their class
        return type(self._wrapped)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(self._label, self._wrapped, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wrapped, name)


READ, DECODE = "\x00read", "\x00decode"  # labels of reading and decoding files
REST = "\x00rest"  # label of all time outside steps


class _UnderWay(threading.local):
    """The open stages of a thread, and since when time is charged to the innermost."""

    def __init__(self) -> None:
        self.stack: list[str] = []
        self.since = 0.0


class Clock:
    """Seconds by stage; a thread charges its innermost stage, so that the parts add up to the whole.

    The clock's own time is charged to no stage.

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
        """Charge seconds that a kernel has just measured; they are subtracted from the open stage."""
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
        """Call `work`, charge its time to `what`, and return its result."""
        with self.stage(what):
            return work(*args, **kwargs)

    def take(self) -> dict[str, float]:
        """Return the seconds since the last call, and reset."""
        with self._lock:
            seconds = dict(self.spent)
            self.spent.clear()
        return seconds


def median_run(runs: Iterable[dict[str, float]]) -> dict[str, float]:
    """The parts of the run with the median total time, so that they add up to it.

    >>> median_run([{"a": 1.0, "b": 5.0}, {"a": 4.0}, {"b": 1.0}])
    {'a': 4.0}
    """
    ordered = sorted(runs, key=lambda parts: sum(parts.values()))
    return ordered[len(ordered) // 2]


def clocked(
    pipeline: Pipeline, clock: Clock, arrival: Arrival | None = None, between: Callable[[], object] | None = None
) -> list[str]:
    """Let a clock time a pipeline and all its copies: each step by its label, `SINK`, and decoding.

    Time is charged to the step that does the work. Programs defer work: a crop takes no time, but the later step or the
    sink that computes its pixels. Merged steps count together; a group's time is that of its choice.

    Args:
        pipeline: it is changed.
        clock: the clock.
        arrival: how images arrive, for the labels; None: the pipeline's own arrival.
        between: called before each step that Python runs; an exception from it ends the sample.

    Returns:
        The labels in the plan's order, groups before their children.

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
        names = [*(sites.get(label, label) for label in _step_labels(program.labels)), SINK, DECODE]
        program.timed(lambda spent: clock.charge((name, 1e-9 * n) for name, n in zip(names, spent, strict=True)))

    route_steps(pipeline, call, watch)
    return [node.site for node in nodes]


def _step_labels(labels: Sequence[str]) -> Iterator[str]:
    """The labels of a program's ops; an op between two steps counts with the step before."""
    last = SINK
    for label in labels:
        last = label or last
        yield last
