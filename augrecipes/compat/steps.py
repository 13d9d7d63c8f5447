"""Run steps as albumentations does, and look up once what never changes: gates, draws, functions by target.

A call of a transform asks again whether it acts, looks for attributes that are fixed, and copies the sample. On small
images, and after large ones, which leave no code in the cache, that takes longer than the work of most steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from augrecipes.compat.albumentations import A, ensure_contiguous_output, get_shape

Sample = dict[str, Any]
Draws = dict[str, Any]

_BASE = A.BasicTransform
HowMany = Literal["one", "some", "all"]


class RandomOrder(A.RandomOrder):  # type: ignore[misc]
    """RandomOrder in which the steps at some places keep their order: they share the turns that are drawn for them.

    Attributes:
        kept_places: places of these steps.
    """

    kept_places: frozenset[int] = frozenset()

    def _get_idx(self) -> np.ndarray:
        order = super()._get_idx()
        kept = iter(sorted(place for place in order if place in self.kept_places))
        return np.array([next(kept) if place in self.kept_places else place for place in order])


_GROUPS: dict[type, HowMany] = {
    A.OneOf: "one", A.SomeOf: "some", A.RandomOrder: "some", RandomOrder: "some", A.Sequential: "all",
}  # fmt: skip
_CALLS = frozenset({_BASE.__call__, A.OneOf.__call__, A.SomeOf.__call__, A.Sequential.__call__})
_TRUSTED = frozenset({"albumentations", "augrecipes"})
# What albumentations hands to every step, where it has such an attribute.
_FIXED = ("interpolation", "fill", "fill_mask")


def gate_of(step: Any) -> float | None:
    """The p that a step's first draw must be below for it to act; None: it always acts, or decides in another way.

    >>> gate_of(A.Blur(p=0.3)), gate_of(A.OneOf([A.Blur()], p=0.3)), gate_of(A.Blur(p=1.0))
    (0.3, 0.3, None)
    """
    cls, plain = type(step), _BASE.should_apply
    return step.p if cls.__call__ in _CALLS and getattr(cls, "should_apply", plain) is plain and step.p < 1 else None


def is_gated(step: Any) -> bool:
    """Whether a step is a transform that does nothing but to draw once where that draw is not below its p.

    >>> is_gated(A.MaskDropout()), is_gated(A.OneOf([A.Blur()]))
    (True, False)
    """
    return isinstance(step, _BASE) and _inherits(step, "__call__", "should_apply")


def _inherits(step: Any, *names: str) -> bool:
    """Whether a transform has these methods from albumentations' base class."""
    return all(getattr(type(step), name) is getattr(_BASE, name) and name not in vars(step) for name in names)


def is_plain(step: Any, reads: frozenset[str] = frozenset()) -> bool:
    """Whether a step is a transform that runs in albumentations' usual way, and asks for no targets but these to draw.

    >>> is_plain(A.Blur()), is_plain(A.MaskDropout()), is_plain(A.OneOf([A.Blur()]))
    (True, False, False)
    """
    is_trusted = type(step).__module__.partition(".")[0] in _TRUSTED and is_gated(step)
    inherits = is_trusted and _inherits(step, "update_transform_params", "apply_with_params")
    return inherits and reads.issuperset(step.targets_as_params)


def group_of(step: Any) -> HowMany | None:
    """How many of its steps a group runs; None: it is no group of albumentations, or may run a step twice."""
    return None if getattr(step, "replace", False) else _GROUPS.get(type(step))


def sampler_of(step: Any) -> Callable[[Sample], Draws]:
    """What draws a step's parameters for a sample with an `image`, by the step's own samplers."""
    cls = type(step)
    free, dependent = step.get_params, step.get_params_dependent_on_data
    fixed = {name: getattr(step, name) for name in _FIXED if hasattr(step, name)}
    if cls.update_transform_params is not _BASE.update_transform_params:

        def draw_by_class(data: Sample) -> Draws:
            draws: Draws = step.update_transform_params(params=free(), data=data)
            draws.update(dependent(params=draws, data=data))
            return draws

        return draw_by_class
    reads = getattr(dependent, "__func__", None) is not _BASE.get_params_dependent_on_data

    def draw(data: Sample) -> Draws:
        draws: Draws = free()
        draws["shape"] = data["image"].shape
        draws.update(fixed)
        if reads:
            draws.update(dependent(params=draws, data=data))
        return draws

    return draw


def functions_of(step: Any) -> dict[str, Callable[..., Any]]:
    """What a transform does to each target, by name."""
    return step._key2func


def run_in_turn(group: Any, steps: Sequence[Any], data: Sample) -> Sample:
    """A sample behind some steps of a Compose, run as that runs them: draws are noted, boxes and points filtered."""
    for step in steps:
        data = step(**data)
        group._track_transform_params(step, data)
        data = group.check_data_post_transform(data)
    return data


def share_processors(group: Any, steps: Sequence[Any]) -> None:
    """Let steps have the processors of a Compose."""
    group._set_check_args_for_transforms(steps)
    group._set_processors_for_transforms(steps)


def choice_of(group: Any) -> Callable[[], Any]:
    """What draws the places of the steps that a SomeOf or RandomOrder runs, in order."""
    return group._get_idx


def shape_of(data: Sample) -> Any:
    """The height and width of a sample's images, under these names."""
    image = data.get("image")
    if type(image) is not np.ndarray or "volume" in data:
        return get_shape(data)
    return {"height": image.shape[0], "width": image.shape[1]}


def filters_of(group: Any) -> Callable[[Sample], Sample]:
    """What a group does to boxes and keypoints behind each of its steps."""
    filters = [(name, processor) for processor in group.check_each_transform for name in processor.data_fields]

    def act(data: Sample) -> Sample:
        shape = shape_of(data)
        for name, processor in filters:
            if name in data:
                data[name] = processor.filter(data[name], shape)
        return data

    return act


def contiguous(result: Any) -> Any:
    """An array, or a list of arrays, whose values lie in order; the same object where they do."""
    return np.ascontiguousarray(result) if type(result) is np.ndarray else ensure_contiguous_output(result)
