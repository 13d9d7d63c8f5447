"""Which of several processes that train one model this is, as torch.distributed or torchrun says it."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch.distributed

_RANK, _WORLD_SIZE = "RANK", "WORLD_SIZE"  # as torchrun says them


@dataclass(frozen=True, slots=True)
class Share:
    """One process's share.

    Attributes:
        rank: which one.
        world_size: of how many.
        says: who says so, in words.
    """

    rank: int
    world_size: int
    says: str = "as asked"

    def checked(self) -> Share:
        """Itself; ValueError where there is no such rank."""
        if self.rank >= self.world_size:
            raise ValueError(f"rank must be below world_size, got rank {self.rank} of {self.world_size}")
        return self


ALONE = Share(0, 1, "nobody says that there are others")


def found() -> Share:
    """The share that torch.distributed says, or torchrun where it is not set up yet; else everything.

    Raises:
        ValueError: the environment says something else than a rank and a number of ranks.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return Share(torch.distributed.get_rank(), torch.distributed.get_world_size(), "torch.distributed says so")
    if _RANK not in os.environ or _WORLD_SIZE not in os.environ:
        return ALONE
    said = os.environ[_RANK], os.environ[_WORLD_SIZE]
    if not all(text.strip().isdecimal() for text in said) or not int(said[1]):
        raise ValueError(
            f"the environment says {_RANK}={said[0]!r} of {_WORLD_SIZE}={said[1]!r}, which are no rank and number of "
            "ranks; mend it, or give rank= and world_size="
        )
    return Share(int(said[0]), int(said[1]), f"{_RANK} and {_WORLD_SIZE} of the environment say so").checked()
