"""Further targets of a scene (`targets:`) in packed datasets: images as images, all others as planes of integers.

A store keeps masks of integers, H×W. Floats are kept as the integers of the same 32 bits; the channels of vectors and
normals lie side by side, several masks one below another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.recipe.model import Inputs, canonical
from augrecipes.recipe.targets import Target
from augrecipes.store import Store

_BITS = np.dtype("<i4")


def as_item(array: NDArray[Any], name: str, target: Target) -> NDArray[Any]:
    """A target as a store keeps it; DataError where it keeps no such thing."""
    if target.is_image:
        return array
    if array.dtype.kind == "f":
        if not _is_float(target):
            raise DataError(f"{name} is {array.dtype}: say `dtype: float32` in the recipe's `targets:`, and pack again")
        array = np.ascontiguousarray(array, np.float32).view(_BITS)
    elif array.dtype not in (np.uint8, np.uint16, _BITS):
        array = array.astype(_BITS)
    if not array.size:
        raise DataError(f"{name} holds no masks, which a store cannot keep")
    return array.reshape(-1, array.shape[-1]) if target.like == "masks" else array.reshape(len(array), -1)


def as_array(item: NDArray[Any], target: Target, image: tuple[int, ...]) -> NDArray[Any]:
    """What `as_item` made one of; `image`: the shape of the stored image."""
    if target.is_image:
        return item
    array = item.view(np.float32) if _is_float(target) else item
    rows, columns = (int(side * target.factor) for side in image[:2])
    return array.reshape(
        (-1, rows, columns) if target.like == "masks" else (rows, columns, -1)[: 2 + target.has_directions]
    )


def _is_float(target: Target) -> bool:
    return target.has_directions or target.dtype == "float32"


def described(targets: Mapping[str, Target]) -> dict[str, Any]:
    """What a store says of targets, as plain data."""
    return {name: canonical(replace(target, presence="required")) for name, target in targets.items()}


def packed_targets(
    store: Store, row: int, inputs: Inputs, image: tuple[int, ...]
) -> Iterator[tuple[str, NDArray[Any]]]:
    """The targets of a stored row that a recipe's inputs declare, by name."""
    for name in store.about.get("further", {}):
        if name in inputs.targets:
            yield name, as_array(store.array(name, store.items(name, row)[0]), inputs.targets[name], image)


def unlike(store: Store, inputs: Inputs) -> Iterator[str]:
    """Why a store does not hold the targets that a recipe's inputs declare."""
    there, mine = store.about.get("further", {}), described(inputs.targets)
    for name, target in inputs.targets.items():
        if name not in there and target.presence == "required":
            yield f"the recipe requires {name}, and the store has none"
        if name in there and there[name] != mine[name]:
            yield f"was packed by a recipe whose targets declare {name} as {there[name]}, this one as {mine[name]}"
