"""kornia and torchtransform: a batch at a time, float32 tensors, decoded by simplejpeg where there is need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import simplejpeg
import torch
from comparison import Side
from workloads import Folder, Pairs, Photos, ResizedCrops, Small, Stains, Tiles

from peers import Library, in_parts, of_files

_kornia, _torchtransform = partial(import_module, "kornia.augmentation"), partial(import_module, "torchtransform")
_PAIRS = {Pairs: "has no crop of two sizes at one place"}


def _tiles_by_kornia(work: Tiles) -> Iterator[Side]:
    """W1; reflected at the borders, which its RandomAffine can do and its RandomRotation cannot."""
    k = _kornia()
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


def _photos_by_kornia(work: Photos) -> Iterator[Side]:
    """W2 and W5; the images are of one size, as a batch of kornia's must be."""
    k, normal = _kornia(), work.recipe.output.normalize
    crop = (k.RandomResizedCrop if isinstance(work, ResizedCrops) else k.RandomCrop)((work.out, work.out))
    chain = k.AugmentationSequential(crop, k.RandomHorizontalFlip(), k.Normalize(normal.mean, normal.std))
    yield in_parts(chain, lambda i: simplejpeg.decode_jpeg(work.pool[i]), len(work.pool))


def _tiles(work: Tiles) -> Iterator[Side]:
    """W1; reflected at the borders."""
    tt = _torchtransform()
    steps = tt.Compose(
        tt.Rotate((-25.0, 25.0)),
        tt.RandomResizedCrop(work.size, scale=(0.5, 1.0), ratio=(0.8, 1.2)),
        tt.Resize((work.out, work.out)),
        tt.HorizontalFlip(),
        tt.VerticalFlip(),
        tt.ColorJitter(0.2, 0.1, 0.05, 0.02),
        tt.Normalize(0.5, 0.5),
    )
    yield in_parts(_chain(steps, "reflection"), work.pool.__getitem__, len(work.pool))


def _padded(work: Small) -> Iterator[Side]:
    """W6."""
    tt, normal = _torchtransform(), work.recipe.output.normalize
    steps = (tt.Pad(work.pad), tt.RandomCrop(work.out), tt.HorizontalFlip(), tt.Normalize(normal.mean, normal.std))
    yield in_parts(_chain(tt.Compose(*steps)), work.pool.__getitem__, len(work.pool))


def _photos(work: Photos) -> Iterator[Side]:
    """W2, and W5 one by one, since a crop of one is a view, and costs half as much as that of several."""
    tt, normal, scaled = _torchtransform(), work.recipe.output.normalize, isinstance(work, ResizedCrops)
    crop = (tt.RandomResizedCrop if scaled else tt.RandomCrop)(work.out)
    chain = _chain(tt.Compose(crop, tt.HorizontalFlip(), tt.Normalize(normal.mean, normal.std)))
    read = lambda i: simplejpeg.decode_jpeg(work.pool[i])  # noqa: E731
    yield in_parts(chain, read, len(work.pool), None if scaled else 1)


def _folder(folder: Folder) -> Iterator[Side]:
    """One by one: their sizes differ."""
    tt = _torchtransform()
    chain = _chain(tt.Compose(tt.Resize((folder.side, folder.side)), *([tt.HorizontalFlip()] if folder.flip else [])))

    @torch.no_grad()
    def make(path: str) -> torch.Tensor:
        with open(path, "rb") as file:  # noqa: PTH123  the quicker way, a thousand times a second
            pixels = torch.from_numpy(simplejpeg.decode_jpeg(file.read())).permute(2, 0, 1)
        return chain(pixels[None].float().mul_(1 / 255))[0]

    yield of_files(folder, make)


def _chain(steps: Any, padding: str = "zeros") -> Callable[[torch.Tensor], torch.Tensor]:
    """Without its antialias, as stock and ours have none, which is quicker."""
    image = _torchtransform().Image
    return lambda batch: steps(image(batch, padding=padding, antialias=False)).data


LIBRARIES = [
    Library("kornia", "kornia", _kornia, {Tiles: _tiles_by_kornia, Photos: _photos_by_kornia}, _PAIRS),
    Library(
        "torchtransform",
        "torchtransform",
        _torchtransform,
        {Tiles: _tiles, Small: _padded, Photos: _photos, Folder: _folder},
        _PAIRS | {Stains: "has no jitter of stains"},
    ),
]
