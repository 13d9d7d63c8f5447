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


def image_ways(root: str, recipe: str, *, workers: int = 2, spawn: bool = True) -> list[Way]:
    """Ways to read one epoch of a folder that must agree, and two that must not.

    Args:
        root: class folders of images of any size.
        recipe: its outputs must be of one size.
        workers: number of worker processes where there are some.
        spawn: also read with workers that start afresh (takes seconds).
    """

    def loader(batch_size: int, seed: int = 0, optimize: Any = "exact", **options: Any) -> ar.Loader:
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

    def spawned() -> ar.Loader:
        return loader(8, num_workers=workers, multiprocessing_context="spawn", persistent_workers=False)

    ways = [
        Way("in this process, batches of 8", "reference", lambda: loader(8)),
        Way("in this process, batches of 3", "same", lambda: loader(3)),
        Way(f"{workers} workers, batches of 8", "same", lambda: loader(8, num_workers=workers)),
        Way(f"{workers} spawned workers, batches of 8", "same", spawned),
        Way("stopped half way and resumed", "same", resumed),
        Way("optimize: none instead of exact", "same", lambda: loader(8, optimize="none")),
        Way("the next epoch", "different", lambda: _at_epoch(1, loader(8))),
        Way("another seed", "different", lambda: loader(8, seed=1)),
    ]
    return [way for way in ways if spawn or "spawned" not in way.how]


def pair_ways(roots: dict[str, str], recipe: str, *, workers: int = 2) -> list[Way]:
    """Ways to read one epoch of pairs that must agree, and one that must not.

    Args:
        roots: a folder for each target.
        recipe: of kind pair.
        workers: number of worker processes where there are some.
    """

    def loader(batch_size: int, optimize: Any = None, **options: Any) -> ar.Loader:
        ds = ar.PairedImages(roots, recipe, optimize=optimize)
        return ar.loader(ds, batch_size=batch_size, shuffle=True, **options)

    return [
        Way("in this process, batches of 4", "reference", lambda: loader(4)),
        Way(f"{workers} workers, batches of 3", "same", lambda: loader(3, num_workers=workers)),
        Way("optimize: none instead of exact", "same", lambda: loader(4, optimize="none")),
        Way("the next epoch", "different", lambda: _at_epoch(1, loader(4))),
    ]


def bag_ways(root: str, recipe: str, *, workers: int = 2) -> list[Way]:
    """Ways to read one epoch of bags that must agree, and one that must not.

    Args:
        root: folder of bags.
        recipe: of kind bag.
        workers: number of worker processes where there are some.
    """

    def loader(threads: int, **options: Any) -> ar.Loader:
        ds = ar.TileBags(root, recipe, threads=threads)
        return ar.loader(ds, batch_size=1, shuffle=True, **options)

    return [
        Way("in this process, 1 thread", "reference", lambda: loader(1)),
        Way("in this process, 2 threads a bag", "same", lambda: loader(2)),
        Way(f"{workers} workers", "same", lambda: loader(1, num_workers=workers)),
        Way("the next epoch", "different", lambda: _at_epoch(1, loader(1))),
    ]


def _at_epoch(epoch: int, loader: ar.Loader) -> ar.Loader:
    """The loader, made to read this epoch next."""
    loader.set_epoch(epoch)
    return loader
