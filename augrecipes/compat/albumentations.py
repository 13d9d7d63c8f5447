"""albumentations, imported by the guard, and hooks into its private parts, proven against `guard.PROVEN`.

Private, or likely to change with a release, are the processors of boxes (see `boxes`), the functions and keys that
transforms cache, and the frames of a traceback. Steps run as albumentations runs them, but gates, samplers and
functions by target are looked up once: on small images, and with cold instruction caches, looking up attributes that
never change and copying the sample take longer than most steps themselves.
"""

# ruff: noqa: E402  the guard comes first

from abc import ABC
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from traceback import walk_tb
from typing import Any, Literal

import numpy as np

from augrecipes.compat import guard

guard.albumentations()

import albumentations as A
import albumentations.augmentations.dropout.functional as dropout
import albumentations.augmentations.geometric.functional as geometric
import albumentations.augmentations.mixing.domain_adaptation_functional as adaptation
import albumentations.augmentations.pixel.functional as pixel
from albumentations.core.bbox_utils import BboxProcessor
from albumentations.core.keypoints_utils import (
    convert_keypoints_from_albumentations,
    convert_keypoints_to_albumentations,
)
from albumentations.core.label_manager import LabelManager, LabelMetadata
from albumentations.core.pydantic import SymmetricRangeType, ZeroOneRangeType, check_range_bounds, nondecreasing
from albumentations.core.serialization import SERIALIZABLE_REGISTRY
from albumentations.core.transforms_interface import BaseTransformInitSchema
from albumentations.core.utils import ensure_contiguous_output, get_shape

_saved: dict[str, Callable[[Any], Any]] = {}


def restore_composes(make: Callable[[Any], Any], saved: dict[str, Any]) -> None:
    """Register a function that `A.from_dict` applies to each Compose that it makes from this dict, in this process."""
    _saved[repr(saved)] = make
    SERIALIZABLE_REGISTRY["Compose"] = _restore


def _restore(*args: Any, **kwargs: Any) -> Any:
    compose = A.Compose(*args, **kwargs)
    make = _saved.get(repr(compose.to_dict_private()))
    return compose if make is None else make(compose)


class Compose(A.Compose):  # type: ignore[misc]
    """An `A.Compose` that does not warn of boxes that no step moves, as a recipe or a part of it may have no steps."""

    def _set_keys(self) -> None:
        self._available_keys.update(self.processors)
        super()._set_keys()


def wrap_apply(step: Any, by: Callable[..., Any], *more: Any) -> None:
    """Replace a transform's `apply` by `by(*more, apply, image, ...)`. Only before it is put into a group."""
    step.apply = partial(by, *more, step.apply)
    step._set_keys()  # albumentations caches the functions that it calls


def change_class(step: Any, cls: type) -> None:
    """Change a transform's class to a subclass. Only before it is put into a group."""
    step.__class__ = cls
    step._set_keys()


def add_mixin(step: Any, mixin: type) -> None:
    """Put a class in front of a transform's own. Only before it is put into a group."""
    cls: Any = type(step)
    # ABC keeps it out of albumentations' registry, where it would replace the original class.
    change_class(step, type(cls)(cls.__name__, (mixin, cls, ABC), {"__module__": cls.__module__}))


def preprocessed_mask(step: Any, mask: np.ndarray) -> np.ndarray:
    """The mask in which CropNonEmptyMaskIfExists searches for a place."""
    return np.asarray(step._preprocess_mask(mask))


def require_channels(channels: int, apply: Callable[..., Any], img: Any, *args: Any, **params: Any) -> Any:
    """Refuse an image whose channels are not as many as the values: albumentations leaves the others uninitialised."""
    has = img.shape[2] if img.ndim > 2 else 1
    if has != channels:
        raise ValueError(f"its arguments have a value for each of {channels} channels, and the image has {has}")
    return apply(img, *args, **params)


def apply_to_copy(apply: Callable[..., Any], img: Any, *args: Any, **params: Any) -> Any:
    """Apply a transform that writes into its input to a copy of the image."""
    return apply(img.copy(), *args, **params)


def check_result(apply: Callable[..., Any], img: Any, *args: Any, **params: Any) -> Any:
    """Refuse the result of a user's class if its dtype is wrong; otherwise the error would name a later step."""
    image = apply(img, *args, **params)
    if (dtype := getattr(image, "dtype", type(image).__name__)) not in ("uint8", "float32"):
        raise TypeError(f"`apply` returned {dtype}, no uint8 (0..255) or float32 (0..1): end in `.astype(img.dtype)`")
    return image


def running(error: BaseException) -> Iterator[Any]:
    """The objects in whose methods `error` was raised or passed on, the outermost first."""
    return (names.get("self") for names in variables(error))


