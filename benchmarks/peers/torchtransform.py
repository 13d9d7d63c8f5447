"""torchtransform: a batch at a time, float32 tensors, its moves one resampling and its colours one matrix a sample."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import simplejpeg
import torch
from comparison import Side
from workloads import FlippedFolder, Folder, Pairs, Photos, ResizedCrops, Small, Stains, Tiles, Windows

from peers import installed
from peers.at_once import in_parts
from peers.loaders import Files, epochs

NAME = "torchtransform"


def find() -> str:
    """It is Python, and needs torch alone."""
    return installed(NAME, "pip install torchtransform", _library)


def tiles(work: Tiles) -> Iterator[Side]:
    """W1; reflected at the borders."""
    tt = _library()
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


def padded(work: Small) -> Iterator[Side]:
    """W6."""
    tt, normal = _library(), work.recipe.output.normalize
    steps = (tt.Pad(work.pad), tt.RandomCrop(work.out), tt.HorizontalFlip(), tt.Normalize(normal.mean, normal.std))
    yield in_parts(_chain(tt.Compose(*steps)), work.pool.__getitem__, len(work.pool))


def resized_crops(work: Photos) -> Iterator[Side]:
    """W2; the images are of one size, as those of a batch must be."""
    yield _photographs(work, _library().RandomResizedCrop(work.out))


def windows(work: Photos) -> Iterator[Side]:
    """W5: one by one, since a crop of one is a view, and costs half as much as that of several."""
    yield _photographs(work, _library().RandomCrop(work.out), at_once=1)


def small_pictures(folder: Folder) -> Iterator[Side]:
    """W3, and W3f with flips: a Dataset of files, one by one: their sizes differ."""
    tt = _library()
    flip = [tt.HorizontalFlip()] if isinstance(folder, FlippedFolder) else []
    chain = _chain(tt.Compose(tt.Resize((folder.side, folder.side)), *flip))

    @torch.no_grad()
    def make(path: str) -> torch.Tensor:
        with open(path, "rb") as file:  # noqa: PTH123  the quicker way, a thousand times a second
            pixels = torch.from_numpy(simplejpeg.decode_jpeg(file.read())).permute(2, 0, 1)
        return chain(pixels[None].float().mul_(1 / 255))[0]

    passes = epochs(Files(folder.root, make), folder.batch, folder.workers, ("image", "label"))
    yield Side("", f"image folder, {folder.workers} workers", passes)


def _photographs(work: Photos, crop: Any, at_once: int | None = None) -> Side:
    tt, normal = _library(), work.recipe.output.normalize
    chain = _chain(tt.Compose(crop, tt.HorizontalFlip(), tt.Normalize(normal.mean, normal.std)))
    return in_parts(chain, lambda i: simplejpeg.decode_jpeg(work.pool[i]), len(work.pool), at_once)


def _chain(steps: Any, padding: str = "zeros") -> Callable[[torch.Tensor], torch.Tensor]:
    """Without its antialias, as stock and ours have none, which is quicker."""
    image = _library().Image
    return lambda batch: steps(image(batch, padding=padding, antialias=False)).data


def _library() -> Any:
    return importlib.import_module(NAME)


WORKLOADS = {
    Tiles: tiles,
    Small: padded,
    ResizedCrops: resized_crops,
    Windows: windows,
    Folder: small_pictures,
    FlippedFolder: small_pictures,
}
WITHOUT = {Stains: "has no jitter of stains", Pairs: "has no crop of two sizes at one place"}
