"""Masks as files store them, turned into the labels that a recipe speaks of, before its first step."""

from functools import cache
from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.encoded_images import is_encoded
from augrecipes.recipe.inputs import MaskLabels

_UINT8 = np.dtype(np.uint8)


def with_labels(targets: dict[str, Any], said: MaskLabels | None) -> dict[str, Any]:
    """The targets of a sample, its masks as labels."""
    if said is None:
        return targets
    return targets | {name: labels_of(targets[name], said) for name in ("mask", "masks") if name in targets}


def labels_of(mask: Any, said: MaskLabels | None) -> Any:
    """The labels of a mask, of a list of masks, or of one that is still in its file; anything else stays as it is.

    >>> labels_of(np.array([[0, 255]], np.uint8), MaskLabels(((255, 1),))).tolist()
    [[0, 1]]
    >>> labels_of(np.array([[0.2, 0.5]], np.float32), MaskLabels(threshold=0.5)).tolist()
    [[0, 1]]
    """
    if said is None:
        return mask
    if isinstance(mask, list | tuple):
        return [labels_of(one, said) for one in mask]
    if not isinstance(mask, np.ndarray):
        return labels_of(mask.array(), said) if is_encoded(mask) else mask
    if mask.dtype == np.uint8 and mask.size:
        return cv2.LUT(np.ascontiguousarray(mask).reshape(1, -1), _table(said)).reshape(mask.shape)
    return relabelled(mask, said)


def label_dtype(stored: np.dtype[Any], said: MaskLabels | None) -> np.dtype[Any]:
    """The dtype of labels by that of stored values: the same where it holds them all.

    >>> label_dtype(np.dtype(np.uint8), MaskLabels(((255, -1),)))
    dtype('int16')
    """
    if said is None:
        return stored
    if said.threshold is not None or stored.kind == "b":
        stored = _UINT8
    wide = np.result_type(stored, *(np.min_scalar_type(label) for _, label in said.values))
    return stored if stored.kind == "f" else np.dtype(np.int64) if wide.kind == "f" else wide


def relabelled(mask: np.ndarray, said: MaskLabels) -> np.ndarray:
    """The labels of a mask of any dtype."""
    if said.threshold is not None:
        return (mask >= said.threshold).astype(np.uint8)
    labels = mask.astype(label_dtype(mask.dtype, said))
    for value, label in said.values:
        labels[mask == value] = label
    return labels


@cache
def _table(said: MaskLabels) -> np.ndarray:
    """The label of each value of uint8."""
    return relabelled(np.arange(256, dtype=np.uint8), said)
