"""Further targets of a scene (`targets:`) in packed datasets: images as images, all others as masks.

A store keeps masks H×W. The channels of vectors and normals lie side by side in one, several masks one below another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.images.lossless import DTYPES
from augrecipes.recipe.model import Inputs, canonical
from augrecipes.recipe.targets import Target
from augrecipes.store import Store


def as_item(array: NDArray[Any], name: str, target: Target) -> NDArray[Any]:
    """A target as a store keeps it; DataError where it keeps no such thing."""
    if target.is_image:
        return array
    if array.dtype not in DTYPES:
        array = array.astype(np.float32 if array.dtype.kind == "f" else np.int32)
    if not array.size:
        raise DataError(f"{name} holds no masks, which a store cannot keep")
    return array.reshape(-1, array.shape[-1]) if target.like == "masks" else array.reshape(len(array), -1)


def as_array(item: NDArray[Any], target: Target, image: tuple[int, ...]) -> NDArray[Any]:
    """What `as_item` made one of; `image`: the shape of the stored image."""
    if target.is_image:
        return item
    rows, columns = (int(side * target.factor) for side in image[:2])
    shape = (-1, rows, columns) if target.like == "masks" else (rows, columns, -1)[: 2 + target.has_directions]
    return item.reshape(shape)


def described(targets: Mapping[str, Target]) -> dict[str, Any]:
    """What a store says of targets, as plain data."""
    return {name: canonical(replace(target, presence="required")) for name, target in targets.items()}


def packed_targets(store: Store, row: int, inputs: Inputs, image: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
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
