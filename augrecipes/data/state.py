"""The position of a loader, and its saved state, from which another process can resume with the next batch."""

import hashlib
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch.utils.data import Subset

from augrecipes.data.epochs import Skipped, check_epoch, clocks, leaves, report, wrappers
from augrecipes.data.order import BatchSchedule, digest, share_of_process
from augrecipes.errors import LoaderError, counted, logger
from augrecipes.versions import environment, warn_of_differences

VERSION = 2
_LARGEST = 2**62


@dataclass(frozen=True, slots=True)
class EpochProgress:
    """How far an epoch has been handed out.

    Attributes:
        epoch: the epoch.
        read: how many of its samples were delivered to all ranks together.
    """

    epoch: int = 0
    read: int = 0


class LoaderPosition:
    """The position of a loader, which follows the last `set_epoch` of the loader or of its datasets.

    Args:
        schedule: which samples make up which batch.
        dataset: the dataset, whose epochs are followed.
        finds_rank: whether the schedule follows this process's share: process groups are often set up after the loader.
            Once this process knows of others, its share is fixed.

    Attributes:
        progress: of the current pass, or the start of the next one.
        start: where the next pass begins.
        moves: how often `start` was set.
        skipped: records of the current or last pass.
    """

    def __init__(self, schedule: BatchSchedule, dataset: Any, *, finds_rank: bool) -> None:
        self.schedule, self._clocks = schedule.validate(), clocks(dataset)
        self._finds_rank, self.moves = finds_rank, 0
        self.skipped: list[Skipped] = []
        self.move(EpochProgress(max((clock.request[0] for clock in self._clocks), default=0)))
        self.update()

    def move(self, progress: EpochProgress) -> None:
        """Let the next pass begin at `progress`."""
        self.start = self.progress = progress
        self.moves += 1
        self.acknowledge()

    def set_epoch(self, epoch: int) -> None:
        """Let the next pass run `epoch`: from its beginning, unless a state of this very epoch was loaded."""
        epoch = check_epoch(epoch)
        resumes = self.start is self.progress and self.start.epoch == epoch
        self.move(self.start if resumes else EpochProgress(epoch))

    def update(self) -> None:
        """Adopt the rank, and the datasets' epochs, that were set since the last call."""
        if self._finds_rank and (share := share_of_process()).world_size > 1:
            self.schedule = replace(self.schedule, rank=share.rank, world_size=share.world_size).validate()
            self._finds_rank = False
            logger.info(
                "the loader reads the share of rank %d of %d, as torch.distributed or the environment says; "
                "rank=0, world_size=1 reads everything",
                *share,
            )
        before = self._requests
        self.acknowledge()
        for request, earlier in zip(self._requests, before, strict=True):
            if request != earlier:
                self.set_epoch(request[0])

    def acknowledge(self) -> None:
        """Regard all requests of the datasets' epochs so far as handled."""
        self._requests = [clock.request for clock in self._clocks]

    def begin(self, progress: EpochProgress) -> None:
        """Begin a pass with its first batch; the next pass will run the next epoch."""
        self.progress, self.start, self.skipped = progress, EpochProgress(progress.epoch + 1), []

    def advance(self, before: EpochProgress, now: EpochProgress, skipped: Sequence[Skipped]) -> None:
        """Advance by a batch of a pass, unless a later pass or `set_epoch` has moved the loader elsewhere."""
        if self.progress == before:
            self.progress = now
            self.skipped.extend(skipped)

    def finish(self, progress: EpochProgress) -> None:
        """End a pass after its last batch, and log its skipped samples."""
        if self.progress == progress and self.start == EpochProgress(progress.epoch + 1):
            self.progress = self.start
        if self.skipped:
            logger.warning("epoch %d: %s", progress.epoch, report(self.skipped))


