"""Where a loader stands: enough to go on with the very next batch, in another process or on another day."""

from __future__ import annotations

import hashlib
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from torch.utils.data import Subset

from augrecipes.data.batches.epoch import leaves, wrappers
from augrecipes.data.loading.sampled import SampledSchedule, samplers_in
from augrecipes.data.loading.sampler import BatchSchedule
from augrecipes.errors import LoaderError
from augrecipes.versions import made_with, warn_of_differences

VERSION = 1
_LAST_EPOCH = 2**62


@dataclass(frozen=True, slots=True)
class EpochProgress:
    """How far an epoch has been handed out.

    Attributes:
        epoch: which epoch.
        done: all batches below this number were handed out.
        ahead: batches above it that were handed out too (`in_order=False`).
    """

    epoch: int = 0
    done: int = 0
    ahead: frozenset[int] = field(default_factory=frozenset)

    def with_batch(self, number: int) -> EpochProgress:
        """The progress after handing out batch `number`."""
        if number != self.done:
            return replace(self, ahead=self.ahead | {number})
        done, ahead = self.done + 1, self.ahead
        while done in ahead:
            ahead -= {done}
            done += 1
        return replace(self, done=done, ahead=ahead)


def fingerprint(plan: BatchSchedule, dataset: Any) -> dict[str, Any]:
    """What must be the same for a saved state to make sense, under the names that users know.

    Of every argument that changes a sample something stands here. Libraries and processors only lead to a warning.
    Rank and the number of workers are free; a state saved by one rank serves all.
    """
    marks: dict[str, Any] = {
        "length": plan.n,
        "batch_size": plan.batch_size,
        "seed": plan.seed,
        "shuffle": plan.shuffle,
        "drop_last": plan.drop_last,
        "weights": None if plan.weights is None else _digest(plan.weights),
        "samples_per_epoch": plan.samples,
        "world_size": plan.world_size,
        "even": plan.even,
    }
    if isinstance(plan, SampledSchedule):
        marks["sampler"] = " of ".join(type(each).__name__ for each in samplers_in(plan.given))
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


def save(progress: EpochProgress, marks: Mapping[str, Any]) -> dict[str, Any]:
    """The state as a dict of plain numbers and text, for torch.save or JSON."""
    return {
        "version": VERSION,
        "epoch": progress.epoch,
        "batches": progress.done,
        "ahead": sorted(progress.ahead),
        "fingerprint": dict(marks),
        "made_with": made_with(),
    }


def restore(state: Any, marks: Mapping[str, Any], batches: int) -> EpochProgress:
    """The progress in a saved state; LoaderError naming every difference where it is of another loader.

    The log says where other versions of libraries, or another family of processors, made the batches before.
    """
    if not isinstance(state, Mapping) or not {"version", "epoch", "batches", "fingerprint"} <= set(state):
        raise LoaderError("this is not a state of an augrecipes loader (want what state_dict() gave)")
    if type(state["version"]) is not int or state["version"] != VERSION:
        raise LoaderError(f"the state is of version {state['version']!r}, this augrecipes reads version {VERSION}")
    saved, made = state["fingerprint"], state.get("made_with", {})
    for name, value in (("fingerprint", saved), ("made_with", made)):
        if not isinstance(value, Mapping):
            raise LoaderError(f"the state is damaged: its {name} is {reprlib.repr(value)}, not names and values")
    names = [name for name in {**saved, **marks} if _differ(saved.get(name), marks.get(name))]
    if names:
        text = "; ".join(f"{name}: saved {reprlib.repr(saved.get(name))}, here {marks.get(name)!r}" for name in names)
        raise LoaderError(f"the state belongs to another loader: {text}")
    epoch, done, ahead = state["epoch"], state["batches"], state.get("ahead", [])
    for name, value, most in (("epoch", epoch, _LAST_EPOCH), ("batches", done, batches)):
        if not _is_count(value, most):
            raise LoaderError(
                f"the state is damaged: {name} is {reprlib.repr(value)}, not a whole number from 0 to {most}"
            )
    if not isinstance(ahead, list | tuple | set | frozenset) or not all(_is_count(n, batches - 1) for n in ahead):
        raise LoaderError(
            f"the state is damaged: ahead is {reprlib.repr(ahead)}, not a list of numbers below {batches}"
        )
    warn_of_differences(made, "the state comes from a run with")
    return EpochProgress(epoch, done, frozenset(ahead))


def _is_count(value: Any, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


def _differ(a: Any, b: Any) -> bool:
    try:
        return bool(a != b)
    except Exception:  # arrays and the like, which no state holds
        return True
