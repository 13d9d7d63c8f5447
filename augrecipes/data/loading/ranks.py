"""Which share of every epoch this process reads, where several processes train one model."""

from __future__ import annotations

import logging
from typing import Any

from augrecipes.data.batches.shares import Share, found
from augrecipes.data.checks import count
from augrecipes.errors import LoaderError

_log = logging.getLogger("augrecipes")


def asked(rank: Any, world_size: Any) -> Share | None:
    """The share that the arguments say; None where they leave it to be found.

    Raises:
        ValueError: they make no sense.

    >>> asked(1, 2), asked(None, None)
    (Share(rank=1, world_size=2, says='as asked'), None)
    """
    if rank is None and world_size is None:
        return None
    if rank is None or world_size is None:
        raise ValueError(
            f"rank and world_size belong together, got rank {rank} of {world_size}: give both, or neither, and they "
            "are found where torch.distributed or torchrun says them; rank=0, world_size=1 reads everything"
        )
    return Share(count("rank", rank, 0), count("world_size", world_size, 1)).checked()


class Ranks:
    """The share of a loader. Processes that train together are often set up after it was made.

    Args:
        rank: as the user gave it, or None.
        world_size: the same.

    Attributes:
        share: as it was when somebody looked.
    """

    def __init__(self, rank: Any, world_size: Any) -> None:
        said = asked(rank, world_size)
        self.share, self._settled = said or Share(0, 1), said is not None
        self.look(midway=False)

    def look(self, *, midway: bool) -> Share | None:
        """The share, where it is another one than before: once this process knows of others, that is settled.

        Raises:
            LoaderError: it is told of others `midway`, when batches here and there in an epoch were said to be done.
        """
        if self._settled or (share := found()).world_size == 1:
            return None
        which = f"rank {share.rank} of {share.world_size} ({share.says})"
        if midway:
            raise LoaderError(
                f"this is {which}, and was alone when a state of batches that came as they were ready (in_order=False) "
                "was loaded: set torch.distributed up first, or give rank= and world_size="
            )
        self.share, self._settled = share, True
        _log.info("the loader reads the share of %s; rank=0, world_size=1 reads everything", which)
        return share