def fingerprint(schedule: BatchSchedule, dataset: Any) -> dict[str, Any]:
    """The settings that must be equal for a saved state to apply, by the names of arguments.

    Every argument that changes a sample has an entry. Other libraries or processors only cause a warning. The number of
    workers, rank, world_size and batch_size may change.
    """
    settings = schedule.fingerprint()
    chosen = [each.indices for each in wrappers(dataset) if isinstance(each, Subset)]
    if chosen:
        settings["indices"] = digest(*(np.asarray(indices, np.int64) for indices in chosen))
    for leaf in leaves(dataset):
        own = getattr(leaf, "fingerprint", None)
        for name, value in (own() if callable(own) else {}).items():
            several = f"{settings[name]}\0{value}".encode() if name in settings else b""
            settings[name] = hashlib.sha256(several).hexdigest()[:16] if several else value
    return settings


def save(
    progress: EpochProgress, schedule: BatchSchedule, settings: Mapping[str, Any], *, in_order: bool
) -> dict[str, Any]:
    """The state as a dict of plain numbers and text, for torch.save or JSON.

    Raises:
        LoaderError: in the middle of an epoch whose batches are not delivered in order.
    """
    midway = 0 < progress.read < schedule.total
    if midway and not in_order:
        raise LoaderError(
            "with in_order=False batches come as they are ready, so that in the middle of an epoch no state says which "
            "are left: save it between epochs, or load with in_order=True (or with one worker)"
        )
    return {
        "version": VERSION,
        "epoch": progress.epoch,
        "read": min(progress.read, schedule.total),
        "world_size": schedule.world_size,
        "batch_size": schedule.batch_size,
        "order": schedule.order_digest(progress.epoch) if midway else None,
        "fingerprint": dict(settings),
        "made_with": environment(),
    }


def restore(state: Any, schedule: BatchSchedule, settings: Mapping[str, Any]) -> EpochProgress:
    """The progress in a saved state; a LoaderError names every difference if it belongs to another loader.

    The log says if the number of ranks, versions of libraries or the family of processors has changed.
    """
    if not isinstance(state, Mapping) or not {"version", "epoch", "fingerprint"} <= set(state):
        raise LoaderError("this is not a state of an augrecipes loader : pass what state_dict() returned")
    _number(state, "version", VERSION, VERSION)
    saved, origin = state["fingerprint"], state.get("made_with", {})
    if not (isinstance(saved, Mapping) and isinstance(origin, Mapping)):
        raise LoaderError("the state is damaged: its fingerprint and made_with are not names and values")
    names = [name for name in {**saved, **settings} if _differ(saved.get(name), settings.get(name))]
    if names:
        text = "; ".join(
            f"{name}: saved {reprlib.repr(saved.get(name))}, here {settings.get(name)!r}" for name in names
        )
        plain = (
            "; without native kernels `fast` has the samples of `none`, so has `exact`" if "optimize" in names else ""
        )
        raise LoaderError(f"the state belongs to another loader: {text}{plain}")
    epoch, read = _number(state, "epoch", 0, _LARGEST), _number(state, "read", 0, schedule.total)
    saved_ranks = _number(state, "world_size", 1, 2**31), _number(state, "batch_size", 1, _LARGEST)
    if (order := state.get("order")) is not None and _differ(order, schedule.order_digest(epoch)):
        raise LoaderError(
            f"the order of epoch {epoch} is another than when the state was saved: a sampler that draws by a generator "
            "of its own has to be seeded by its set_epoch(epoch), unless it is torch's `generator=`"
        )
    if saved_ranks != (here := (schedule.world_size, schedule.batch_size)):
        before, now = (f"{counted(ranks, 'rank')} with batch_size {size}" for ranks, size in (saved_ranks, here))
        logger.info("the loader goes on where a state of %s stopped, with %s", before, now)
    warn_of_differences(origin, "the state comes from a run with")
    return EpochProgress(epoch, read)


def _number(state: Mapping[str, Any], name: str, least: int, most: int) -> int:
    value: Any = state.get(name)
    if type(value) is not int or not least <= value <= most:
        raise LoaderError(
            f"the state is damaged, or of another release: {name} is {reprlib.repr(value)}, and here a whole number "
            f"from {least} to {most}"
        )
    return value


def _differ(a: Any, b: Any) -> bool:
    try:
        return bool(a != b)
    except Exception:  # arrays and the like, which no state holds
        return True
