"""A loader's saved state is not trusted: whatever became of it, it is taken as one that was saved, or a LoaderError."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch
from forging import CHANGES, places
from torch.utils.data import TensorDataset

from augrecipes.data import loader as loader_module
from augrecipes.data.loader import Loader, loader
from augrecipes.data.state import EpochProgress
from augrecipes.errors import LoaderError

ODD = (
    None,
    [],
    {},
    "x",
    b"x",
    1.5,
    True,
    -1,
    2**70,
    float("nan"),
    np.arange(3),
    torch.arange(3),
    object(),
    [[]],
    [None],
)


def made() -> Loader:
    return loader(TensorDataset(torch.arange(20)), 3, shuffle=True, seed=4)


def state() -> dict[str, Any]:
    taken = made()
    passing = iter(taken)
    next(passing), next(passing)
    return taken.state_dict()


def damaged(whole: dict[str, Any], rng: random.Random) -> Any:
    changed = deepcopy(whole)
    place = rng.choice([place for place in places(whole) if place.keys[0] != "version"] * 5 + [None])
    if place is None:
        return rng.choice([*ODD, {**whole, "version": rng.choice([0, 2, "1", True, None, 1.0])}])
    holder = place.holder(changed)
    if rng.random() < 0.5:
        holder[place.keys[-1]] = rng.choice(ODD)
    else:
        rng.choice(CHANGES)(holder, place.keys[-1], rng)
    return changed


def law(tries: int) -> dict[str, int]:
    rng, whole, found = random.Random(0), state(), {"taken": 0, "refused": 0}
    for _ in range(tries):
        resumed = made()
        bad = damaged(whole, rng)
        try:
            resumed.load_state_dict(bad)
        except LoaderError as error:
            assert len(str(error)) < 1000
            found["refused"] += 1
            continue
        assert len(list(resumed)) <= len(resumed)
        found["taken"] += 1
    return found


def test_a_damaged_state_is_a_loader_error() -> None:
    found = law(400)
    assert min(found.values()) > 10


def test_a_loader_that_trusts_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def trusting(state: Any, *_: Any) -> EpochProgress:
        return EpochProgress(state["epoch"], state["read"])

    monkeypatch.setattr(loader_module, "restore", trusting)
    with pytest.raises((AssertionError, TypeError, KeyError, ValueError)):
        law(100)
