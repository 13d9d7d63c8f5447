"""Small datasets without files, for tests of the loader (importable by spawned workers)."""

from __future__ import annotations

import os
import signal
from typing import Any

import torch
from torch.utils.data import Dataset

from augrecipes.data.epochs import EpochClock, SkipError, current
from augrecipes.errors import DataError
from augrecipes.seeds import mix


class Counting(Dataset[Any]):
    """Sample i is a hash of (seed, epoch, virtual index), as an ImageFolder's sample is."""

    def __init__(self, n: int, seed: int = 0, broken: frozenset[int] = frozenset(), skip: bool = False) -> None:
        self.n, self.seed, self.broken, self.skip = n, seed, broken, skip
        self.clock = EpochClock()

    def __len__(self) -> int:
        return self.n

    def set_epoch(self, epoch: int) -> None:
        self.clock.set(epoch)

    @property
    def epoch(self) -> int:
        return self.clock.epoch

    def fingerprint(self) -> dict[str, Any]:
        return {"dataset_seed": self.seed}

    def __getitem__(self, index: int) -> dict[str, Any]:
        if not 0 <= index < self.n:
            raise IndexError(index)
        now = current()
        epoch, repeat = (now.epoch, now.repeat) if now else (self.epoch, 0)
        virtual = index + repeat * self.n
        if index in self.broken:
            error = DataError("broken", f"{index}.png")
            raise SkipError(error, self.seed, virtual) if self.skip and now and now.lost is not None else error
        value = mix(self.seed, epoch, virtual) >> 1
        return {"image": torch.tensor([value]), "index": virtual, "path": f"{index}.png"}


class Dying(Counting):
    """Kills the process that reads sample `at`."""

    def __init__(self, n: int, at: int, how: str) -> None:
        super().__init__(n)
        self.at, self.how = at, how

    def __getitem__(self, index: int) -> dict[str, Any]:
        if index == self.at:
            if self.how == "exit":
                os._exit(3)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


def indices(loader: Any) -> list[int]:
    """The virtual indices of a pass, in order."""
    return [int(i) for batch in loader for i in batch["index"]]


def values(loader: Any) -> list[int]:
    """The samples of a pass, in order."""
    return [int(v) for batch in loader for v in batch["image"].flatten()]
