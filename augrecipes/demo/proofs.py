"""Reproducibility before the user's eyes: the same epoch read in several ways, as digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch

import augrecipes as ar

Expected = Literal["reference", "same", "different"]
Batches = Callable[[], Iterable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Way:
    """One way of reading an epoch, before it is tried.

    Attributes:
        how: what is done.
        expected: how its digest compares with that of the first way.
        batches: reads the epoch.
    """

    how: str
    expected: Expected
    batches: Batches


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
    """64 hex digits of every tensor, label and path, in order, however the samples are cut into batches."""
    state = hashlib.sha256()
    for batch in batches:
        for k in range(len(batch["path"])):
            for name in sorted(batch):
                value = batch[name][k]
                if isinstance(value, torch.Tensor):
                    state.update(f"{name} {tuple(value.shape)}".encode())
                    state.update(value.numpy().tobytes())
                else:
                    state.update(f"{name} {value}\n".encode("utf-8", "surrogateescape"))
    return state.hexdigest()


def prove(ways: Iterable[Way], step: Callable[[str], None] = lambda how: None) -> list[Proof]:
    """Read the same samples in several ways and compare.

    Args:
        ways: the first is the reference.
        step: called with the name of each way before it is tried.
    """
    proofs: list[Proof] = []
    for way in ways:
        step(way.how)
        digest = digest_of(way.batches())
        holds = way.expected == "reference" or (digest == proofs[0].digest) == (way.expected == "same")
        proofs.append(Proof(way.how, digest, way.expected, holds))
    return proofs


def ways_of(make: Callable[..., Any], size: int, other: int, workers: int) -> list[Way]:
    """Ways to read one epoch that must agree, and one that must not.

    Args:
        make: makes the dataset; takes its arguments.
        size: of a batch.
        other: of a batch, too.
        workers: number of worker processes where there are some.
    """
    return [
        Way(f"in this process, batches of {size}", "reference", lambda: _loader(make(), size, num_workers=0)),
        Way(f"{workers} threads, batches of {other}", "same", lambda: _loader(make(), other, num_workers=workers)),
        Way("optimize: none instead of exact", "same", lambda: _loader(make(optimize="none"), size)),
        Way("the next epoch", "different", lambda: _at_epoch(1, _loader(make(), size))),
    ]


def more_ways(make: Callable[..., Any], size: int, workers: int, *, spawn: bool = True) -> list[Way]:
    """More of them, to be compared with the first of `ways_of`. `spawn`: workers that start afresh take seconds."""

    def resumed() -> Iterator[dict[str, Any]]:
        first = _loader(make(), size, num_workers=workers)
        batches = iter(first)
        for _ in range(max(len(first) // 2, 1)):
            yield next(batches)
        state = json.loads(json.dumps(first.state_dict()))  # as a checkpoint would keep it
        second = _loader(make(), size)
        second.load_state_dict(state)
        yield from second

    afresh: dict[str, Any] = {"num_workers": workers, "multiprocessing_context": "spawn", "persistent_workers": False}
    ways = [
        Way(f"{workers} spawned workers", "same", lambda: _loader(make(), size, **afresh)),
        Way("stopped half way and resumed", "same", resumed),
        Way("another seed", "different", lambda: _loader(make(seed=1), size, seed=1)),
    ]
    return ways if spawn else ways[1:]


def _loader(dataset: Any, batch_size: int, seed: int = 0, **options: Any) -> ar.Loader:
    return ar.loader(dataset, batch_size=batch_size, shuffle=True, seed=seed, **options)


def _at_epoch(epoch: int, loader: ar.Loader) -> ar.Loader:
    """The loader, made to read this epoch next."""
    loader.set_epoch(epoch)
    return loader
