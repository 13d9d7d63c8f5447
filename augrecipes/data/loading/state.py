"""Where a loader stands: enough to go on with the very next batch, in another process or on another day."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from augrecipes.data.batches.epoch import leaves
from augrecipes.data.loading.sampler import Plan
from augrecipes.errors import LoaderError

VERSION = 1


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an epoch has been handed out.

    Attributes:
        epoch: which epoch.
        done: all batches below this number were handed out.
        ahead: batches above it that were handed out too (`in_order=False`).
    """

    epoch: int = 0
    done: int = 0
    ahead: frozenset[int] = field(default_factory=frozenset)

    def with_batch(self, number: int) -> Progress:
        """The progress after handing out batch `number`."""
        if number != self.done:
            return replace(self, ahead=self.ahead | {number})
        done, ahead = self.done + 1, self.ahead
        while done in ahead:
            ahead -= {done}
            done += 1
        return replace(self, done=done, ahead=ahead)


def fingerprint(plan: Plan, dataset: Any) -> dict[str, Any]:
    """What must be the same for a saved state to make sense, under the names that users know.

    Rank and the number of workers are free; a state saved by one rank serves all.
    """
    weights = None if plan.weights is None else hashlib.sha256(plan.weights.tobytes()).hexdigest()[:16]
    marks: dict[str, Any] = {
        "length": plan.n,
        "batch_size": plan.batch_size,
        "seed": plan.seed,
        "shuffle": plan.shuffle,
        "drop_last": plan.drop_last,
        "weights": weights,
        "samples_per_epoch": plan.samples,
        "world_size": plan.world_size,
    }
    for leaf in leaves(dataset):
        own = getattr(leaf, "fingerprint", None)
        for name, value in (own() if callable(own) else {}).items():
            marks[name] = value if name not in marks else _join(marks[name], value)
    return marks


def _join(a: Any, b: Any) -> str:
    return hashlib.sha256(f"{a}\0{b}".encode()).hexdigest()[:16]


def save(progress: Progress, marks: Mapping[str, Any]) -> dict[str, Any]:
    """The state as a dict of plain numbers and text, for torch.save or JSON."""
    return {
        "version": VERSION,
        "epoch": progress.epoch,
        "batches": progress.done,
        "ahead": sorted(progress.ahead),
        "fingerprint": dict(marks),
    }


def restore(state: Any, marks: Mapping[str, Any], batches: int) -> Progress:
    """The progress in a saved state; LoaderError naming every difference where it is of another loader."""
    if not isinstance(state, Mapping) or not {"version", "epoch", "batches", "fingerprint"} <= set(state):
        raise LoaderError("this is not a state of an augrecipes loader (want what state_dict() gave)")
    if state["version"] != VERSION:
        raise LoaderError(f"the state is of version {state['version']}, this augrecipes reads version {VERSION}")
    saved = state["fingerprint"]
    names = [name for name in {**saved, **marks} if saved.get(name) != marks.get(name)]
    if names:
        told = "; ".join(f"{name}: saved {saved.get(name)!r}, here {marks.get(name)!r}" for name in names)
        raise LoaderError(f"the state belongs to another loader: {told}")
    epoch, done, ahead = state["epoch"], state["batches"], frozenset(state.get("ahead", ()))
    if not all(isinstance(x, int) and x >= 0 for x in (epoch, done, *ahead)) or done > batches:
        raise LoaderError(f"the state is damaged: epoch {epoch!r}, {done!r} of {batches} batches handed out")
    return Progress(epoch, done, ahead)
