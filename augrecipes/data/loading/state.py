"""Where a loader stands: enough to go on with the very next batch, in another process or on another day."""

from __future__ import annotations

import hashlib
import logging
import reprlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from torch.utils.data import Subset

from augrecipes.data.batches.epoch import leaves, wrappers
from augrecipes.data.loading.sampled import SampledSchedule, samplers_in
from augrecipes.data.loading.sampler import BatchSchedule
from augrecipes.errors import LoaderError, counted
from augrecipes.versions import made_with, warn_of_differences

VERSION = 2
_LAST_EPOCH, _MOST_RANKS = 2**62, 2**31
_log = logging.getLogger("augrecipes")


@dataclass(frozen=True, slots=True)
class EpochProgress:
    """How far an epoch has been handed out.

    Attributes:
        epoch: which epoch.
        read: how many of its samples all ranks together were handed, counting from its beginning.
        ahead: numbers of batches behind that place that this rank was handed too (`in_order=False`).
    """

    epoch: int = 0
    read: int = 0
    ahead: frozenset[int] = field(default_factory=frozenset)

    def with_batch(self, number: int, step: int) -> EpochProgress:
        """The progress after handing out batch `number`, where each moves the place on by `step`."""
        if number != self.read:
            return EpochProgress(self.epoch, self.read, self.ahead | {number})
        read, ahead = self.read + step, self.ahead
        while read in ahead:
            ahead -= {read}
            read += step
        return EpochProgress(self.epoch, read, ahead)


@dataclass(frozen=True, slots=True)
class Dealt:
    """Among whom batches are shared out.

    Attributes:
        world_size: so many ranks.
        batch_size: samples in a batch of each.
        rank: which one, where others may have been handed others meanwhile (`in_order=False`); None where they go in
            step, so that what one rank was handed says what all were.
    """

    world_size: int
    batch_size: int
    rank: int | None = None

    def __str__(self) -> str:
        which = "" if self.rank is None else f"rank {self.rank} of "
        return f"{which}{counted(self.world_size, 'rank')} with batch_size {self.batch_size}"


def dealt_by(plan: BatchSchedule, *, in_step: bool) -> Dealt:
    """Among whom a loader shares its batches out; `in_step`: in their order, on every rank."""
    return Dealt(plan.world_size, plan.batch_size, None if in_step or plan.world_size == 1 else plan.rank)


def fingerprint(plan: BatchSchedule, dataset: Any) -> dict[str, Any]:
    """What must be the same for a saved state to make sense, under the names that users know.

    Of every argument that changes a sample something stands here. Libraries and processors only lead to a warning.
    Free are the number of workers, and by whom the rest of an epoch is read: rank, world_size and batch_size.
    """
    marks: dict[str, Any] = {
        "length": plan.n,
        "seed": plan.seed,
        "shuffle": plan.shuffle,
        "drop_last": plan.drop_last,
        "weights": None if plan.weights is None else _digest(plan.weights),
        "replacement": plan.replacement,
        "samples_per_epoch": plan.samples,
        "even": plan.even,
    }
    if isinstance(plan, SampledSchedule):
        marks["sampler"] = " of ".join(type(each).__name__ for each in samplers_in(plan.given))
        # What says batches, or divides by ranks, says others where these are others.
        marks |= {"batch_size": plan.batch_size} if plan.batch_sampler is not None else {}
        marks |= {"world_size": plan.world_size} if plan.divided else {}
    chosen = [each.indices for each in wrappers(dataset) if isinstance(each, Subset)]
    if chosen:
        marks["indices"] = _digest(*(np.asarray(indices, np.int64) for indices in chosen))
    for leaf in leaves(dataset):
        own = getattr(leaf, "fingerprint", None)
        for name, value in (own() if callable(own) else {}).items():
            marks[name] = value if name not in marks else _join(marks[name], value)
    return marks


def _digest(*arrays: npt.NDArray[Any]) -> str:
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:16]


