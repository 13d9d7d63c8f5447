"""torchvision's transforms, version 2, on uint8 tensors and on Pillow images; antialias as it comes."""

from __future__ import annotations

import importlib
import io
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import simplejpeg
import torch
from comparison import Sample, Side, in_batches
from PIL import Image
from torch import library
from workloads import Folder, Pairs, Photos, ResizedCrops, Small, Tiles, Windows

from peers import installed
from peers.loaders import FilePairs, Files, Repeated, epochs

NAME = "torchvision"
_TENSORS, _PIL = "on uint8 tensors", "on PIL images"
# Operators that its Python part expects of its compiled part, which the CPU build of torch may not fit.
_COMPILED = ("nms", "qnms")


def find() -> str:
    """Its transforms need no compiled part; its decoders do, so others stand in for them."""
    return installed("torchvision", "pip install --no-deps torchvision==0.28.0", _load)


def tiles(work: Tiles) -> Iterator[Side]:
    """W1; corners that a rotation leaves bare are filled with the tiles' mean colour: there is no reflection."""
    t = _transforms()
    fill = [int(mean) for mean in np.mean([tile.mean((0, 1)) for tile in work.pool], axis=0)]
    steps = [
        t.RandomRotation(25, interpolation=t.InterpolationMode.BILINEAR, fill=fill),
        t.RandomResizedCrop(work.size, scale=(0.5, 1.0), ratio=(0.8, 1.2)),
        t.Resize((work.out, work.out)),
        t.RandomHorizontalFlip(),
        t.RandomVerticalFlip(),
        t.ColorJitter(0.2, 0.1, 0.05, 0.02),
    ]
    yield from _in_memory(work, steps, (0.5,) * 3, (0.5,) * 3)


def padded(work: Small) -> Iterator[Side]:
    """W6."""
    t, normal = _transforms(), work.recipe.output.normalize
    steps = [t.RandomCrop(work.out, padding=work.pad), t.RandomHorizontalFlip()]
    yield from _in_memory(work, steps, normal.mean, normal.std)


def resized_crops(work: Photos) -> Iterator[Side]:
    """W2."""
    yield from _photographs(work, _transforms().RandomResizedCrop(work.out))


def windows(work: Photos) -> Iterator[Side]:
    """W5."""
    yield from _photographs(work, _transforms().RandomCrop(work.out))


def small_pictures(folder: Folder) -> Iterator[Side]:
    """W3: a Dataset of files."""
    t = _transforms()
    chain = t.Compose([t.Resize((folder.side, folder.side)), *_last()])

    def make(path: str) -> torch.Tensor:
        with open(path, "rb") as file:  # noqa: PTH123  the quicker way, a thousand times a second
            return chain(_tensor(simplejpeg.decode_jpeg(file.read())))

    passes = epochs(Files(folder.root, make), folder.batch, folder.workers, ("image", "label"))
    yield Side("", f"image folder, {folder.workers} workers", passes)


def large_pairs(pairs: Pairs) -> Iterator[Side]:
    """W4: a Dataset that decodes both and crops at one place, which the transforms do not do by themselves."""
    last, crop = _transforms().Compose(_last()), _transforms().functional.crop
    k, side = pairs.scale, pairs.patch

    def crops(lr_file: Path, hr_file: Path) -> tuple[torch.Tensor, torch.Tensor]:
        lr, hr = (_tensor(cv2.cvtColor(cv2.imread(str(at)), cv2.COLOR_BGR2RGB)) for at in (lr_file, hr_file))
        y, x = (random.randint(0, n - side) for n in lr.shape[1:])
        return last(crop(lr, y, x, side, side)), last(crop(hr, y * k, x * k, side * k, side * k))

    ds = FilePairs(pairs.lr, pairs.hr, crops)
    yield Side("", "PNGs decoded whole", epochs(Repeated(ds, pairs.batch), pairs.batch, 0, ("lr", "hr")))


def _in_memory(work: Tiles | Small, steps: Sequence[Any], *normal: Sequence[float]) -> Iterator[Side]:
    for form, pool, first in (
        (_TENSORS, [_tensor(tile) for tile in work.pool], []),
        (_PIL, [Image.fromarray(tile) for tile in work.pool], [_transforms().PILToTensor()]),
    ):
        chain = _transforms().Compose([*steps, *first, *_last(*normal)])
        yield Side("", form, in_batches(_sample(chain, pool.__getitem__, len(pool)), (3, work.out, work.out)))


def _photographs(work: Photos, crop: Any) -> Iterator[Side]:
    t, normal = _transforms(), work.recipe.output.normalize
    last = _last(normal.mean, normal.std)
    for form, decode, first in (
        (f"{_TENSORS} of simplejpeg", lambda data: _tensor(simplejpeg.decode_jpeg(data)), []),
        (_PIL, lambda data: Image.open(io.BytesIO(data)), [t.PILToTensor()]),
    ):
        chain = t.Compose([crop, t.RandomHorizontalFlip(), *first, *last])
        read = lambda k, decode=decode: decode(work.pool[k])  # noqa: E731
        yield Side("", form, in_batches(_sample(chain, read, len(work.pool)), (3, work.out, work.out)))


def _sample(chain: Callable[[Any], torch.Tensor], read: Callable[[int], Any], count: int) -> Sample:
    def sample(k: int, out: np.ndarray) -> None:
        np.copyto(out, chain(read(k % count)).numpy())

    return sample


def _last(*normal: Sequence[float]) -> list[Any]:
    """To float32, 0..1, and normalised if asked for."""
    t = _transforms()
    return [t.ToDtype(torch.float32, scale=True), *([t.Normalize(*normal, inplace=True)] if normal else [])]


def _tensor(pixels: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(pixels).permute(2, 0, 1)


def _transforms() -> Any:
    return importlib.import_module("torchvision.transforms.v2")


def _load() -> None:
    """Import it, with stand-ins for operators that its compiled part did not bring; no transform calls them."""
    try:
        _transforms()
    except RuntimeError:
        for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
            del sys.modules[name]
        operators = library.Library(NAME, "FRAGMENT")
        for name in _COMPILED:
            operators.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _transforms()
        _KEPT.append(operators)


_KEPT: list[Any] = []  # what it defines goes when it goes

WORKLOADS = {
    Tiles: tiles,
    Small: padded,
    ResizedCrops: resized_crops,
    Windows: windows,
    Folder: small_pictures,
    Pairs: large_pairs,
}
WITHOUT: dict[type, str] = {}
