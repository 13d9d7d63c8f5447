"""The tiles of a bag: drops those that show too little tissue, and picks those that make up a sample.

Tissue is measured once, on all cores, cached by the files' stamps. Otsu's threshold (Otsu 1979) is computed once for
a bag, from thumbnails of all its tiles: a threshold of its own would split a tile that is all tissue, or all glass. It
stays within the same bounds as that of a slide.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from augrecipes import cache
from augrecipes.errors import DataError
from augrecipes.images.encoded import open_encoded
from augrecipes.kinds.bag.table import BagTable
from augrecipes.machine import cores, in_threads
from augrecipes.progress import Progress, parts
from augrecipes.recipe.model import Bag, Mode
from augrecipes.seeds import MASK, site_key
from augrecipes.sources.slides import listing, pyramid
from augrecipes.sources.slides.tissue import Tissue, tissue_by, tissue_by_saturation, white_mask

_RULES = 1  # version of the measurement; part of the cache key
_SIDE = 32  # px, least side of a thumbnail before it is resized to this square


def choose_tiles(table: BagTable, windows: listing.Windows, decode: Mapping[str, Any]) -> BagTable:
    """Keep the tiles of a table with enough tissue and little enough white, and those that cannot be read.

    Args:
        table: a table of tile files.
        windows: resolved; says how to find tissue, and which shares are asked for.
        decode: arguments of `read_image`.

    Raises:
        DataError: the user's tissue function returns no mask.
        ValueError: `tissue` is the path of a file.
    """
    tissue, least, most = windows.tissue, windows.min_tissue or 0.0, windows.max_white or 0.0
    table = replace(table, foreground=rule_of(windows))
    if tissue is None and most == 1:
        return table
    if windows.tissue_is_path:
        raise ValueError(
            f"tissue={tissue!r}: of tile files it is otsu, a number, None, a function or a registered name"
        )
    words = ", ".join(f"{name}={value}" for name, value in table.foreground.items())
    chosen, offsets, notes = [np.zeros(0, np.int64)], [0], []
    with parts() as advance:
        for bag, units in enumerate(map(table.units_of, range(len(table)))):
            paths = [table.images[unit] for unit in units]
            progress = partial(advance, f"looking for tissue, bag {bag + 1} of {len(table)}")
            tissue_share, white = _shares(paths, tissue, {**decode, "channels": 3}, progress)
            kept = ~((tissue_share < max(least, np.finfo(float).tiny)) | (white > most))
            chosen.append(units.start + np.flatnonzero(kept))
            offsets.append(offsets[-1] + int(kept.sum()))
            text = f"{kept.sum()} of its {len(units)} tiles show enough tissue and not too much white ({words})"
            notes.append(f"{text}; the largest share of tissue is {np.nanmax([0, *tissue_share]):.2f}")
    rows = np.concatenate(chosen)
    coords = None if table.coords is None else table.coords[rows]
    files = {name: files.take(rows) for name, files in table.files.items()}
    return replace(table, files=files, offsets=np.array(offsets, np.int64), coords=coords, notes=tuple(notes))


def rule_of(windows: listing.Windows) -> dict[str, Any]:
    """The recipe keys and values that select resolved windows by tissue and white."""
    tissue: Any = "none" if windows.tissue is None else getattr(windows.tissue, "__name__", windows.tissue)
    tissue = tissue if isinstance(tissue, int | float) else os.fsdecode(tissue)
    return {"tissue": tissue, "min_tissue": windows.min_tissue, "max_white": windows.max_white}


def _shares(paths: Sequence[str], tissue: Tissue, decode: Mapping[str, Any], advance: Progress) -> NDArray[np.float64]:
    """The shares of tissue and of white in each tile of a bag, float64 (2, n); NaN for tiles that cannot be read."""

    def measure() -> cache.Arrays:
        tiles = [*in_threads(lambda path: _thumbnail(path, decode), paths, cores(), advance)]
        shares = np.full((2, len(tiles)), np.nan)
        if readable := [k for k, tile in enumerate(tiles) if tile is not None]:
            small = np.array([tiles[k] for k in readable])
            masks = _masks(small, tissue, [paths[k] for k in readable]), white_mask(small)
            shares[:, readable] = np.mean(masks, axis=(2, 3))
        return {"shares": shares}

    text = repr((_RULES, tissue, dict(decode), paths)).encode(errors="surrogateescape")
    # No stamp for a function, hence no cache: it may depend on more than its text.
    stamp = None if callable(tissue) else listing.stamp_of_files(paths)
    return cache.memo(cache.SLIDES, blake2b(text, digest_size=16).hexdigest(), stamp, measure)["shares"]


def _masks(tiles: pyramid.Pixels, tissue: Tissue, paths: Sequence[str]) -> NDArray[np.bool_]:
    """Tissue masks, bool (n, H, W), of thumbnails of a bag's tiles, uint8 (n, H, W, 3)."""
    if tissue is None:
        return np.ones(tiles.shape[:3], bool)
    if callable(tissue):
        return np.array([tissue_by(tissue, tile, path) for tile, path in zip(tiles, paths, strict=True)])
    return tissue_by_saturation(tiles, None if tissue == "otsu" else float(tissue))


def _thumbnail(path: str, decode: Mapping[str, Any]) -> pyramid.Pixels | None:
    """A thumbnail of a tile, uint8 H×W×3 RGB, reduced by the JPEG decoder where it can; None: it cannot be read."""
    try:
        image = open_encoded(path, **decode)
        height, width, _ = image.shape
        factor = max([1, *(k for k in image.scales() if min(height, width) // k >= _SIDE)])
        pixels = image.view(0, 0, height, width, factor)
    except DataError:  # reported when the tile is read
        return None
    if pixels.dtype != np.uint8:
        pixels = np.clip(pixels / (257.0 if pixels.dtype == np.uint16 else 1 / 255), 0, 255).astype(np.uint8)
    return np.asarray(cv2.resize(pixels, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA), np.uint8)


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