def _join(a: Any, b: Any) -> str:
    return hashlib.sha256(f"{a}\0{b}".encode()).hexdigest()[:16]


def save(progress: EpochProgress, plan: BatchSchedule, dealt: Dealt, marks: Mapping[str, Any]) -> dict[str, Any]:
    """The state as a dict of plain numbers and text, for torch.save or JSON."""
    return {
        "version": VERSION,
        "epoch": progress.epoch,
        "read": min(progress.read, plan.total),
        "ahead": sorted(progress.ahead),
        **asdict(dealt),
        "fingerprint": dict(marks),
        "made_with": made_with(),
    }


def restore(state: Any, plan: BatchSchedule, dealt: Dealt, marks: Mapping[str, Any]) -> EpochProgress:
    """The progress in a saved state; LoaderError naming every difference where it is of another loader.

    The log says where others share out what is left, and where other versions of libraries, or another family of
    processors, made the batches before.
    """
    if not isinstance(state, Mapping) or not {"version", "epoch", "fingerprint"} <= set(state):
        raise LoaderError("this is not a state of an augrecipes loader (want what state_dict() gave)")
    if type(state["version"]) is not int or state["version"] != VERSION:
        raise LoaderError(
            f"the state is of version {reprlib.repr(state['version'])}, this augrecipes reads version {VERSION}"
        )
    saved, made = state["fingerprint"], state.get("made_with", {})
    for name, value in (("fingerprint", saved), ("made_with", made)):
        if not isinstance(value, Mapping):
            raise LoaderError(f"the state is damaged: its {name} is {reprlib.repr(value)}, not names and values")
    names = [name for name in {**saved, **marks} if _differ(saved.get(name), marks.get(name))]
    if names:
        text = "; ".join(f"{name}: saved {reprlib.repr(saved.get(name))}, here {marks.get(name)!r}" for name in names)
        raise LoaderError(f"the state belongs to another loader: {text}")
    epoch, read, world_size = (
        _number(state, name, least, most)
        for name, least, most in (("epoch", 0, _LAST_EPOCH), ("read", 0, plan.total), ("world_size", 1, _MOST_RANKS))
    )
    batch_size = _number(state, "batch_size", 1, _LAST_EPOCH)
    rank = None if state.get("rank") is None else _number(state, "rank", 0, world_size - 1)
    ahead = state.get("ahead", [])
    if not isinstance(ahead, list | tuple | set | frozenset) or not all(_is_count(n, 0, plan.total) for n in ahead):
        raise LoaderError(
            f"the state is damaged: ahead is {reprlib.repr(ahead)}, not a list of numbers up to {plan.total}"
        )
    before = Dealt(world_size, batch_size, rank)
    if before != dealt:
        _moved(before, dealt, bool(ahead) or (rank is not None and 0 < read < plan.total))
    warn_of_differences(made, "the state comes from a run with")
    return EpochProgress(epoch, read, frozenset(ahead))


def _moved(before: Dealt, now: Dealt, here_and_there: bool) -> None:
    """What is left of an epoch is shared out among others than before: say so, or that it cannot be."""
    if here_and_there:
        raise LoaderError(
            f"the state is of {before}, where batches were handed out as they came (in_order=False), so that it says "
            f"nothing of what others were handed: it cannot be loaded by {now}. Load each rank's own state, with as "
            "many ranks, or save states with in_order=True"
        )
    if replace(now, rank=None) != replace(before, rank=None):
        _log.info("the loader goes on where a state of %s stopped, with %s", before, now)


def _number(state: Mapping[str, Any], name: str, least: int, most: int) -> int:
    value: Any = state.get(name)
    if not _is_count(value, least, most):
        raise LoaderError(
            f"the state is damaged: {name} is {reprlib.repr(value)}, not a whole number from {least} to {most}"
        )
    return int(value)


def _is_count(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _differ(a: Any, b: Any) -> bool:
    try:
        return bool(a != b)
    except Exception:  # arrays and the like, which no state holds
        return True
