"""Tiles that were decoded lately: windows side by side, or over each other, share tiles.

A tile that is asked for once is not kept: no more of it is decoded than the window shows. Where a window begins in the
tiles that another one ended in, the next will begin in its own: they are decoded whole, once for all windows.
"""

from __future__ import annotations

import math
import os
import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from functools import lru_cache

from augrecipes.sources.slides.level import Pixels

_KEPT = 32 << 20  # bytes, of all slides of a process together


class RecentTiles:
    """The tiles that were asked for last, and the pixels of those that were kept; for any number of threads.

    Args:
        most: bytes. A tile that is not kept counts as if it were: that it was asked for is forgotten as soon.

    >>> import numpy as np
    >>> tiles = RecentTiles(2 * 48)
    >>> tiles.ask(["a"], 48), tiles.ask(["a", "b"], 48), tiles.pixels("a")
    (False, True, None)
    >>> tiles.keep("a", np.zeros((4, 4, 3), np.uint8))
    >>> tiles.pixels("a").shape, tiles.ask(["c", "d"], 48), tiles.pixels("a")
    ((4, 4, 3), False, None)
    """

    def __init__(self, most: int) -> None:
        self._most, self._bytes = most, 0
        self._tiles: OrderedDict[Hashable, tuple[int, Pixels | None]] = OrderedDict()
        self._lock = threading.Lock()

    def ask(self, tiles: Sequence[Hashable], size: int) -> bool:
        """Whether a side of these tiles was asked for lately, of a square of so many; from now on all were.

        Args:
            tiles: that a window touches.
            size: bytes of each, when it is decoded.
        """
        if size * len(tiles) > self._most:
            return False
        with self._lock:
            lately = 0
            for tile in tiles:
                if tile in self._tiles:
                    lately += 1
                    self._tiles.move_to_end(tile)
                else:
                    self._tiles[tile] = size, None
                    self._bytes += size
            while self._bytes > self._most:
                _, (freed, _) = self._tiles.popitem(last=False)
                self._bytes -= freed
        return lately >= math.isqrt(len(tiles)) > 0

    def pixels(self, tile: Hashable) -> Pixels | None:
        """Those of a tile, which nobody may change; None where they are not kept."""
        return self._tiles.get(tile, (0, None))[1]

    def keep(self, tile: Hashable, pixels: Pixels) -> None:
        """Keep the pixels of a tile that was asked for, for as long as that is not forgotten."""
        with self._lock:
            if tile in self._tiles:
                size, _ = self._tiles[tile]
                self._tiles[tile] = size, pixels


def recent_tiles() -> RecentTiles:
    """Those of this process: after a fork, a lock of the parent's may be held for ever."""
    return _of(os.getpid())


@lru_cache(maxsize=1)  # what a parent kept is not kept in its fork
def _of(process: int) -> RecentTiles:
    del process
    return RecentTiles(_KEPT)
