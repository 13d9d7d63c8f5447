"""A pipeline whose every step is called through a function of one's own: to time it, or to look at what it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from augrecipes.compiler.rewrite import UNOPTIMIZED_INPUTS
from augrecipes.compiler.rewrite.nodes import is_open
from augrecipes.compiler.run.pipeline import Pipeline
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
