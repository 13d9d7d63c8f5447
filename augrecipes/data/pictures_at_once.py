"""Batches of pictures alone, by plans that run without Python between their steps."""

from __future__ import annotations

from typing import Any

from augrecipes.compiler.run.at_once import PictureBatch, Read, run_batch
from augrecipes.data.batches.order import Indices
from augrecipes.data.batches.rows import Take
from augrecipes.data.gathered import SomeFailedError


def pictures_at_once(pipeline: Any, read: Read, epoch: int, virtual: Indices, take: Take) -> dict[str, Any] | None:
    """What a dataset's `_batch` gives, see there; None where samples differ in size.

    Args:
        pipeline: of the dataset.
        read: gives a picture, decoded or not, by its place in the batch.
        epoch: of the draws.
        virtual: keys of the draws.
        take: gives the memory.

    Raises:
        SomeFailedError: pictures are broken.
    """
    keys = [(index, 0) for index in virtual.tolist()]
    rows = PictureBatch(epoch, keys, read, lambda shape, dtype: take("image", shape, dtype))
    run_batch(rows, [pipeline.for_this_thread()])
    if rows.uneven or rows.out is None:
        return None
    if rows.failed:
        first, *_ = failed = sorted(rows.failed)
        raise SomeFailedError(rows.failed[first], {"image": rows.out}, failed)
    return {"image": rows.out}
