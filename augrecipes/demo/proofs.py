"""Reproducibility before the user's eyes: the same epoch read in several ways, as digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import augrecipes as ar
from augrecipes.recipe.model import Recipe

Expected = Literal["reference", "same", "different"]


@dataclass(frozen=True, slots=True)
class Proof:
    """One way of reading an epoch.

    Attributes:
        how: what was done.
        digest: hex digest of all the samples in their order.
        expected: compared with the first proof.
        holds: whether it came out as expected.
    """

    how: str
    digest: str
    expected: Expected
    holds: bool


def digest_of(batches: Iterable[dict[str, Any]]) -> str:
    """64 hex digits of every image, label and path, in order, however they are cut into batches."""
    state = hashlib.sha256()
    for batch in batches:
        labels = batch.get("label", [0] * len(batch["image"]))  # a flat folder has no classes
        for k in range(len(batch["image"])):
            state.update(batch["image"][k].numpy().tobytes())
            state.update(f"{int(labels[k])} {batch['path'][k]}\n".encode("utf-8", "surrogateescape"))
    return state.hexdigest()


def prove(
    root: str, recipe: Recipe, *, workers: int = 2, spawn: bool = True, step: Callable[[str], None] = lambda how: None
) -> list[Proof]:
    """Read one epoch of a folder in several ways that must agree, and in three that must not.

    Args:
        root: class folders of images of any size.
        recipe: its outputs must be of one size.
        workers: number of worker processes where there are some.
        spawn: also read with workers that start afresh (takes seconds).
        step: called with the name of each proof before it is made.
    """

    def loader(batch_size: int, seed: int = 0, optimize: Any = None, **options: Any) -> ar.Loader:
        ds = ar.ImageFolder(root, recipe, seed=seed, optimize=optimize)
        return ar.loader(ds, batch_size=batch_size, shuffle=True, seed=seed, **options)

    def resumed() -> Iterator[dict[str, Any]]:
        first = loader(8, num_workers=workers)
        batches = iter(first)
        for _ in range(max(len(first) // 2, 1)):
            yield next(batches)
        state = json.loads(json.dumps(first.state_dict()))  # as a checkpoint would keep it
        second = loader(8)
        second.load_state_dict(state)
        yield from second

    def later() -> ar.Loader:
        dl = loader(8)
        dl.set_epoch(1)
        return dl

    ways: list[tuple[str, Expected, Callable[[], Iterable[dict[str, Any]]]]] = [
        ("in this process, batches of 8", "reference", lambda: loader(8)),
        ("in this process, batches of 3", "same", lambda: loader(3)),
        (f"{workers} workers, batches of 8", "same", lambda: loader(8, num_workers=workers)),
        (
            f"{workers} spawned workers, batches of 8",
            "same",
            lambda: loader(8, num_workers=workers, multiprocessing_context="spawn", persistent_workers=False),
        ),
        ("stopped half way and resumed", "same", resumed),
        ("optimize: none instead of exact", "same", lambda: loader(8, optimize="none")),
        ("the next epoch", "different", later),
        ("another seed", "different", lambda: loader(8, seed=1)),
    ]
    proofs: list[Proof] = []
    for how, expected, batches in ways:
        if "spawned" in how and not spawn:
            continue
        step(how)
        digest = digest_of(batches())
        holds = expected == "reference" or (digest == proofs[0].digest) == (expected == "same")
        proofs.append(Proof(how, digest, expected, holds))
    return proofs
