"""One sample on its way out: the pipeline's arrays as tensors, and what a recipe says of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from augrecipes.recipe.model import Inputs


def ragged_keys(inputs: Inputs) -> frozenset[str]:
    """Keys of a sample that have a row for each box or point."""
    names = [target.labels for target in (inputs.boxes, inputs.keypoints) if target and target.labels]
    return frozenset({"boxes", "keypoints", *names})


def as_torch(out: dict[str, Any], ragged: frozenset[str]) -> dict[str, Any]:
    """Arrays as tensors that share no memory with anything else; labels of boxes and points as int64 tensors."""
    sample: dict[str, Any] = {}
    for key, value in out.items():
        if key == "mask" and value.dtype.kind in "bui":
            sample[key] = torch.from_numpy(value.astype(np.int64, copy=not value.flags.writeable))
        elif isinstance(value, np.ndarray):
            sample[key] = _tensor(value)
        elif key in ragged:
            sample[key] = torch.as_tensor(np.asarray(value, np.int64))
        else:
            sample[key] = value
    return sample


def _tensor(array: np.ndarray[Any, Any]) -> torch.Tensor:
    if not array.flags.writeable or not array.flags.c_contiguous:
        array = np.array(array, order="C")
    return torch.from_numpy(array)
