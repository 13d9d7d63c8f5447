"""kornia: a batch at a time, float32 tensors, decoded by simplejpeg where there is something to decode."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import simplejpeg
import torch
from sides import BATCH, Batch, Side
from workloads import Folder, Pairs, Photos, ResizedCrops, Tiles, Windows

from peers import installed
from peers.loaders import Files, epochs

NAME = "kornia"
# Larger arrays come fresh from the system, page by page, however glibc's allocator is tuned: more at once is slower.
_KEPT_BYTES = 32 * 2**20


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
    yield _side(chain, work.pool.__getitem__, len(work.pool))


def resized_crops(work: Photos) -> Iterator[Side]:
    """W2; the pictures are of one size, as a batch of kornia's must be."""
    yield _photographs(work, _augmentations().RandomResizedCrop((work.out, work.out)))


def windows(work: Photos) -> Iterator[Side]:
    """W5."""
    yield _photographs(work, _augmentations().RandomCrop((work.out, work.out)))


def small_pictures(folder: Folder) -> Iterator[Side]:
    """W3: a Dataset of files, one by one: their sizes differ."""
    resize = importlib.import_module("kornia.geometry.transform").resize

    def make(path: str) -> torch.Tensor:
        with open(path, "rb") as file:  # noqa: PTH123  the quicker way, a thousand times a second
            pixels = torch.from_numpy(simplejpeg.decode_jpeg(file.read())).permute(2, 0, 1)
        return resize(pixels[None].float().mul_(1 / 255), (folder.side, folder.side))[0]

    passes = epochs(Files(folder.root, make), folder.batch, folder.workers, ("image", "label"))
    yield Side("", f"image folder, {folder.workers} workers", passes)


def _photographs(work: Photos, crop: Any) -> Side:
    k, normal = _augmentations(), work.recipe.output.normalize
    chain = k.AugmentationSequential(crop, k.RandomHorizontalFlip(), k.Normalize(normal.mean, normal.std))
    return _side(chain, lambda i: simplejpeg.decode_jpeg(work.pool[i]), len(work.pool))


def _side(chain: Callable[..., torch.Tensor], read: Callable[[int], np.ndarray], count: int) -> Side:
    """A pass is one batch, in parts; a part is gathered as uint8, then turned to floats as a whole."""
    turn = itertools.count()
    at_once = min(BATCH, 1 << int(np.log2(max(1, _KEPT_BYTES // (4 * read(0).size)))))

    @torch.no_grad()
    def part() -> torch.Tensor:
        pixels = np.stack([read(next(turn) % count) for _ in range(at_once)])
        return chain(torch.from_numpy(pixels).permute(0, 3, 1, 2).to(torch.float32).mul_(1 / 255))

    def run() -> Iterator[Batch]:
        yield {"image": torch.cat([part() for _ in range(BATCH // at_once)])}

    return Side("", f"{at_once} at once", run)


def _augmentations() -> Any:
    return importlib.import_module("kornia.augmentation")


WORKLOADS = {Tiles: tiles, ResizedCrops: resized_crops, Windows: windows, Folder: small_pictures}
WITHOUT = {Pairs: "has no crop of two sizes at one place"}
