"""The files of one sample as the arrays that a pipeline takes; no torch here, because packers read so too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import numpy as np

from augrecipes.data.tables.outlines import Outlines
from augrecipes.data.tables.table import Columns, GivenTable
from augrecipes.errors import DataError
from augrecipes.images.encoded import open_encoded
from augrecipes.images.format import Depth, Frames, in_force
from augrecipes.recipe.model import Inputs, Recipe
from augrecipes.sources.files import open_mask, read_image, read_mask


def read_targets(
    table: Columns,
    unit: int,
    channels: int,
    inputs: Inputs,
    *,
    undecoded: bool,
    exif: Literal["apply", "ignore"],
    max_pixels: int,
    depth: Depth | None = None,
    frames: Frames | None = None,
    names: Iterable[str] | None = None,
    opened: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What the pipeline takes of a unit of a table.

    Pictures uint8 H×W×C or `undecoded`, of all targets or of `names`; mask H×W or `undecoded`, boxes and points
    float32, labels int64. Pictures of files that are `opened` already are taken as they are.
    """
    if isinstance(table, GivenTable):
        how = {"exif": exif, "max_pixels": max_pixels, "depth": depth, "frames": frames, "channels": channels}
        return table.read(unit, inputs, undecoded=undecoded, names=names, **how)
    paths = table.paths(unit)
    read: Callable[..., Any] = open_encoded if undecoded else read_image
    targets: dict[str, Any] = dict(opened or {})
    for name in names or paths:
        if name not in targets:
            how = {"exif": exif, "max_pixels": max_pixels, "depth": depth, "frames": frames}
            targets[name] = read(paths[name], channels=channels, **how)
    if table.recorded is not None:
        name, path = next(iter(paths.items()))
        table.recorded.check(unit, path, targets[name].shape, exif)
    if table.outlines is not None:
        name, path = next(iter(paths.items()))
        targets["mask"] = _drawn(table.outlines, unit, path, targets[name].shape)
    if table.masks is not None:
        mask_path, (name, path) = table.masks[unit], next(iter(paths.items()))
        mask = (open_mask if undecoded else read_mask)(mask_path, exif=exif, max_pixels=max_pixels, frames=frames)
        if mask.shape[:2] != targets[name].shape[:2]:
            raise DataError(f"is {_size(mask)} px, but its image {path} is {_size(targets[name])} px", mask_path)
        targets["mask"] = mask
    if table.boxes is not None and inputs.boxes is not None:
        targets["boxes"] = table.boxes.rows(unit)
        labels = table.boxes.labels_of(unit)
        if inputs.boxes.labels is not None:
            # albumentations wants a label for every box, also where the data has none.
            targets[inputs.boxes.labels] = np.zeros(len(targets["boxes"]), np.int64) if labels is None else labels
    if table.keypoints is not None and inputs.keypoints is not None:
        targets["keypoints"] = table.keypoints.rows(unit)
        if inputs.keypoints.labels is not None:
            labels = table.keypoints.labels_of(unit)
            numbers = np.arange(len(targets["keypoints"]), dtype=np.int64)
            targets[inputs.keypoints.labels] = numbers if labels is None else labels
    return targets


def _drawn(outlines: Outlines, unit: int, path: str, shape: tuple[int, ...]) -> Any:
    try:
        return outlines.draw(unit, *shape[:2])
    except DataError as error:
        raise error.with_path(path) from None


def decoding(
    recipe: Recipe,
    exif: str,
    channels: int | None,
    max_pixels: int,
    depth: Depth | None,
    frames: Frames | None,
) -> dict[str, Any]:
    """The arguments of `read_image`, from those of a dataset; ValueError for those that are none."""
    in_force(depth, frames)
    channels = channels or recipe.inputs.channels or 3
    return {"exif": exif, "channels": channels, "max_pixels": max_pixels, "depth": depth, "frames": frames}


def marks_of(decode: Mapping[str, Any]) -> dict[str, Any]:
    """What of the arguments of reading decides samples, with what the environment says where they say nothing."""
    return {**decode, **in_force(decode["depth"], decode["frames"])}


def naming_all(error: DataError, paths: Mapping[str, str]) -> DataError:
    """The error with the file of a pair's largest scale, which comes first, and those of the others."""
    if error.path:
        return error
    first, *others = paths.values()
    with_ = f" (with {', '.join(others)})" if others else ""
    return DataError(f"{error.reason}{with_}", first, error.step)


def _size(array: Any) -> str:
    return f"{array.shape[0]}×{array.shape[1]}"
