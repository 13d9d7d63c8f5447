"""Memory of batches is kept from pass to pass, as much as is said and no more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gathering import Gathering

from augrecipes.data import batching
from augrecipes.data.batching import Pool
from augrecipes.data.loader import loader

MIB = 1 << 20


def fresh(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what is asked of the system from now on."""
    asked: list[int] = []
    of_the_system = batching._of_the_system

    def counted(size: int) -> Any:
        asked.append(size)
        return of_the_system(size)

    monkeypatch.setattr(batching, "_of_the_system", counted)
    return asked


@pytest.mark.parametrize("but", [0, 3 * MIB, 5 * MIB, 100 * MIB])
def test_no_more_is_kept_than_is_said(but: int) -> None:
    lent, sizes = Pool(), (2 * MIB, MIB, 3 * MIB, 2 * MIB)
    held = [lent.empty((size,), torch.uint8) for size in sizes]
    held.clear()
    assert len(lent._free) == len(sizes)
    lent.clear(but)
    kept = [len(one) for one in lent._free]
    assert sum(kept) <= but
    assert sum(kept) + max(sizes) >= min(but, sum(sizes))  # and not much less


@pytest.mark.parametrize(
    "options", [{"num_workers": 0}, {"backend": "threads", "num_workers": 2}], ids=["one thread", "two"]
)
def test_the_next_pass_asks_for_no_fresh_memory(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    monkeypatch.setattr(batching, "LEAST_BYTES", 1)
    made, asked = loader(Gathering(40), 8, **options), fresh(monkeypatch)

    def passes(count: int) -> list[int]:
        for _ in range(count):
            for batch in made:
                del batch
            asked.append(0)
        taken = asked[:-1] if not asked[-1] else asked[:]
        asked.clear()
        return [size for size in taken if size]

    first = passes(1)
    assert first
    if not options["num_workers"]:
        assert passes(3) == []
        monkeypatch.setattr(batching, "BATCH_BYTES", 0)  # a planted fault, and what `tune_allocator=False` does
        assert len(passes(4)) >= 3 * len(first)


def test_without_tuning_all_goes_back() -> None:
    made = loader(Gathering(40), 8, tune_allocator=False)
    for batch in made:
        assert np.asarray(batch["image"]).size
    del batch
    assert made._readers.pool._free == []
