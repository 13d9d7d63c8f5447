"""torchvision's transforms, version 2, on uint8 tensors and on Pillow images; antialias as it comes."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import simplejpeg
import torch
from comparison import Sample, Side, in_batches
from PIL import Image
from torch import library
from workloads import Photos, ResizedCrops, Small, Tiles

from peers import Library

_NAME = "torchvision"
_transforms = partial(import_module, f"{_NAME}.transforms.v2")
_TENSORS, _PIL = "on uint8 tensors", "on PIL images"
# Operators that its Python part expects of its compiled part, which the CPU build of torch may not fit.
_COMPILED = ("nms", "qnms")


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


def _in_memory(work: Tiles | Small, steps: Sequence[Any], *normal: Sequence[float]) -> Iterator[Side]:
    for form, pool, first in (
        (_TENSORS, [_tensor(tile) for tile in work.pool], []),
        (_PIL, [Image.fromarray(tile) for tile in work.pool], [_transforms().PILToTensor()]),
    ):
        chain = _transforms().Compose([*steps, *first, *_last(*normal)])
        yield Side("", form, in_batches(_sample(chain, pool.__getitem__, len(pool)), (3, work.out, work.out)))


def photographs(work: Photos) -> Iterator[Side]:
    """W2 and W5; its decoders need its compiled part, so others stand in for them."""
    t, normal = _transforms(), work.recipe.output.normalize
    crop = (t.RandomResizedCrop if isinstance(work, ResizedCrops) else t.RandomCrop)(work.out)
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
    """To float32, 0..1, and normalised."""
    return [_transforms().ToDtype(torch.float32, scale=True), _transforms().Normalize(*normal, inplace=True)]


def _tensor(pixels: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(pixels).permute(2, 0, 1)


def _load() -> None:
    """Import it, with stand-ins for operators that its compiled part did not bring; no transform calls them."""
    try:
        _transforms()
    except RuntimeError:
        for name in [name for name in sys.modules if name.partition(".")[0] == _NAME]:
            del sys.modules[name]
        operators = library.Library(_NAME, "FRAGMENT")
        for name in _COMPILED:
            operators.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _transforms()
        _KEPT.append(operators)


_KEPT: list[Any] = []  # what it defines goes when it goes

LIBRARIES = [
    Library(
        _NAME,
        _NAME,
        _load,
        {Tiles: tiles, Small: padded, Photos: photographs},
        hint="--no-deps torchvision==0.28.0",
    )
]
