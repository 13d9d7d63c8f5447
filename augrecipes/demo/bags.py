"""Bags in the demo: read in several ways, delivered as soon as they are done, and measured."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from time import monotonic, perf_counter
from typing import Any

from torch.utils.data import Dataset

import augrecipes as ar
from augrecipes.demo.proofs import Way, at_epoch


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
        Way("the next epoch", "different", lambda: at_epoch(1, loader(1))),
    ]


@dataclass(frozen=True, slots=True)
class Times:
    """When a bag was done in its worker, and when the training loop had it, ms after the pass began."""

    done: float
    delivered: float

    @property
    def waited(self) -> float:
        """How long the finished bag waited, ms."""
        return max(self.delivered - self.done, 0.0)


@dataclass(frozen=True, slots=True)
class Arrival:
    """How one bag came to the training loop.

    Attributes:
        bag: its name.
        tiles: how many it has.
        in_order: with the loader's default.
        at_once: with `in_order=False`.
    """

    bag: str
    tiles: int
    in_order: Times
    at_once: Times


class _Stamped(Dataset[dict[str, Any]]):
    """Bags that say when they were done; any wrapper around our datasets may be loaded."""

    def __init__(self, bags: ar.TileBags) -> None:
        self.bags = bags

    def __len__(self) -> int:
        return len(self.bags)

    def __getitem__(self, index: Any) -> dict[str, Any]:
        return self.bags[index] | {"done": monotonic()}


def arrivals(root: str, recipe: str, *, workers: int = 2) -> list[Arrival]:
    """Read bags of different size with workers, in order and as they are done.

    Args:
        root: folder of bags.
        recipe: of kind bag.
        workers: at least 2, or there is nothing to overtake.

    Returns:
        One entry a bag, in the order of the folder, which is the order in which the bags are begun.
    """
    ds = ar.TileBags(root, recipe)
    found: dict[bool, dict[str, Times]] = {True: {}, False: {}}
    for in_order, times in found.items():
        # A bag ahead in one worker's queue could not be taken over by another worker.
        options: dict[str, Any] = {"num_workers": workers, "prefetch_factor": 1, "persistent_workers": True}
        dl = ar.loader(_Stamped(ds), batch_size=1, in_order=in_order, **options)
        for _ in dl:  # starts the workers and warms their caches
            pass
        start = monotonic()
        for batch in dl:
            done = float(batch["done"][0]) - start
            times[batch["bag"][0]] = Times(done * 1000, (monotonic() - start) * 1000)
        del dl
    tiles = dict(zip(ds.bags, ds.tiles.tolist(), strict=True))
    return [Arrival(bag, tiles[bag], found[True][bag], found[False][bag]) for bag in ds.bags]


@dataclass(frozen=True, slots=True)
class BagSpeed:
    """Tiles per second: decoding, steps and the bag's tensor included, in this process.

    Attributes:
        recipe: its name.
        one: with one thread.
        two: with two.
    """

    recipe: str
    one: float
    two: float


def measure_bags(root: str, recipe: str, *, seconds: float) -> BagSpeed:
    """Measure one and two threads in turns; each one's figure is the median of its turns.

    Args:
        root: folder of bags; the largest is read over and over.
        recipe: of kind bag.
        seconds: length of each of the two measurements.
    """
    datasets = {threads: ar.TileBags(root, recipe, threads=threads) for threads in (1, 2)}
    largest = int(datasets[1].tiles.argmax())
    rates: dict[int, list[float]] = {1: [], 2: []}
    for ds in datasets.values():
        ds[largest]  # the first one fills caches
    for turn in range(3):
        for threads, ds in datasets.items():
            start, count, epoch = perf_counter(), 0, 1000 * turn
            while (spent := perf_counter() - start) < seconds / 3 or not count:
                count += len(ds[epoch, largest]["image"])
                epoch += 1
            rates[threads].append(count / spent)
    return BagSpeed(recipe, median(rates[1]), median(rates[2]))
