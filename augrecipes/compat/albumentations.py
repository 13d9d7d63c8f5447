"""albumentations, imported by the guard, and hooks into its private parts, proven against `guard.PROVEN`.

Private, or likely to change with a release, are the processors of boxes (see `boxes`), the functions and keys that
transforms cache, and the frames of a traceback.
"""

# ruff: noqa: E402  the guard comes first

from abc import ABC
from collections.abc import Callable, Iterator
from functools import partial
from traceback import walk_tb
from typing import Any

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

__all__ = [
    "A",
    "BaseTransformInitSchema",
    "BboxProcessor",
    "LabelManager",
    "LabelMetadata",
    "SymmetricRangeType",
    "ZeroOneRangeType",
    "adaptation",
    "check_range_bounds",
    "convert_keypoints_from_albumentations",
    "convert_keypoints_to_albumentations",
    "dropout",
    "ensure_contiguous_output",
    "geometric",
    "get_shape",
    "nondecreasing",
    "pixel",
]


_saved: dict[str, Callable[[Any], Any]] = {}


def restore_composes(make: Callable[[Any], Any], saved: dict[str, Any]) -> None:
    """Register a function that `A.from_dict` applies to each Compose that it makes from this dict, in this process."""
    _saved[repr(saved)] = make
    SERIALIZABLE_REGISTRY["Compose"] = _restored


def _restored(*args: Any, **kwargs: Any) -> Any:
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
