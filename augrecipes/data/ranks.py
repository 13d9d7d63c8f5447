"""Which share of every epoch this process reads, where several processes train one model."""

from __future__ import annotations

import logging
import os
from typing import Any, NamedTuple

import torch.distributed

_RANK, _WORLD_SIZE = "RANK", "WORLD_SIZE"  # as torchrun says them
_log = logging.getLogger("augrecipes")


class Share(NamedTuple):
    """One process's share.

    Attributes:
        rank: which one.
        world_size: of how many.
        says: who says so, in words.
    """

    rank: int
    world_size: int
    says: str = "as asked"


ALONE = Share(0, 1, "nobody says that there are others")


def share_of(rank: Any, world_size: Any, says: str = "as asked") -> Share:
    """The share of a rank, given as integers or text of digits; ValueError where there is no such rank."""
    numbers = [int(n) if isinstance(n, str) and n.strip().isdecimal() else n for n in (rank, world_size)]
    whole = all(hasattr(n, "__index__") and not isinstance(n, bool) for n in numbers)
    if not whole or not 0 <= numbers[0] < numbers[1]:
        raise ValueError(
            f"rank must be below world_size, and both whole numbers; got rank {rank!r} of {world_size!r} ({says})"
        )
    return Share(int(numbers[0]), int(numbers[1]), says)


def found() -> Share:
    """The share that torch.distributed says, or torchrun where it is not set up yet; else everything.

    Raises:
        ValueError: the environment says something else than a rank and a number of ranks.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return Share(torch.distributed.get_rank(), torch.distributed.get_world_size(), "torch.distributed says so")
    if _RANK not in os.environ or _WORLD_SIZE not in os.environ:
        return ALONE
    return share_of(os.environ[_RANK], os.environ[_WORLD_SIZE], f"{_RANK} and {_WORLD_SIZE} of the environment say so")


class Ranks:
    """The share of a loader. Processes that train together are often set up after it was made.

    Args:
        rank: as the user gave it, or None.
        world_size: the same.

    Attributes:
        share: as it was when somebody looked.

    Raises:
        ValueError: they make no sense.
    """

    def __init__(self, rank: Any = None, world_size: Any = None) -> None:
        if (rank is None) != (world_size is None):
            raise ValueError(
                f"rank and world_size belong together, got rank {rank} of {world_size}: give both, or neither, and "
                "they are found where torch.distributed or torchrun says them; rank=0, world_size=1 reads everything"
            )
        self._settled = rank is not None
        self.share = share_of(rank, world_size) if self._settled else Share(0, 1)
        self.look()

    def look(self) -> Share | None:
        """The share, where it is another one than before: once this process knows of others, that is settled."""
        if self._settled or (share := found()).world_size == 1:
            return None
        self.share, self._settled = share, True
        which = f"rank {share.rank} of {share.world_size} ({share.says})"
        _log.info("the loader reads the share of %s; rank=0, world_size=1 reads everything", which)
        return share
