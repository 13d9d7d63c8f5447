"""One sample: its files to arrays for the pipeline, and the pipeline's arrays to tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch

from augrecipes.data.table import Table
from augrecipes.errors import DataError
from augrecipes.recipe.model import Inputs
from augrecipes.sources.encoded import open_encoded
from augrecipes.sources.files import read_image, read_mask


def read_targets(
    table: Table,
    row: int,
    channels: int,
    inputs: Inputs,
    *,
    undecoded: bool,
    exif: Literal["apply", "ignore"],
    max_pixels: int,
) -> dict[str, Any]:
    """What the pipeline takes: image uint8 H×W×C or `undecoded`, mask H×W, boxes and points float32, labels int64."""
    path = table.images[row]
    read: Callable[..., Any] = open_encoded if undecoded else read_image
    image = read(path, channels=channels, exif=exif, max_pixels=max_pixels)
    targets: dict[str, Any] = {"image": image}
    if table.masks is not None:
        mask_path = table.masks[row]
        mask = read_mask(mask_path, exif=exif, max_pixels=max_pixels)
        if mask.shape[:2] != image.shape[:2]:
            raise DataError(f"is {_size(mask)} px, but its image {path} is {_size(image)} px", mask_path)
        targets["mask"] = mask
    if table.boxes is not None and inputs.boxes is not None:
        targets["boxes"] = table.boxes.rows(row)
        labels = table.boxes.labels_of(row)
        if inputs.boxes.labels is not None:
            # albumentations wants a label for every box, also where the data has none.
            targets[inputs.boxes.labels] = np.zeros(len(targets["boxes"]), np.int64) if labels is None else labels
    if table.keypoints is not None and inputs.keypoints is not None:
        targets["keypoints"] = table.keypoints.rows(row)
        if inputs.keypoints.labels is not None:
            targets[inputs.keypoints.labels] = np.arange(len(targets["keypoints"]), dtype=np.int64)
    return targets


def as_torch(out: dict[str, Any], ragged: frozenset[str]) -> dict[str, Any]:
    """Arrays as tensors that share no memory with anything else; labels of boxes and points as int64 tensors."""
    sample: dict[str, Any] = {}
    for key, value in out.items():
        if isinstance(value, np.ndarray):
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


def _size(array: Any) -> str:
    return f"{array.shape[0]}×{array.shape[1]}"
