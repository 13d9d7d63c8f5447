"""Bags of tile files cut down to the tiles that show tissue: measured once, on all cores, cached by the files' stamps.

Otsu's threshold is one for a bag, of thumbnails of all its tiles: a threshold for each tile would divide those that are
all tissue, or all glass. It stays within the bounds that slides have.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes import cache
from augrecipes.errors import DataError
from augrecipes.images.encoded import open_encoded
from augrecipes.kinds.bag.table import BagTable
from augrecipes.machine import cores, in_threads
from augrecipes.progress import Progress, parts
from augrecipes.sources.slides import listing, pyramid
from augrecipes.sources.slides.tissue import Tissue, tissue_by, tissue_by_saturation, white_mask

_RULES = 1  # of how tiles are measured: what was measured otherwise is not used
_SIDE = 32  # px of a thumbnail


def choose_tiles(table: BagTable, windows: listing.Windows, decode: Mapping[str, Any]) -> BagTable:
    """The table with the tiles alone whose shares of tissue and white suffice, and with those that cannot be read.

    Args:
        table: of tile files.
        windows: resolved; those shares.
        decode: arguments of `read_image`.

    Raises:
        DataError: an own function returns no mask.
        ValueError: `tissue` names a file.
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
            done = partial(advance, f"looking for tissue, bag {bag + 1} of {len(table)}")
            of_tissue, white = _shares(paths, tissue, {**decode, "channels": 3}, done)
            kept = ~((of_tissue < max(least, np.finfo(float).tiny)) | (white > most))
            chosen.append(units.start + np.flatnonzero(kept))
            offsets.append(offsets[-1] + int(kept.sum()))
            what = f"{kept.sum()} of its {len(units)} tiles show tissue enough, and not too much white ({words})"
            notes.append(f"{what}; the largest share of tissue is {np.nanmax([0, *of_tissue]):.2f}")
    rows = np.concatenate(chosen)
    coords = None if table.coords is None else table.coords[rows]
    files = {name: files.take(rows) for name, files in table.files.items()}
    return replace(table, files=files, offsets=np.array(offsets, np.int64), coords=coords, notes=tuple(notes))


def rule_of(windows: listing.Windows) -> dict[str, Any]:
    """The words of a recipe for what windows, resolved, are chosen by."""
    tissue: Any = "none" if windows.tissue is None else getattr(windows.tissue, "__name__", windows.tissue)
    tissue = tissue if isinstance(tissue, int | float) else os.fsdecode(tissue)
    return {"tissue": tissue, "min_tissue": windows.min_tissue, "max_white": windows.max_white}


def _shares(paths: Sequence[str], tissue: Tissue, decode: Mapping[str, Any], advance: Progress) -> NDArray[np.float64]:
    """The shares of each tile of a bag that are tissue, and white, float64 (2, n); NaN of those that cannot be read."""

    def measure() -> cache.Arrays:
        tiles = [*in_threads(lambda path: _thumbnail(path, decode), paths, cores(), advance)]
        shares = np.full((2, len(tiles)), np.nan)
        if some := [k for k, tile in enumerate(tiles) if tile is not None]:
            small = np.array([tiles[k] for k in some])
            masks = _masks(small, tissue, [paths[k] for k in some]), white_mask(small)
            shares[:, some] = np.mean(masks, axis=(2, 3))
        return {"shares": shares}

    text = repr((_RULES, tissue, dict(decode), paths)).encode(errors="surrogateescape")
    stamp = None if callable(tissue) else listing.stamp_of_files(paths)  # a function may hang on more than its text
    return cache.memo(cache.SLIDES, blake2b(text, digest_size=16).hexdigest(), stamp, measure)["shares"]


def _masks(tiles: pyramid.Pixels, tissue: Tissue, paths: Sequence[str]) -> NDArray[np.bool_]:
    """Where each of a bag's thumbnails, uint8 (n, H, W, 3), shows tissue."""
    if tissue is None:
        return np.ones(tiles.shape[:3], bool)
    if callable(tissue):
        return np.array([tissue_by(tissue, tile, path) for tile, path in zip(tiles, paths, strict=True)])
    return tissue_by_saturation(tiles, None if tissue == "otsu" else float(tissue))


def _thumbnail(path: str, decode: Mapping[str, Any]) -> pyramid.Pixels | None:
    """A tile made small, uint8 H×W×3 RGB, of a JPEG by its decoder as far as that goes; None: it cannot be read."""
    try:
        image = open_encoded(path, **decode)
        height, width, _ = image.shape
        factor = max([1, *(k for k in image.scales() if min(height, width) // k >= _SIDE)])
        pixels = image.view(0, 0, height, width, factor)
    except DataError:  # text when it is read
        return None
    if pixels.dtype != np.uint8:
        pixels = np.clip(pixels / (257.0 if pixels.dtype == np.uint16 else 1 / 255), 0, 255).astype(np.uint8)
    return np.asarray(cv2.resize(pixels, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA), np.uint8)
