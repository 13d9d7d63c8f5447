"""Steps prepared to run: the recipe's steps as a flat list of functions, groups opened, gates and samplers looked up.

What is not known to run in albumentations' usual way is called as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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

# From a sample, which may be changed in place, to the sample after a step.
Act = Callable[[Sample], Sample]


@dataclass(frozen=True, slots=True)
class Executors:
    """How steps are run.

    Attributes:
        leaf: from a transform, and whether its first draw is still to be taken, to what it does once it acts.
        exits: by the ids of steps, what wraps what they do in albumentations.
    """

    leaf: Callable[[Any, bool], Act]
    exits: Mapping[int, Callable[[Act], Act]] = field(default_factory=dict)


class Prepared(NamedTuple):
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
    act: Act
    filter: Act | None


def prepared(step: Any, group: Any, executors: Executors | None = None) -> Prepared:
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
    return Prepared(None if p is None else step.py_random.first, 1.0 if p is None else p, act, _filter(group))


def alone(step: Any, group: Any, *, forced: bool) -> Act:
    """A step, called by itself: it acts where its first draw says so, or always where its group has chosen it."""
    if forced:
        return _act(step, _PLAINLY, forced=True)
    first, p, act, _ = prepared(step, group)
    return act if first is None else lambda data: act(data) if first() < p else data


def as_it_is(step: Any, group: Any) -> Prepared:
    """The same for samples of any kind: the step is called as albumentations does it."""
    return Prepared(None, 1.0, lambda data: step(**data), _filter(group))


def unchanged(group: Any) -> Prepared:
    """A step that leaves a sample as it is."""
    return Prepared(None, 1.0, lambda data: data, _filter(group))


def _filter(group: Any) -> Act | None:
    return filters_of(group) if group.check_each_transform else None


def _act(step: Any, executors: Executors, *, gated: bool = False, forced: bool = False) -> Act:
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
    return (lambda data: step(force_apply=True, **data)) if forced else (lambda data: step(**data))


# In what follows `self` is the step: an error's traceback tells by that name what it came through.


def _transform(self: Any, takes: bool) -> Act:
    draw, functions, take = sampler_of(self), functions_of(self), self.py_random.random

    def act(data: Sample) -> Sample:
        if takes:
            take()
        params = self.params = draw(data)
        for key, value in data.items():
            function = functions.get(key)
            if function is not None and value is not None:
                data[key] = contiguous(function(contiguous(value), **params))
        return data

    return act


def _one_of(self: Any, executors: Executors) -> Act:
    acts = [_act(step, executors, forced=True) for step in self.transforms]
    weights, choice = self.transforms_ps, self.random_generator

    def act(data: Sample) -> Sample:
        return acts[choice.choice(len(self.transforms), p=weights)](data)

    return act


def _in_turn(self: Any, chosen: Callable[[list[Prepared]], list[Prepared]], executors: Executors) -> Act:
    steps = [prepared(step, self, executors) for step in self.transforms]

    return lambda data: run_prepared(chosen(steps), data)


def run_prepared(steps: Iterable[Prepared], data: Sample) -> Sample:
    """A sample behind some steps; one that misses it, by its first draw, is not called."""
    is_filtered = False  # filtering again what nothing has changed changes nothing
    for first, p, act, filters in steps:
        if first is None or first() < p:
            data, is_filtered = act(data), False
        if filters is not None and not is_filtered:
            data, is_filtered = filters(data), True
    return data


_PLAINLY = Executors(_transform)
