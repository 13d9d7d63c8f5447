"""Which tiles of a bag make up a sample, as a pure function of a few integers."""

import numpy as np
import numpy.typing as npt

from augrecipes.recipe.model import Bag, Mode
from augrecipes.seeds import MASK, site_key

# No step's label holds a zero byte: picking shares its draws with none of them.
_SITE = site_key("\0pick")


def tiles_of(rule: Bag, n: int, mode: Mode, *, seed: int, epoch: int, index: int) -> npt.NDArray[np.int64]:
    """The numbers of the tiles that a rule picks of a bag of `n`, ascending, int64; in evaluation nothing is drawn.

    Args:
        rule: at most how many (None takes all of them), and how: `random`: every subset as likely, drawn anew for
            every (seed, epoch, index); `first`: the first ones; `stride`: evenly spaced over the bag, the same in every
            epoch.
        n: tiles in the bag.
        mode: `random` is `stride` in `eval`.
        seed: of the dataset.
        epoch: which epoch.
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
    # Random 64-bit keys, of which the smallest win: as in `data.order`, raw words of Philox only.
    key, counter = np.array([seed & MASK, _SITE], np.uint64), np.array([0, 0, epoch, index], np.uint64)
    keys = np.random.Philox(key=key, counter=counter).random_raw(n)
    return np.sort(np.argsort(keys, kind="stable")[:most]).astype(np.int64, copy=False)
