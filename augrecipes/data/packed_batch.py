"""Whole batches out of a store: gathered where no step is left; pairs are cut one by one, and finished together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from augrecipes.compiler.kernels.gathering import Rows as Gathered
from augrecipes.compiler.native_plan.pictures import InMemory
from augrecipes.data.batches.rows import Take
from augrecipes.sources.store import Store
from augrecipes.sources.watch import stage

if TYPE_CHECKING:
    from augrecipes.compiler.run.pipeline import Pipeline

RowNumbers = npt.NDArray[np.int64]


def items_of(store: Store, target: str, stored: RowNumbers) -> RowNumbers | None:
    """The item of each stored row, or None where one has none."""
    rows = store.tables[target].rows
    first = rows[stored]
    return cast("RowNumbers", first) if (rows[stored + 1] > first).all() else None


def gathers(pipeline: Pipeline, store: Store) -> bool:
    """Whether images need no more than to be gathered and finished: no step is left, and all are of one shape."""
    compiled = pipeline.compiled
    plain = not compiled.plans["uint8"].steps and pipeline.recipe.inputs.min_size is None
    return plain and pipeline.outputs == ("image",) and store.block("image") is not None


def gathered(pipeline: Pipeline, store: Store, stored: RowNumbers, take: Take) -> dict[str, Any] | None:
    """The images of some stored rows, side by side; None where one is unreadable."""
    items, block = items_of(store, "image", stored), cast("npt.NDArray[np.uint8]", store.block("image"))
    if items is None:
        return None
    if store.checks is not None:
        for item in items.tolist():
            store.tables["image"].confirm(item)

    sink = pipeline.for_this_thread().sinks["image"]
    shape = cast("tuple[int, int, int]", block.shape[1:])
    with stage("read"):
        return {"image": sink.many(Gathered(block, items), shape, lambda shape, dtype: take("image", shape[1:], dtype))}


def pairs(
    pipeline: Any, store: Store, stored: RowNumbers, epoch: int, virtual: RowNumbers, take: Take
) -> dict[str, Any] | None:
    """The targets of some stored scenes, side by side; None where they differ in size, or are best read one by one."""
    if pipeline.recipe.inputs.min_size is not None or store.format == "jpeg":
        return None
    pictures = {}
    for name in pipeline.targets:
        items = items_of(store, name, stored)
        if items is None or (found := _in_memory(store, name, items)) is None:
            return None
        pictures[name] = found
    return pipeline.many(epoch, virtual.tolist(), pictures, take)


def _in_memory(store: Store, target: str, items: RowNumbers) -> InMemory | None:
    """Some items of a target; None where one is no uint8 picture."""
    if (found := store.tables[target].pictures(items)) is not None:
        return InMemory(*found, lambda k: store.array(target, int(items[k])))
    arrays = [store.array(target, item) for item in items.tolist()]
    return InMemory.of(arrays) if all(array.dtype == np.uint8 for array in arrays) else None