def variables(error: BaseException) -> Iterator[dict[str, Any]]:
    """The local variables of the functions through which `error` passed, the outermost first."""
    return (frame.f_locals for frame, _ in walk_tb(error.__traceback__))


def accept_unconverted(processor: Any) -> None:
    """Make an albumentations processor take boxes or points in its own format, as earlier steps left them."""
    convert = processor.check_and_convert

    def convert_back(data: np.ndarray, shape: Any, direction: str = "to") -> Any:
        return data if direction == "to" else convert(data, shape, direction)

    processor.check_and_convert = convert_back


def skip_filtering(processor: Any) -> None:
    """Make an albumentations processor neither filter nor convert the results of the steps."""
    processor._process_single_field = lambda name, data, shape: data


Sample = dict[str, Any]
Draws = dict[str, Any]

_BASE = A.BasicTransform
HowMany = Literal["one", "some", "all"]


class RandomOrder(A.RandomOrder):  # type: ignore[misc]
    """A RandomOrder in which some steps keep their mutual order.

    Attributes:
        kept_places: indices of these steps.
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
# Attributes that albumentations passes to every step as parameters.
_FIXED = ("interpolation", "fill", "fill_mask")


def gate_of(step: Any) -> float | None:
    """The p below which a step's first draw must be for it to act; None: it always acts, or decides differently.

    >>> gate_of(A.Blur(p=0.3)), gate_of(A.OneOf([A.Blur()], p=0.3)), gate_of(A.Blur(p=1.0))
    (0.3, 0.3, None)
    """
    cls, plain = type(step), _BASE.should_apply
    return step.p if cls.__call__ in _CALLS and getattr(cls, "should_apply", plain) is plain and step.p < 1 else None


def is_gated(step: Any) -> bool:
    """Whether a step is a transform that draws once, and otherwise does nothing if that draw is not below its p.

    >>> is_gated(A.MaskDropout()), is_gated(A.OneOf([A.Blur()]))
    (True, False)
    """
    return isinstance(step, _BASE) and _inherits(step, "__call__", "should_apply")


def _inherits(step: Any, *names: str) -> bool:
    """Whether a transform inherits these methods from albumentations' base class."""
    return all(getattr(type(step), name) is getattr(_BASE, name) and name not in vars(step) for name in names)


def is_plain(step: Any, reads: frozenset[str] = frozenset()) -> bool:
    """Whether a step is a transform that runs as albumentations' base class does, and draws by no other targets.

    >>> is_plain(A.Blur()), is_plain(A.MaskDropout()), is_plain(A.OneOf([A.Blur()]))
    (True, False, False)
    """
    is_trusted = type(step).__module__.partition(".")[0] in _TRUSTED and is_gated(step)
    inherits = is_trusted and _inherits(step, "update_transform_params", "apply_with_params")
    return inherits and reads.issuperset(step.targets_as_params)


def group_of(step: Any) -> HowMany | None:
    """How many of its steps a group runs; None: it is no group of albumentations, or may repeat a step."""
    return None if getattr(step, "replace", False) else _GROUPS.get(type(step))


def sampler_of(step: Any) -> Callable[[Sample], Draws]:
    """A function that draws a step's parameters for a sample with an `image`, by the step's own methods."""
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
    """The functions that a transform applies, by target."""
    return step._key2func


def run_in_turn(group: Any, steps: Sequence[Any], data: Sample) -> Sample:
    """Run steps as a Compose does: applied parameters are tracked, boxes and keypoints filtered."""
    for step in steps:
        data = step(**data)
        group._track_transform_params(step, data)
        data = group.check_data_post_transform(data)
    return data


def share_processors(group: Any, steps: Sequence[Any]) -> None:
    """Share the processors of a Compose with steps."""
    group._set_check_args_for_transforms(steps)
    group._set_processors_for_transforms(steps)


def choice_of(group: Any) -> Callable[[], Any]:
    """A function that draws the indices of the steps that a SomeOf or RandomOrder runs, in order."""
    return group._get_idx


def shape_of(data: Sample) -> Any:
    """The `height` and `width` of a sample's images."""
    image = data.get("image")
    if type(image) is not np.ndarray or "volume" in data:
        return get_shape(data)
    return {"height": image.shape[0], "width": image.shape[1]}


def filters_of(group: Any) -> Callable[[Sample], Sample]:
    """A function that filters boxes and keypoints as a group does after each step."""
    filters = [(name, processor) for processor in group.check_each_transform for name in processor.data_fields]

    def act(data: Sample) -> Sample:
        shape = shape_of(data)
        for name, processor in filters:
            if name in data:
                data[name] = processor.filter(data[name], shape)
        return data

    return act


def contiguous(result: Any) -> Any:
    """The array, or list of arrays, in C order; the same object where it is already."""
    return np.ascontiguousarray(result) if type(result) is np.ndarray else ensure_contiguous_output(result)
