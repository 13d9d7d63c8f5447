"""Turn steps into functions: groups are opened, gates and samplers looked up once.

A transform that overrides albumentations' usual way of running is called itself.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from augrecipes.compat.albumentations import (
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

# Sample, which may be changed in place → sample after a step.
StepFunction = Callable[[Sample], Sample]


@dataclass(frozen=True, slots=True)
class Executors:
    """How steps are run.

    Attributes:
        leaf: (transform, whether its first draw must still be taken) → its function once it acts.
        exits: by the id of a step, a wrapper of its function in albumentations.
    """

    leaf: Callable[[Any, bool], StepFunction]
    exits: Mapping[int, Callable[[StepFunction], StepFunction]] = field(default_factory=dict)


class StepCall(NamedTuple):
    """A step, ready to run.

    Attributes:
        first: peeks at the step's first draw in the current sample; None: it always acts, or decides for itself.
        p: the step acts where the first draw is below.
        act: the step's function once it acts.
        filter: albumentations' filter of boxes and keypoints after each step; None: no filter.
    """

    first: Callable[[], float] | None
    p: float
    act: StepFunction
    filter: StepFunction | None


def step_call(step: Any, group: Any, executors: Executors | None = None) -> StepCall:
    """The call of a step for samples of one image and what lies on it.

    Args:
        step: a transform or a group.
        group: the group or pipeline around it.
        executors: how transforms are run; None: as albumentations runs them.
    """
    executors = executors or _PLAINLY
    # Programs always stop at a group that only albumentations knows, which decides itself whether it acts.
    stops = id(step) in executors.exits and not is_gated(step)
    p = None if stops else gate_of(step)
    act = _act(step, executors, gated=p is not None)
    return StepCall(None if p is None else step.py_random.first, 1.0 if p is None else p, act, _filter(group))


def call_alone(step: Any, group: Any, *, forced: bool) -> StepFunction:
    """The function of a single step with its gate; `forced`: its group has chosen it, so that it always acts."""
    if forced:
        return _act(step, _PLAINLY, forced=True)
    first, p, act, _ = step_call(step, group)
    return act if first is None else lambda data: act(data) if first() < p else data


def call_plain(step: Any, group: Any) -> StepCall:
    """The call of a step for samples of any kind: albumentations runs the step."""
    return StepCall(None, 1.0, lambda data: step(**data), _filter(group))


def unchanged(group: Any) -> StepCall:
    """A call that changes nothing but runs the filter."""
    return StepCall(None, 1.0, lambda data: data, _filter(group))


def _filter(group: Any) -> StepFunction | None:
    return filters_of(group) if group.check_each_transform else None


def _act(step: Any, executors: Executors, *, gated: bool = False, forced: bool = False) -> StepFunction:
    """The function of a step once it acts.

    Args:
        step: a transform or a group.
        executors: how transforms are run.
        gated: its first draw has opened its gate, and must still be taken.
        forced: it acts whatever its probability, because OneOf has chosen it.
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


_NO_TARGETS: frozenset[str] = frozenset()


def _in_order(value: Any) -> Any:
    """An array, or each array of a list, made contiguous."""
    return in_order(value) if type(value) is np.ndarray else value if isinstance(value, str) else contiguous(value)


# Below `self` is the step: `running` finds the failing step in a traceback by that name.


def _transform(self: Any, takes: bool) -> StepFunction:
    draw, functions, take = sampler_of(self), functions_of(self), self.py_random.random
    takes_views, leaves_views = (getattr(self, name, _NO_TARGETS) for name in ("takes_views", "leaves_views"))

    def act(data: Sample) -> Sample:
        if takes:
            take()
        for key, value in data.items():  # the draw may read these
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
    """Run steps on a sample; a step whose first draw says that it does not act is not called."""
    is_filtered = False  # filtering twice changes nothing
    for first, p, act, filters in steps:
        if first is None or first() < p:
            data, is_filtered = act(data), False
        if filters is not None and not is_filtered:
            data, is_filtered = filters(data), True
    return data


_PLAINLY = Executors(_transform)
