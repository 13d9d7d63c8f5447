"""What a recipe takes of its inputs, before its first step: channels of images, and labels of masks."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.encoded_images import is_encoded
from augrecipes.errors import DataError
from augrecipes.recipe.inputs import Bands, Inputs, MaskLabels

_UINT8 = np.dtype(np.uint8)


def with_labels(targets: dict[str, Any], mask_labels: MaskLabels | None) -> dict[str, Any]:
    """The targets of a sample with its masks turned into labels."""
    if mask_labels is None:
        return targets
    return targets | {name: labels_of(targets[name], mask_labels) for name in ("mask", "masks") if name in targets}


def labels_of(mask: Any, mask_labels: MaskLabels | None) -> Any:
    """The labels of a mask, of a list of masks, or of a mask still in its file; anything else is returned unchanged.

    >>> labels_of(np.array([[0, 255]], np.uint8), MaskLabels(((255, 1),))).tolist()
    [[0, 1]]
    >>> labels_of(np.array([[0.2, 0.5]], np.float32), MaskLabels(threshold=0.5)).tolist()
    [[0, 1]]
    """
    if mask_labels is None:
        return mask
    if isinstance(mask, list | tuple):
        return [labels_of(one, mask_labels) for one in mask]
    if not isinstance(mask, np.ndarray):
        return labels_of(mask.array(), mask_labels) if is_encoded(mask) else mask
    if mask.dtype == np.uint8 and mask.size:
        return cv2.LUT(np.ascontiguousarray(mask).reshape(1, -1), _table(mask_labels)).reshape(mask.shape)
    return relabelled(mask, mask_labels)


def label_dtype(stored: np.dtype[Any], mask_labels: MaskLabels | None) -> np.dtype[Any]:
    """The dtype of labels: that of the stored values where it holds all labels, otherwise a wider one.

    >>> label_dtype(np.dtype(np.uint8), MaskLabels(((255, -1),)))
    dtype('int16')
    """
    if mask_labels is None:
        return stored
    if mask_labels.threshold is not None or stored.kind == "b":
        stored = _UINT8
    wide = np.result_type(stored, *(np.min_scalar_type(label) for _, label in mask_labels.values))
    return stored if stored.kind == "f" else np.dtype(np.int64) if wide.kind == "f" else wide


def relabelled(mask: np.ndarray, mask_labels: MaskLabels) -> np.ndarray:
    """The labels of a mask of any dtype."""
    if mask_labels.threshold is not None:
        return (mask >= mask_labels.threshold).astype(np.uint8)
    labels = mask.astype(label_dtype(mask.dtype, mask_labels))
    for value, label in mask_labels.values:
        labels[mask == value] = label
    return labels


@cache
def _table(mask_labels: MaskLabels) -> np.ndarray:
    """The label of each uint8 value."""
    return relabelled(np.arange(256, dtype=np.uint8), mask_labels)


WHOLE_FILES = "files are decoded whole, and some of their channels are selected"


def take_channels(sample: dict[str, Any], inputs: Inputs, names: Iterable[str] = ("image",)) -> dict[str, Any]:
    """Select the channels of a sample's images under `names`; a new dict where that changes them.

    Raises:
        DataError: an image lacks the number of channels that the recipe's inputs declare.
    """
    if not inputs.takes_channels:
        return sample
    images = {name: sample[name] for name in names if sample.get(name) is not None}
    return sample | {name: selected(image, inputs, name) for name, image in images.items()}


def selected(image: Any, inputs: Inputs, name: str = "image") -> Any:
    """An image (..., H, W, C), or a list of images, with the channels that steps see.

    >>> selected(np.array([[[1, 2, 3]]], np.uint8), Inputs(2, bands=Bands(3, take=(2, 0)))).tolist()
    [[[3, 1]]]
    """
    if isinstance(image, list | tuple):
        return [selected(one, inputs, name) for one in image]
    array = image.array() if is_encoded(image) else image
    bands = inputs.bands or Bands(0)
    if not isinstance(array, np.ndarray):
        return array  # the check of images refuses it
    count = 1 if array.ndim == 2 else array.shape[-1]
    if count != bands.count:
        if name in inputs.targets:
            return array  # another sensor's
        message = f"{name} has {count} channels; the recipe's inputs take {len(bands.take)} of {bands.count}"
        cure = "; where they have been selected already, leave `take` out" if count == len(bands.take) else ""
        raise DataError(message + cure)
    return np.take(np.atleast_3d(array), bands.take, axis=-1)
