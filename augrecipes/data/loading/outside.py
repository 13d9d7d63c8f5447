"""What others see of a loader's order: torch's DataLoader has a sampler and a batch sampler, and libraries use them.

accelerate makes a DataLoader of its own of a loader's parts, and divides the batch sampler by ranks once more: samples
would be missing. Lightning, Fabric and Ray leave a DataLoader alone whose sampler is a DistributedSampler.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch.utils.data import BatchSampler, DistributedSampler

from augrecipes.data.loading.place import LoaderPosition
from augrecipes.data.loading.sampler import BatchSchedule
from augrecipes.errors import LoaderError


class LoaderSampler(DistributedSampler[Any]):
    """The `sampler` of a loader: what its next pass reads, as (epoch, index) pairs of this rank.

    It is a DistributedSampler because the loader divides by ranks itself: nobody else need do so.

    Args:
        plan: of the loader.
        place: where the loader is; `set_epoch` moves it, as the loader's own does.
    """

    def __init__(self, plan: BatchSchedule, place: LoaderPosition) -> None:
        self.plan, self._place = plan, place

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

    @property
    def epoch(self) -> int:  # type: ignore[override]
        """That of the loader's next pass."""
        return self._place.start.epoch

    def __iter__(self) -> Iterator[tuple[int, int]]:
        epoch = self.epoch
        return ((epoch, int(index)) for index in self.plan.order(epoch))

    def __len__(self) -> int:
        return self.plan.samples_of_rank


class LoaderBatches(BatchSampler):
    """The `batch_sampler` of a loader, for its `batch_size` and length: another DataLoader cannot read by it."""

    def __init__(self, sampler: LoaderSampler, batch_size: int, drop_last: bool) -> None:
        given: Any = sampler  # torch says that samplers give integers
        super().__init__(given, batch_size, drop_last)

    def __iter__(self) -> Iterator[list[Any]]:
        raise divided_twice()


def divided_twice() -> LoaderError:
    """What those are told who make another DataLoader of a loader's parts."""
    return LoaderError(
        "another DataLoader is made of this loader's parts, as accelerate's prepare() and skip_first_batches() do: it "
        "would divide the samples by ranks once more, read them otherwise than `backend` says, and have no "
        "state_dict(). Leave the loader out of prepare(): it finds its rank by itself, and "
        "accelerate.utils.send_to_device(batch, accelerator.device) moves a batch. Or give prepare() a plain "
        "torch DataLoader over the dataset, which then is divided by accelerate alone"
    )
