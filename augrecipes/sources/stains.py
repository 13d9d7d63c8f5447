"""Stains of a slide or bag, estimated once from a fixed subset of its tiles, and cached by their files' stamps.

The subset is spread evenly over all tiles of the bag, sorted by name: it does not depend on pick, seed, epoch, worker
or the order of rows.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from augrecipes import cache, machine
from augrecipes.errors import DataError
from augrecipes.images.reading import stamp_of
from augrecipes.ops.registry import construct
from augrecipes.ops.stain_estimates import Method, StainEstimate, estimate_stains
from augrecipes.progress import progress
from augrecipes.recipe.model import Recipe
from augrecipes.sources.columns import ArrayTable
from augrecipes.store import index

_RULES = 1  # version of the subset and of `estimate_stains`, part of the cache key
_TILES = 24


def source_methods(recipe: Recipe) -> tuple[Method, ...]:
    """The methods by which the steps of a recipe take the stains of a slide or bag."""
    steps = (construct(step) for step in recipe.walk() if not step.steps) if recipe.facts.tiles else ()
    return tuple(sorted({method for step in steps if (method := getattr(step, "source_method", None))}))


@dataclass
class BagStains:
    """The stains of a source's bags, each estimated on first use.

    Attributes:
        source: reads the tiles.
        methods: the methods of a recipe's steps.
    """

    source: Any
    methods: tuple[Method, ...]
    _known: dict[int, dict[str, StainEstimate | None]] = field(default_factory=dict)

    def of_bag(self, row: int) -> dict[str, StainEstimate | None]:
        """The stains of a bag by each method; None where there is no tissue, or the estimate fails."""
        if row not in self._known:
            estimates = ((method, self._numbers(row, method)) for method in self.methods)
            self._known[row] = {method: StainEstimate(tuple(known)) if known else None for method, known in estimates}
        return self._known[row]

    def all(self) -> list[dict[str, StainEstimate | None]]:
        """The stains of every bag."""
        with progress("estimating stains") as advance:
            return [*machine.in_threads(self.of_bag, range(len(self.source.table)), advance=advance)]

    def _numbers(self, row: int, method: Method) -> Sequence[float] | None:
        """The numbers of an estimate, from the store, the cache, or computed now; empty where there are no stains."""
        source, table, store = self.source, self.source.table, getattr(self.source, "store", None)
        if store is not None and method in (kept := store.about.get("stains", {})):
            counts = {len(numbers) for numbers in kept[method] if numbers is not None}
            if len(kept[method]) != len(table) or counts - {6 if method == "reinhard" else 8}:
                raise index.damaged_field(str(store.path / index.NAME), f"about.stains.{method}", "other numbers")
            return kept[method][row]
        units = sorted(table.units_of(row), key=lambda unit: os.path.split(table.images.encoded(unit))[::-1])
        count = min(_TILES, len(units))
        sample = [units[(2 * k + 1) * len(units) // (2 * count)] for k in range(count)]

        def make() -> cache.Arrays:
            stains = estimate_stains([*_pixels(source, sample)], method)
            return {"numbers": np.array(stains.numbers if stains else (), np.float64)}

        stamp = table.stamp if isinstance(table, ArrayTable) else lambda unit: stamp_of(table.images[unit])
        stamps = store.digest if store else repr([stamp(unit) for unit in sample])
        text = repr((_RULES, method, source.decode, [table.images[unit] for unit in sample]))
        key = blake2b(text.encode(errors="surrogateescape"), digest_size=16).hexdigest()
        return cache.memo(cache.STAINS, key, stamps, make)["numbers"].tolist()


def _pixels(source: Any, units: Sequence[int]) -> Iterator[Any]:
    """Yield the readable tiles."""
    for unit in units:
        with suppress(DataError):
            yield source.parts(unit)[0]["image"]
