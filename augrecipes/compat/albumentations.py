"""albumentations itself, let in by the guard, and the hooks into it. Proven against what `guard.PROVEN` says.

What is private there, or done in a way that another release may do otherwise: processors of boxes (see
`boxes`), the functions and keys that transforms keep of themselves, and which step a traceback went through.
"""

# ruff: noqa: E402  the guard comes first

from __future__ import annotations

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
    """Let `A.from_dict` do something with each Compose that it makes of this dict, in this process."""
    _saved[repr(saved)] = make
    SERIALIZABLE_REGISTRY["Compose"] = _restored


def _restored(*args: Any, **kwargs: Any) -> Any:
    compose = A.Compose(*args, **kwargs)
    make = _saved.get(repr(compose.to_dict_private()))
    return compose if make is None else make(compose)


class Compose(A.Compose):  # type: ignore[misc]
    """An `A.Compose` that does not warn of boxes that no step moves: a recipe, or a part of one, may have no steps."""

    def _set_keys(self) -> None:
        self._available_keys.update(self.processors)
        super()._set_keys()


def wrap_apply(step: Any, by: Callable[..., Any], *more: Any) -> None:
    """Let `by(*more, apply, image, ...)` do what a transform's `apply` did. Only before it is put into a group."""
    step.apply = partial(by, *more, step.apply)
    step._set_keys()  # albumentations keeps the functions that it calls


def change_class(step: Any, cls: type) -> None:
    """Make a transform one of a subclass. Only before it is put into a group."""
    step.__class__ = cls
    step._set_keys()


def add_mixin(step: Any, mixin: type) -> None:
    """Put a class in front of a transform's own. Only before it is put into a group."""
    cls: Any = type(step)
    # ABC keeps it out of albumentations' register of classes, in which it would take the other's place.
    change_class(step, type(cls)(cls.__name__, (mixin, cls, ABC), {"__module__": cls.__module__}))


def preprocessed_mask(step: Any, mask: np.ndarray) -> np.ndarray:
    """A mask as CropNonEmptyMaskIfExists looks for places in it."""
    return np.asarray(step._preprocess_mask(mask))


def require_channels(channels: int, apply: Callable[..., Any], img: Any, *args: Any, **params: Any) -> Any:
    """Refuse an image of other channels than there are values for: albumentations leaves the rest as memory was."""
    has = img.shape[2] if img.ndim > 2 else 1
    if has != channels:
        raise ValueError(f"its arguments have a value for each of {channels} channels, and the image has {has}")
    return apply(img, *args, **params)


def apply_to_copy(apply: Callable[..., Any], img: Any, *args: Any, **params: Any) -> Any:
    """Let a transform that writes into the image it is given have a copy of it."""
    return apply(img.copy(), *args, **params)


def check_result(apply: Callable[..., Any], img: Any, *args: Any, **params: Any) -> Any:
    """Refuse what a class of the user's returns, unless recipes take it: otherwise some later step is blamed."""
    image = apply(img, *args, **params)
    if (dtype := getattr(image, "dtype", type(image).__name__)) not in ("uint8", "float32"):
        raise TypeError(f"`apply` returned {dtype}, no uint8 (0..255) or float32 (0..1): end in `.astype(img.dtype)`")
    return image


def running(error: BaseException) -> Iterator[Any]:
    """The objects whose methods `error` came through, the outermost first."""
    return (names.get("self") for names in variables(error))


def variables(error: BaseException) -> Iterator[dict[str, Any]]:
    """What the functions that `error` came through know by name, the outermost first."""
    return (frame.f_locals for frame, _ in walk_tb(error.__traceback__))


def accept_unconverted(processor: Any) -> None:
    """Let an albumentations processor take what other steps have left, in its own terms, instead of a sample's."""
    convert = processor.check_and_convert

    def only_back(data: np.ndarray, shape: Any, direction: str = "to") -> Any:
        return data if direction == "to" else convert(data, shape, direction)

    processor.check_and_convert = only_back


def skip_filtering(processor: Any) -> None:
    """Let an albumentations processor leave what the steps have left: not filtered once more, not converted."""
    processor._process_single_field = lambda name, data, shape: data
