"""Bags of different size, read by workers: delivered in order, and as soon as they are done."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import Any

from torch.utils.data import Dataset

import augrecipes as ar


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
