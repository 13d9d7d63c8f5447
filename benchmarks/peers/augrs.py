"""augrs (augrs-py): albumentations' interface in Rust; the recipe's own steps, read as albumentations writes them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import albumentations as A
import numpy as np
import simplejpeg
import torch
from comparison import Each, Side, in_batches
from workloads import FlippedFolder, Folder, Pairs, Photos, ResizedCrops, Small, Stains, Tiles, Windows

import augrecipes as ar
from augrecipes.bench.baseline import compose
from peers import installed
from peers.loaders import Files, epochs

NAME = "augrs"


def find() -> str:
    """The name `augrs` was taken where packages are listed."""
    return installed("augrs-py", "pip install augrs-py", _library)


def tiles(work: Tiles | Small) -> Iterator[Side]:
    """W1 and W6."""
    yield _side("", work.recipe, work.pool, work.out)


def jpegs(work: Photos) -> Iterator[Side]:
    """W2 and W5: it decodes nothing, so the quicker of albumentations' decoders stands in."""
    yield _side("on simplejpeg", work.recipe, Each(work.pool, simplejpeg.decode_jpeg), work.out)


def small_pictures(folder: Folder) -> Iterator[Side]:
    """W3, and W3f with flips: a Dataset of files."""
    lib = _library()
    flip = [lib.HorizontalFlip(p=0.5)] if isinstance(folder, FlippedFolder) else []
    chain = lib.Compose([lib.Resize(folder.side, folder.side), *flip, lib.Normalize((0.0,) * 3, (1.0,) * 3)])

    def make(path: str) -> torch.Tensor:
        with open(path, "rb") as file:  # noqa: PTH123  the quicker way, a thousand times a second
            return torch.from_numpy(chain(image=simplejpeg.decode_jpeg(file.read()))["image"]).permute(2, 0, 1)

    passes = epochs(Files(folder.root, make), folder.batch, folder.workers, ("image", "label"))
    yield Side("", f"image folder, {folder.workers} workers", passes)


def _side(form: str, recipe: ar.Recipe, pool: Sequence[Any], out: int) -> Side:
    """One by one, put into the batch as C×H×W: it has nothing that changes the layout."""
    chain = _library().from_dict(A.to_dict(compose(recipe)), seed=0)

    def sample(k: int, place: np.ndarray) -> None:
        np.copyto(place, chain(image=pool[k % len(pool)])["image"].transpose(2, 0, 1))

    return Side("", form, in_batches(sample, (3, out, out)))


def _library() -> Any:
    return importlib.import_module("augrs")


WORKLOADS = {
    Tiles: tiles,
    Small: tiles,
    ResizedCrops: jpegs,
    Windows: jpegs,
    Folder: small_pictures,
    FlippedFolder: small_pictures,
}
WITHOUT = {Stains: "has no jitter of stains", Pairs: "wants images of one size"}
