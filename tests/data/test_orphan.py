"""Workers of a pass that nobody refers to any more end by themselves, also where a cycle of references held it."""

from __future__ import annotations

import gc
import multiprocessing
from typing import Any

import pytest
import torch
from torch.utils.data import TensorDataset

from augrecipes.data.loader import loader
from augrecipes.data.loading import orphan


def terminated(count: int, method: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> int:
    """How many workers torch had to wait for in vain, and to kill, when so many passes were left in cycles."""
    killed: list[int] = []
    context: Any = multiprocessing.get_context(method)
    process = context.Process
    terminate = process.terminate

    def counted(worker: Any) -> None:
        killed.append(worker.pid)
        terminate(worker)

    monkeypatch.setattr(process, "terminate", counted)
    gc.collect()
    for _ in range(count):
        passing = iter(
            loader(TensorDataset(torch.arange(100)), 2, num_workers=1, multiprocessing_context=method, **options)
        )
        next(passing)
        cycle: list[Any] = [passing]
        cycle.append(cycle)
        del passing, cycle
    gc.collect()
    return len(killed)


@pytest.mark.parametrize("options", [{}, {"persistent_workers": True}], ids=["leaving", "staying"])
def test_abandoned_passes_are_not_waited_for(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert terminated(3, "fork", monkeypatch, **options) == 0


def test_workers_without_a_leash_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphan, "_pull", lambda mine, process: None)
    assert terminated(1, "fork", monkeypatch) == 1


def test_a_pass_goes_on_after_another_was_left(monkeypatch: pytest.MonkeyPatch) -> None:
    data = TensorDataset(torch.arange(60))
    kept = iter(loader(data, 2, num_workers=2, multiprocessing_context="fork"))
    first = next(kept)
    assert terminated(2, "fork", monkeypatch) == 0
    assert torch.cat([first[0], *(batch[0] for batch in kept)]).tolist() == list(range(60))
