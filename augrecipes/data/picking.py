"""Which tiles of a bag make up a sample, as a pure function of a few integers."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from augrecipes.recipe.model import Bag, Mode
from augrecipes.seeds import MASK, site_key

Pick = Literal["random", "first", "stride"]
PICKS: tuple[Pick, ...] = get_args(Pick)
# No step's label holds a zero byte: picking shares its draws with none of them.
_SITE = site_key("\0pick")


def tiles_of(rule: Bag, n: int, mode: Mode, **key: Any) -> npt.NDArray[np.int64]:
    """The numbers of the tiles that a rule picks of a bag of `n`; in evaluation nothing is drawn. `key`: see below."""
    how: Any = "stride" if rule.pick == "random" and mode == "eval" else rule.pick
    return pick_tiles(n, rule.max_tiles, how, **key)


def pick_tiles(n: int, most: int | None, how: Pick, *, seed: int, epoch: int, index: int) -> npt.NDArray[np.int64]:
    """The numbers of at most `most` of `n` tiles, ascending, int64.

    Args:
        n: tiles in the bag.
        most: None takes all of them.
        how: `random`: every subset as likely, drawn anew for every (seed, epoch, index); `first`: the first ones;
            `stride`: evenly spaced over the bag, the same in every epoch.
        seed: of the dataset.
        epoch: which epoch.
        index: the sample's virtual index.

    >>> pick_tiles(10, 3, "stride", seed=0, epoch=0, index=0), pick_tiles(10, 3, "first", seed=0, epoch=0, index=0)
    (array([1, 5, 8]), array([0, 1, 2]))
    >>> len(pick_tiles(3000, 1000, "random", seed=0, epoch=0, index=0))
    1000
    """
    if most is None or most >= n:
        return np.arange(n, dtype=np.int64)
    match how:
        case "random":
            # Random 64-bit keys, of which the smallest win: as in `data.order`, raw words of Philox only.
            key, counter = np.array([seed & MASK, _SITE], np.uint64), np.array([0, 0, epoch, index], np.uint64)
            keys = np.random.Philox(key=key, counter=counter).random_raw(n)
            return np.sort(np.argsort(keys, kind="stable")[:most]).astype(np.int64, copy=False)
        case "first":
            return np.arange(most, dtype=np.int64)
        case "stride":
            return (2 * np.arange(most, dtype=np.int64) + 1) * n // (2 * most)
