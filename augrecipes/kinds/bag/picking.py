"""Picks the tiles of a bag that make up a sample: a pure function of a few integers."""

import numpy as np
import numpy.typing as npt

from augrecipes.recipe.model import Bag, Mode
from augrecipes.seeds import MASK, site_key

# No step's label has a zero byte, so picking shares its draws with no step.
_SITE = site_key("\0pick")


def tiles_of(rule: Bag, n: int, mode: Mode, *, seed: int, epoch: int, index: int) -> npt.NDArray[np.int64]:
    """The numbers of the tiles that a rule picks from a bag of `n`, ascending, int64; in evaluation nothing is drawn.

    Args:
        rule: the most tiles to take (None: all), and how to pick them: `random`: every subset is equally likely, drawn
            anew for every (seed, epoch, index); `first`: the first tiles; `stride`: evenly spaced over the bag, the
            same in every epoch.
        n: number of tiles in the bag.
        mode: in `eval`, `random` picks as `stride` does.
        seed: seed of the dataset.
        epoch: the epoch.
        index: the sample's virtual index.

    >>> tiles_of(Bag(3, 1, "stride"), 10, "train", seed=0, epoch=0, index=0)
    array([1, 5, 8])
    >>> len(tiles_of(Bag(1000, 1, "random"), 3000, "train", seed=0, epoch=0, index=0))
    1000
    """
    most = rule.max_tiles
    if most is None or most >= n:
        return np.arange(n, dtype=np.int64)
    if rule.pick == "first":
        return np.arange(most, dtype=np.int64)
    if rule.pick == "stride" or mode == "eval":
        return (2 * np.arange(most, dtype=np.int64) + 1) * n // (2 * most)
    # The tiles with the smallest of n random 64-bit keys. As in `data.order`, only raw words of Philox are used: NumPy
    # may change what its distributions draw.
    key, counter = np.array([seed & MASK, _SITE], np.uint64), np.array([0, 0, epoch, index], np.uint64)
    keys = np.random.Philox(key=key, counter=counter).random_raw(n)
    return np.sort(np.argsort(keys, kind="stable")[:most]).astype(np.int64, copy=False)
