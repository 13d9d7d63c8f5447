"""How albumentations runs a step, with what never changes looked up once: gates, draws, functions by target.

A call of a transform asks again whether it acts, looks for attributes that are fixed, and copies the sample. On small
images, and behind large ones, which leave no code in the cache, that takes longer than what most steps do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from augrecipes.compat.albumentations import A, ensure_contiguous_output, get_shape

Sample = dict[str, Any]
Drawn = dict[str, Any]

_PLAIN = A.BasicTransform
_GROUPS: dict[type, Literal["one", "some", "all"]] = {
    A.OneOf: "one",
    A.SomeOf: "some",
    A.RandomOrder: "some",
    A.Sequential: "all",
}
_CALLS = frozenset({_PLAIN.__call__, A.OneOf.__call__, A.SomeOf.__call__, A.Sequential.__call__})
_OURS = frozenset({"albumentations", "augrecipes"})
# What albumentations hands to every step, where it has such an attribute.
_FIXED = ("interpolation", "fill", "fill_mask")


def gate_of(step: Any) -> float | None:
    """The p that a step's first draw must be below for it to act; None: it always acts, or decides in another way.

    >>> gate_of(A.Blur(p=0.3)), gate_of(A.OneOf([A.Blur()], p=0.3)), gate_of(A.Blur(p=1.0))
    (0.3, 0.3, None)
    """
    cls, plain = type(step), _PLAIN.should_apply
    known = cls.__call__ in _CALLS and getattr(cls, "should_apply", plain) is plain
    return step.p if known and step.p < 1 else None


def is_gated(step: Any) -> bool:
    """Whether a step is a transform that does nothing but to draw once where that draw is not below its p.

    >>> is_gated(A.MaskDropout()), is_gated(A.OneOf([A.Blur()]))
    (True, False)
    """
    cls = type(step)
    return isinstance(step, _PLAIN) and all(
        getattr(cls, name) is getattr(_PLAIN, name) and name not in vars(step) for name in ("__call__", "should_apply")
    )


def is_plain(step: Any, reads: frozenset[str] = frozenset()) -> bool:
    """Whether a step is a transform that runs in albumentations' usual way, and asks for no targets but these to draw.

    >>> is_plain(A.Blur()), is_plain(A.MaskDropout()), is_plain(A.OneOf([A.Blur()]))
    (True, False, False)
    """
    cls = type(step)
    return (
        cls.__module__.partition(".")[0] in _OURS
        and isinstance(step, _PLAIN)
        and all(
            getattr(cls, name) is getattr(_PLAIN, name) and name not in vars(step)
            for name in ("__call__", "should_apply", "update_transform_params", "apply_with_params")
        )
        and reads.issuperset(step.targets_as_params)
    )


def group_of(step: Any) -> Literal["one", "some", "all"] | None:
    """How many of its steps a group runs; None: it is no group of albumentations, or may run a step twice."""
    return None if getattr(step, "replace", False) else _GROUPS.get(type(step))


def sampler_of(step: Any) -> Callable[[Sample], Drawn]:
    """What draws a step's parameters for a sample with an `image`, by the step's own samplers."""
    cls = type(step)
    free, dependent = step.get_params, step.get_params_dependent_on_data
    fixed = {name: getattr(step, name) for name in _FIXED if hasattr(step, name)}
    if cls.update_transform_params is not _PLAIN.update_transform_params:

        def draw_as_it_does(data: Sample) -> Drawn:
            drawn: Drawn = step.update_transform_params(params=free(), data=data)
            drawn.update(dependent(params=drawn, data=data))
            return drawn

        return draw_as_it_does
    reads = getattr(dependent, "__func__", None) is not _PLAIN.get_params_dependent_on_data

    def draw(data: Sample) -> Drawn:
        drawn: Drawn = free()
        drawn["shape"] = data["image"].shape
        drawn.update(fixed)
        if reads:
            drawn.update(dependent(params=drawn, data=data))
        return drawn

    return draw


def functions_of(step: Any) -> dict[str, Callable[..., Any]]:
    """What a transform does to each target, by name."""
    found: dict[str, Callable[..., Any]] = step._key2func
    return found


def choice_of(group: Any) -> Callable[[], Any]:
    """What draws the places of the steps that a SomeOf or RandomOrder runs, in order."""
    found: Callable[[], Any] = group._get_idx
    return found


def filters_of(group: Any) -> Callable[[Sample], Sample]:
    """What a group does to boxes and keypoints behind each of its steps."""
    filters = [(name, processor) for processor in group.check_each_transform for name in processor.data_fields]

    def act(data: Sample) -> Sample:
        shape = get_shape(data)
        for name, processor in filters:
            if name in data:
                data[name] = processor.filter(data[name], shape)
        return data

    return act


def contiguous(made: Any) -> Any:
    """An array, or a list of arrays, whose values lie in order; the very one where they do."""
    return np.ascontiguousarray(made) if type(made) is np.ndarray else ensure_contiguous_output(made)
