"""Pairs in the demo: one epoch of crops, read in several ways."""

from __future__ import annotations

from typing import Any

import augrecipes as ar
from augrecipes.demo.proofs import Way, at_epoch


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
        Way("the next epoch", "different", lambda: at_epoch(1, loader(4))),
    ]
