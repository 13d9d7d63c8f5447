"""Batches of samples by plans that run without Python between their steps."""

from __future__ import annotations

from typing import Any

from augrecipes.compiler.run.side_by_side import Read, SampleBatch, Together
from augrecipes.data.batches.order import Indices
from augrecipes.data.batches.rows import Take
from augrecipes.data.gathered import SomeFailedError
from augrecipes.data.sample import as_torch


def native_batch(
    pipeline: Any, given: Read | Together, epoch: int, virtual: Indices, take: Take, ragged: frozenset[str]
) -> dict[str, Any] | None:
    """What a dataset's `_batch` gives, see there; None where samples differ in size.

    Args:
        pipeline: of the dataset.
        given: gives the targets of a sample by its place in the batch; or those of all.
        epoch: of the draws.
        virtual: keys of the draws.
        take: gives the memory.
        ragged: keys of samples that have a row for each box or point.

    Raises:
        SomeFailedError: samples are broken.
    """
    keys, lane = [(index, 0) for index in virtual.tolist()], pipeline.for_this_thread()
    batch = SampleBatch(epoch, keys, take)
    if isinstance(given, Together):
        batch.make(lane, range(len(keys)), given)
    else:
        batch.read([lane], given)
    if batch.uneven or not batch.out:
        return None
    found: dict[str, Any] = dict(batch.out)
    others = {k: as_torch(rest, ragged) for k, rest in batch.others.items() if rest}
    for name in next(iter(others.values()), ()):
        found[name] = [others[k][name] if k in others else None for k in range(len(keys))]
    if batch.failed:
        first, *_ = failed = sorted(batch.failed)
        raise SomeFailedError(batch.failed[first], found, failed)
    return found
