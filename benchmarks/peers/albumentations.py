"""albumentations: the recipe's own steps in a plain `A.Compose`, as one writes them by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import albumentations as A
import cv2
import numpy as np
import simplejpeg
import torch
from albumentations.pytorch import ToTensorV2
from comparison import Each, Sample, Side, in_batches
from workloads import FlippedFolder, Folder, Pairs, Photos, ResizedCrops, Small, Stains, Tiles, Windows

import augrecipes as ar
from augrecipes.bench.baseline import compose
from peers import installed
from peers.loaders import Files, epochs

NAME = "albumentations"
_STAIN = 224


def find() -> str:
    """It is what augrecipes runs on."""
    return installed("albumentations", "pip install albumentations==2.0.8", lambda: A)


def stock(recipe: ar.Recipe, pool: Sequence[Any], **more: Any) -> Sample:
    """The same steps with `A.Normalize` or `A.ToFloat`, put into the batch as C×H×W. `more`: what else a sample has."""
    if "boxes" in more:
        more = {**more, "bboxes": more["boxes"]}
        del more["boxes"]
    plain = compose(recipe)

    def sample(k: int, out: np.ndarray) -> None:
        np.copyto(out, plain(image=pool[k % len(pool)], **more)["image"].transpose(2, 0, 1))

    return sample


def tiles(work: Tiles | Small) -> Iterator[Side]:
    """W1 and W6: `A.Compose`."""
    yield Side("", "", in_batches(stock(work.recipe, work.pool), (3, work.out, work.out)))


def stains(work: Stains) -> Iterator[Side]:
    """W1s: `A.HEStain`, whose random preset is the quickest of its methods."""
    plain = A.Compose([A.HEStain(method="random_preset", p=1.0)], seed=0)

    def sample(k: int, out: np.ndarray) -> None:
        np.copyto(out, plain(image=work.pool[k % len(work.pool)])["image"])

    yield Side("", "HEStain, random preset", in_batches(sample, work.pool[0].shape, np.uint8), "uint8 H×W×C")


def jpegs(work: Photos) -> Iterator[Side]:
    """W2 and W5: `A.Compose` on what either decoder makes."""
    for form, decode in (("on cv2", by_opencv), ("on simplejpeg", simplejpeg.decode_jpeg)):
        sample = stock(work.recipe, Each(work.pool, decode))
        yield Side("", form, in_batches(sample, (3, work.out, work.out)))


def small_pictures(folder: Folder) -> Iterator[Side]:
    """W3, and W3f with flips: a Dataset of files."""
    flip = [A.HorizontalFlip(p=0.5)] if isinstance(folder, FlippedFolder) else []
    chain = A.Compose([A.Resize(folder.side, folder.side), *flip, A.ToFloat(max_value=255), ToTensorV2()])

    def make(path: str) -> torch.Tensor:
        return chain(image=cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB))["image"]

    passes = epochs(Files(folder.root, make), folder.batch, folder.workers, ("image", "label"))
    yield Side("", f"image folder, {folder.workers} workers", passes)


def by_opencv(data: bytes) -> np.ndarray:
    """A JPEG as RGB."""
    return cv2.cvtColor(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)


WORKLOADS = {
    Tiles: tiles,
    Small: tiles,
    Stains: stains,
    ResizedCrops: jpegs,
    Windows: jpegs,
    Folder: small_pictures,
    FlippedFolder: small_pictures,
}
WITHOUT = {Pairs: "refuses targets of two sizes, or crops them apart"}
