"""What others see of a loader's order: torch's DataLoader has a sampler and a batch sampler, and libraries use them.

Lightning, Fabric and Ray leave a DataLoader alone whose sampler is a DistributedSampler, but for predictions, where
Lightning makes another loader with the batch sampler that it wraps. accelerate makes a DataLoader of its own of a
loader's parts, and gives each rank its share of the batches: it asks first (`Loader._is_accelerate_prepared`), and from
then on the batch sampler gives those of all ranks.

Such a DataLoader reads plain positions. So the datasets are told the epoch, which makes the draws those of the loader's
own pass; repeats are visits, which have draws of their own, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from torch.utils.data import BatchSampler, DistributedSampler

from augrecipes.data.batches.epoch import clocks, tell_epoch
from augrecipes.data.loading.place import LoaderPosition
from augrecipes.data.loading.sampler import BatchSchedule, orders


class LoaderSampler(DistributedSampler[Any]):
    """The `sampler` of a loader: what its next pass reads, as (epoch, index) pairs of this rank.

    It is a DistributedSampler because the loader divides by ranks itself: nobody else need do so.

    Args:
        plan: of the loader.
        place: where the loader is; `set_epoch` moves it, as the loader's own does.
        dataset: that is read.

    Attributes:
        taken_apart: another DataLoader divides the batches by ranks, and reads them.
    """

    def __init__(self, plan: BatchSchedule, place: LoaderPosition, dataset: Any) -> None:
        self.plan, self._place, self._dataset = plan, place, dataset
        self.taken_apart = False

    @property
    def num_replicas(self) -> int:  # type: ignore[override]
        """Number of ranks."""
        return self.plan.world_size

    @property
    def rank(self) -> int:  # type: ignore[override]
        """Which one this is."""
        return self.plan.rank

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the loader's next pass runs."""
        self._place.set_epoch(epoch)
        if self.taken_apart:  # accelerate says it before it starts workers
            self._tell()

    @property
    def epoch(self) -> int:  # type: ignore[override]
        """That of the loader's next pass."""
        return self._place.start.epoch

    def batches(self, drop_last: bool) -> Iterator[list[int]]:
        """The positions of each batch of the next pass, which begins now."""
        start, plan = self._place.start, self.whole(drop_last)
        self._tell()
        self._place.begun(start)
        wanted = orders(plan, start.epoch, start.read, start.ahead)
        return ((order.indices % plan.n).tolist() for order in wanted)

    def whole(self, drop_last: bool) -> BatchSchedule:
        """The plan of those who read by this: of all ranks where somebody else divides."""
        plan = replace(self.plan, drop_last=drop_last)
        return replace(plan, rank=0, world_size=1) if self.taken_apart else plan

    def _tell(self) -> None:
        epoch = self._place.start.epoch
        for clock in clocks(self._dataset):
            clock.set(epoch)
        tell_epoch(self._dataset, epoch)
        self._place.heard()

    def __iter__(self) -> Iterator[tuple[int, int]]:
        epoch = self.epoch
        return ((epoch, int(index)) for index in self.plan.order(epoch))

    def __len__(self) -> int:
        return self.plan.samples_of_rank


class LoaderBatches(BatchSampler):
    """The `batch_sampler` of a loader, by which other DataLoaders read what it would; torch's, with another sampler."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        super().__init__(sampler, batch_size, drop_last)

    def __iter__(self) -> Iterator[list[Any]]:
        return self.sampler.batches(self.drop_last) if isinstance(self.sampler, LoaderSampler) else super().__iter__()

    def __len__(self) -> int:
        if isinstance(self.sampler, LoaderSampler):
            return self.sampler.whole(self.drop_last).batches
        return super().__len__()
