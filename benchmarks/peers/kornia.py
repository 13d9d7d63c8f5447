"""kornia: a batch at a time, float32 tensors, decoded by simplejpeg where there is something to decode."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import simplejpeg
from comparison import Side
from workloads import Pairs, Photos, ResizedCrops, Tiles, Windows

from peers import installed
from peers.at_once import in_parts

NAME = "kornia"


def find() -> str:
    """Its augmentations need torch alone."""
    return installed("kornia", "pip install kornia", lambda: importlib.import_module("kornia.augmentation"))


def tiles(work: Tiles) -> Iterator[Side]:
    """W1; reflected at the borders, which its RandomAffine can do and its RandomRotation cannot."""
    k = _augmentations()
    chain = k.AugmentationSequential(
        k.RandomAffine(25.0, padding_mode="reflection", p=1.0),
        k.RandomResizedCrop((work.size, work.size), scale=(0.5, 1.0), ratio=(0.8, 1.2)),
        k.Resize((work.out, work.out)),
        k.RandomHorizontalFlip(),
        k.RandomVerticalFlip(),
        k.ColorJitter(0.2, 0.1, 0.05, 0.02),
        k.Normalize((0.5,) * 3, (0.5,) * 3),
    )
    yield in_parts(chain, work.pool.__getitem__, len(work.pool))


def resized_crops(work: Photos) -> Iterator[Side]:
    """W2; the images are of one size, as a batch of kornia's must be."""
    yield _photographs(work, _augmentations().RandomResizedCrop((work.out, work.out)))


def windows(work: Photos) -> Iterator[Side]:
    """W5."""
    yield _photographs(work, _augmentations().RandomCrop((work.out, work.out)))


def _photographs(work: Photos, crop: Any) -> Side:
    k, normal = _augmentations(), work.recipe.output.normalize
    chain = k.AugmentationSequential(crop, k.RandomHorizontalFlip(), k.Normalize(normal.mean, normal.std))
    return in_parts(chain, lambda i: simplejpeg.decode_jpeg(work.pool[i]), len(work.pool))


def _augmentations() -> Any:
    return importlib.import_module("kornia.augmentation")


WORKLOADS = {Tiles: tiles, ResizedCrops: resized_crops, Windows: windows}
WITHOUT = {Pairs: "has no crop of two sizes at one place"}
