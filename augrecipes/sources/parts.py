"""The parts of a sample that somebody gives: those that a recipe takes, as a pipeline wants them, and the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError
from augrecipes.recipe.model import Inputs
from augrecipes.sources.given import Axes, as_labels, as_picture, plain_array
from augrecipes.sources.rows import ANNOTATIONS

_POINTS = {"boxes": 4, "keypoints": 2}  # numbers of each, at least


def split_parts(
    parts: Mapping[str, Any],
    inputs: Inputs,
    pictures: Sequence[str],
    axes: Axes,
    *,
    undecoded: bool = False,
    names: Any = None,
    **decode: Any,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a pipeline takes of a sample, and what travels beside it.

    Args:
        parts: of the sample, by name.
        inputs: of the recipe.
        pictures: that the recipe takes.
        axes: how arrays of them lie.
        undecoded: leave what is encoded so.
        names: of the pictures that are wanted; None: all.
        decode: arguments of `read_image`.

    Raises:
        DataError: a part is missing, or not what its name says.
    """
    parts, targets = dict(parts), {}
    declared = {"boxes": inputs.boxes, "keypoints": inputs.keypoints}
    for name in pictures:
        value = parts.pop(name, None)
        if names is None or name in names:
            if value is None:
                raise DataError(f"has no {name}{_there(parts)}")
            with_ = {**decode, "axes": axes, "undecoded": undecoded}
            targets[name] = _saying(name, as_picture, value, **with_)
    for name in taken_by(inputs) & parts.keys():
        if (value := parts.pop(name)) is None:
            continue
        if name == "mask":
            targets[name] = _saying(name, as_labels, value, **decode)
            size, of_image = targets[name].shape, next(iter(targets.values())).shape[:2]
            if size != of_image:
                raise DataError(f"its mask is {size[0]}×{size[1]} px, but it is {of_image[0]}×{of_image[1]} px")
            continue
        targets[name] = _points(name, value)
        labels = getattr(declared[name], "labels", None)
        if labels is not None:
            targets[labels] = _labels(parts.pop(labels, None), name, len(targets[name]))
    for name in _required(inputs):
        if name not in targets:
            raise DataError(f"the recipe requires {name}, and this sample has none{_there(parts)}")
    return targets, {name: plain(name, value) for name, value in parts.items() if name not in ANNOTATIONS}


def taken_by(inputs: Inputs) -> set[str]:
    """Which of mask, boxes and keypoints a recipe takes."""
    found = {name for name in _POINTS if getattr(inputs, name) and getattr(inputs, name).presence != "absent"}
    return found | ({"mask"} if inputs.mask != "absent" else set())


def _required(inputs: Inputs) -> list[str]:
    found = [name for name in _POINTS if getattr(inputs, name) and getattr(inputs, name).presence == "required"]
    return found + (["mask"] if inputs.mask == "required" else [])


def _there(parts: Mapping[str, Any]) -> str:
    known = ", ".join(map(repr, parts)) or "nothing else"
    return f'; there is {known}: say what it is called, as in keys={{"image": "photo"}}'


def _saying(name: str, read: Any, value: Any, **how: Any) -> Any:
    try:
        return read(value, **how)
    except DataError as error:
        raise (error if error.path else DataError(f"{name}: {error.reason}", None, error.step)) from error.__cause__


def _points(name: str, value: Any) -> npt.NDArray[np.float32]:
    try:
        found = plain_array(value).astype(np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name}: {error}") from None
    if not found.size:
        return np.zeros((0, _POINTS[name]), np.float32)
    if found.ndim != 2 or found.shape[1] < _POINTS[name]:
        raise DataError(f"{name} of shape {found.shape}; (n, {_POINTS[name]}) is taken")
    return found


def _labels(value: Any, name: str, n: int) -> npt.NDArray[np.int64]:
    found = np.zeros(n, np.int64) if value is None and name == "boxes" else None
    found = np.arange(n, dtype=np.int64) if value is None and found is None else found
    if found is None:
        found = plain_array(value)
        if found.shape != (n,) or (found.size and found.dtype.kind not in "iub"):
            raise DataError(f"labels of {n} {name} are as many integers, got {found.dtype} of shape {found.shape}")
    return found.astype(np.int64)


def plain(name: str, value: Any) -> Any:
    """What travels beside; a label that is an integer as one of Python's."""
    if name == "label" and (number := plain_array(value)).ndim == 0 and number.dtype.kind in "iub":
        return int(number)
    return value
