"""Steps as calls: the recipe's steps as a flat list of functions, groups opened, gates and samplers looked up.

What is not known to run in albumentations' usual way is called as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from augrecipes.compat.steps import (
    Sample,
    choice_of,
    contiguous,
    filters_of,
    functions_of,
    gate_of,
    group_of,
    is_gated,
    is_plain,
    sampler_of,
)
from augrecipes.compiler.kernels.deep_steps import in_order

# From a sample, which may be changed in place, to the sample after a step.
StepFunction = Callable[[Sample], Sample]


@dataclass(frozen=True, slots=True)
class Executors:
    """How steps are run.

    Attributes:
        leaf: from a transform, and whether its first draw is still to be taken, to what it does once it acts.
        exits: by the ids of steps, what wraps what they do in albumentations.
    """

    leaf: Callable[[Any, bool], StepFunction]
    exits: Mapping[int, Callable[[StepFunction], StepFunction]] = field(default_factory=dict)


class StepCall(NamedTuple):
    """A step, ready to run.

    Attributes:
        first: gives the step's first draw in the sample that all are at, and moves nothing; None: it always acts, or
            decides for itself.
        p: what that must be below.
        act: what the step does once it acts.
        filter: what albumentations does to boxes and keypoints after each step; None: nothing.
    """

    first: Callable[[], float] | None
    p: float
    act: StepFunction
    filter: StepFunction | None


def step_call(step: Any, group: Any, executors: Executors | None = None) -> StepCall:
    """A step of `group`, which may be the pipeline, for samples of one image and what lies on it.

    Args:
        step: a transform or a group.
        group: that it stands in.
        executors: how transforms are run; None: as albumentations does it.
    """
    executors = executors or _PLAINLY
    # At a group that only albumentations knows programs always stop: it says for itself whether it acts.
    stops = id(step) in executors.exits and not is_gated(step)
    p = None if stops else gate_of(step)
    act = _act(step, executors, gated=p is not None)
    return StepCall(None if p is None else step.py_random.first, 1.0 if p is None else p, act, _filter(group))


def call_alone(step: Any, group: Any, *, forced: bool) -> StepFunction:
    """A step, called by itself: it acts where its first draw says so, or always where its group has chosen it."""
    if forced:
        return _act(step, _PLAINLY, forced=True)
    first, p, act, _ = step_call(step, group)
    return act if first is None else lambda data: act(data) if first() < p else data


def call_plain(step: Any, group: Any) -> StepCall:
    """The same for samples of any kind: the step is called as albumentations does it."""
    return StepCall(None, 1.0, lambda data: step(**data), _filter(group))


def unchanged(group: Any) -> StepCall:
    """A step that leaves a sample as it is."""
    return StepCall(None, 1.0, lambda data: data, _filter(group))


def _filter(group: Any) -> StepFunction | None:
    return filters_of(group) if group.check_each_transform else None


def _act(step: Any, executors: Executors, *, gated: bool = False, forced: bool = False) -> StepFunction:
    """What a step does once it acts.

    Args:
        step: a transform or a group.
        executors: how transforms are run.
        gated: its gate has been opened by its first draw, which is still to be taken.
        forced: it acts whatever its probability says, because OneOf has chosen it.
    """
    if id(step) in executors.exits:
        return executors.exits[id(step)](_act(step, _PLAINLY, gated=gated, forced=forced))
    if gated or forced or getattr(step, "p", 0) >= 1:
        if is_plain(step):
            return executors.leaf(step, gated)
        match group_of(step):
            case "one":
                return _one_of(step, executors)
            case "all":
                return _in_turn(step, lambda steps: steps, executors)
            case "some" if not forced:
                choose = choice_of(step)
                return _in_turn(step, lambda steps: [steps[k] for k in choose()], executors)
    more = {"force_apply": True} if forced else {}
    return lambda data: step(**more, **{key: _in_order(value) for key, value in data.items()})


_NONE: frozenset[str] = frozenset()  # targets


def _in_order(value: Any) -> Any:
    """An array, or a list of arrays, whose values lie in order."""
    return in_order(value) if type(value) is np.ndarray else value if isinstance(value, str) else contiguous(value)


# In what follows `self` is the step: an error's traceback tells by that name what it came through.


def _transform(self: Any, takes: bool) -> StepFunction:
    draw, functions, take = sampler_of(self), functions_of(self), self.py_random.random
    takes_views, leaves_views = (getattr(self, name, _NONE) for name in ("takes_views", "leaves_views"))

    def act(data: Sample) -> Sample:
        if takes:
            take()
        for key, value in data.items():  # which draws may read
            if value is not None and key in functions and key not in takes_views:
                data[key] = _in_order(value)
        params = self.params = draw(data)
        for key, value in data.items():
            function = functions.get(key)
            if function is not None and value is not None:
                result = function(value, **params)
                data[key] = result if key in leaves_views else _in_order(result)
        return data

    return act


def _one_of(self: Any, executors: Executors) -> StepFunction:
    acts = [_act(step, executors, forced=True) for step in self.transforms]
    weights, choice = self.transforms_ps, self.random_generator

    def act(data: Sample) -> Sample:
        return acts[choice.choice(len(self.transforms), p=weights)](data)

    return act


def _in_turn(self: Any, chosen: Callable[[list[StepCall]], list[StepCall]], executors: Executors) -> StepFunction:
    steps = [step_call(step, self, executors) for step in self.transforms]

    return lambda data: run_calls(chosen(steps), data)


def run_calls(steps: Iterable[StepCall], data: Sample) -> Sample:
    """A sample behind some steps; one that misses it, by its first draw, is not called."""
    is_filtered = False  # filtering again what nothing has changed changes nothing
    for first, p, act, filters in steps:
        if first is None or first() < p:
            data, is_filtered = act(data), False
        if filters is not None and not is_filtered:
            data, is_filtered = filters(data), True
    return data


_PLAINLY = Executors(_transform)
