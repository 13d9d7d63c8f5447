"""Names in PyTorch's profiler: while one runs, what is read shows as `augrecipes: decode`, `augrecipes: Rotate#1`, ...

`augrecipes: next batch` is what the training loop waits for. Inside it, where batches are read in this very thread:
`read` the file's bytes, `decode`, every step by its label in the plan, `sink` (normalisation, dtype, layout) and
`collate`. A step that decodes, and a group, have the ranges of their parts inside their own. Pictures that lie decoded
in a packed store are views of a mapped file: whatever step touches them first reads them.

torch records the thread that the profiler was started in. Of worker processes, and of threads that read ahead, only the
wait for the next batch shows; of a bag the tiles that its own thread has worked on, which are all with `threads=1`.
`profile_all_threads` of torch changes none of this: with torch 2.13 a thread that is at work while such a profiler
begins or ends crashes the program, with ranges and with plain tensors alike.

The samples are the same with a profiler and without, to the bit. The first one under a profiler has the pipeline
compiled once more, and each range costs about 20 µs, which is much beside short steps; otherwise neither is there.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

from torch.autograd import profiler

from augrecipes.compat.torch import profiler_records, profiler_runs
from augrecipes.compiler.run.instrument import SINK, instrumented
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.images import watch

_NOBODY: AbstractContextManager[object] = nullcontext()


class HasPipeline(Protocol):
    """A dataset that runs a compiled recipe."""

    pipeline: Pipeline


Dataset = TypeVar("Dataset", bound=HasPipeline)

_pipelines: WeakKeyDictionary[Pipeline, Pipeline] = WeakKeyDictionary()
_watching = False  # whether `watch` was told
_inherited = False  # the profiler is that of the process that this one was forked from


def span(name: str) -> AbstractContextManager[object]:
    """A range of the profiler that records this thread, `augrecipes: name`; nothing at all where none does.

    >>> from torch.profiler import ProfilerActivity, profile
    >>> with profile(activities=[ProfilerActivity.CPU]) as seen, span("decode"):
    ...     pass
    >>> [event.key for event in seen.key_averages()]
    ['augrecipes: decode']
    """
    return profiler.record_function(f"augrecipes: {name}") if _running() and profiler_records() else _NOBODY


def named(dataset: Dataset) -> Dataset:
    """The dataset, or where a profiler records this thread a copy of it whose stages and steps show there."""
    global _watching  # noqa: PLW0603  what `watch` was told last
    if not (profiler_runs() or _watching):
        return dataset  # nearly always, and so first
    on = _running()
    if on is not _watching:
        watch.unless_watched(span if on else None)
        _watching = on
    if not on or not profiler_records() or not isinstance(dataset.pipeline, Pipeline):
        return dataset
    seen = copy.copy(dataset)
    seen.pipeline = _seen(dataset.pipeline)
    return seen


def _running() -> bool:
    """Whether a profiler of torch runs that was started in this very process."""
    return profiler_runs() and not _inherited


def _seen(pipeline: Pipeline) -> Pipeline:
    made = _pipelines.get(pipeline)
    if made is None:
        made = _pipelines[pipeline] = instrumented(pipeline, _spanning)
    return made


def _spanning(label: str, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with span("sink" if label == SINK else label):
        return step(*args, **kwargs)


def _forked() -> None:
    global _inherited  # noqa: PLW0603  a fact of the process
    _inherited = profiler_runs()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
