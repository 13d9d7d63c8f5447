"""Whole batches out of a store: gathered where no step is left, and as they lie in memory where native plans run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from augrecipes.compiler.native_plan.pictures import InMemory
from augrecipes.compiler.run.side_by_side import Together
from augrecipes.data.batching import Take
from augrecipes.images.format import stage
from augrecipes.store import Store
from augrecipes.store.columns import DTYPES
from augrecipes.store.items import Items

if TYPE_CHECKING:
    from augrecipes.compiler.run.pipeline import Pipeline

RowNumbers = npt.NDArray[np.int64]
PointsOf = Callable[[int], dict[str, Any]]  # boxes and keypoints of a stored row
_LOOKED_AT = 4  # bytes of labels that may be too large to stay exact


def items_of(store: Store, target: str, stored: RowNumbers) -> RowNumbers | None:
    """The item of each stored row, or None where one has none."""
    if store.tables[target].one_a_row:
        return stored
    rows = store.tables[target].rows
    first = rows[stored]
    return cast("RowNumbers", first) if (rows[stored + 1] > first).all() else None


def gathers(pipeline: Pipeline, store: Store, targets: Sequence[str]) -> bool:
    """Whether samples need no more than to be gathered and finished: no step is left, and all are of one shape."""
    compiled = pipeline.compiled
    plain = not compiled.plans["uint8"].steps and pipeline.recipe.inputs.min_size is None
    return plain and pipeline.outputs == ("image",) and all(_is_even(store.tables[name]) for name in targets)


def _is_even(table: Items) -> bool:
    """Whether all items are of one shape, and none has to be decoded, or looked at: labels of 32 bits may be."""
    return table.alike and table.decode is None and DTYPES[table.sample[0]].itemsize < _LOOKED_AT


def gathered(
    pipeline: Pipeline, store: Store, targets: Sequence[str], stored: RowNumbers, take: Take
) -> dict[str, Any] | None:
    """The images of some stored rows, side by side, and their masks; None where one is unreadable."""
    found: dict[str, Any] = {}
    for name in targets:
        if (items := items_of(store, name, stored)) is None:
            return None
        shape: Any = store.shape(name, 0)
        with stage("read"):
            if name == "mask":
                found[name] = take(name, shape, np.dtype(np.int64))
                for labels, item in zip(found[name], items.tolist(), strict=True):
                    labels[...] = store.array(name, item)
            else:
                rows, sink = _in_memory(store, name, items), pipeline.for_this_thread().sinks[name]
                found[name] = sink.many(rows, shape, lambda shape, dtype: take("image", shape[1:], dtype))
    return found


def columns(store: Store, targets: Sequence[str], stored: RowNumbers, points_of: PointsOf | None) -> Together | None:
    """Some stored rows as they lie in memory; None where one is unreadable, or has to be decoded."""
    found = {}
    for name in targets:
        items = items_of(store, name, stored)
        if items is None or (lying := _lying(store, name, items)) is None:
            return None
        found[name] = lying
    others = None if points_of is None else [points_of(row) for row in stored.tolist()]
    return Together(found["image"], found.get("mask"), others)


def pairs(
    pipeline: Any, store: Store, stored: RowNumbers, epoch: int, virtual: RowNumbers, take: Take
) -> dict[str, Any] | None:
    """The targets of some stored scenes, side by side; None where they differ in size, or are best read one by one."""
    if pipeline.recipe.inputs.min_size is not None or store.encodes:
        return None
    pictures = {}
    for name in pipeline.targets:
        items = items_of(store, name, stored)
        if items is None or (found := _in_memory(store, name, items)) is None:
            return None
        pictures[name] = found
    return pipeline.many(epoch, virtual, pictures, take)


def _in_memory(store: Store, target: str, items: RowNumbers) -> InMemory | None:
    """Some items of a target; None where one is no uint8 picture."""
    if (found := _lying(store, target, items)) is not None:
        return found
    arrays = [store.array(target, item) for item in items.tolist()]
    return InMemory.of(arrays) if all(array.dtype == np.uint8 for array in arrays) else None


def _lying(store: Store, target: str, items: RowNumbers) -> InMemory | None:
    """The same of those that do not have to be decoded, and of masks."""
    found = store.tables[target].lie(items)
    return found and InMemory(found.lie, found.shapes, lambda k: store.array(target, int(items[k])), found.held)
