"""albumentations, the recipe's own steps in a plain `A.Compose` as one writes them by hand; augrs, the same in Rust."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import albumentations as A
import cv2
import numpy as np
import simplejpeg
import torch
from albumentations.pytorch import ToTensorV2
from comparison import Each, Sample, Side, in_batches
from workloads import Folder, Pairs, Photos, Small, Stains, Tiles

import augrecipes as ar
from augrecipes.bench.sides import compose
from peers import Library, of_files

_augrs = partial(import_module, "augrs")  # the name `augrs` was taken where packages are listed


def stock(recipe: ar.Recipe, pool: Sequence[Any], **more: Any) -> Sample:
    """The same steps with `A.Normalize` or `A.ToFloat`, put into the batch as C×H×W. `more`: what else a sample has."""
    if "boxes" in more:
        more["bboxes"] = more.pop("boxes")
    return _as_chw(compose(recipe), pool, **more)


def _by_augrs(recipe: ar.Recipe, pool: Sequence[Any]) -> Sample:
    """The same, read as albumentations writes it: it has nothing that changes the layout either."""
    return _as_chw(_augrs().from_dict(A.to_dict(compose(recipe)), seed=0), pool)


def _as_chw(chain: Callable[..., Any], pool: Sequence[Any], **more: Any) -> Sample:
    def sample(k: int, out: np.ndarray) -> None:
        np.copyto(out, chain(image=pool[k % len(pool)], **more)["image"].transpose(2, 0, 1))

    return sample


def _tiles(made: Callable[..., Sample], work: Tiles | Small) -> Iterator[Side]:
    """W1 and W6."""
    yield Side("", "", in_batches(made(work.recipe, work.pool), (3, work.out, work.out)))


def _stains(work: Stains) -> Iterator[Side]:
    """W1s: `A.HEStain`, whose random preset is the quickest of its methods."""
    plain = A.Compose([A.HEStain(method="random_preset", p=1.0)], seed=0)

    def sample(k: int, out: np.ndarray) -> None:
        np.copyto(out, plain(image=work.pool[k % len(work.pool)])["image"])

    yield Side("", "HEStain, random preset", in_batches(sample, work.pool[0].shape, np.uint8), "uint8 H×W×C")


def _by_opencv(data: bytes) -> np.ndarray:
    return cv2.cvtColor(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)


_DECODERS = {"on cv2": _by_opencv, "on simplejpeg": simplejpeg.decode_jpeg}


def _jpegs(made: Callable[..., Sample], decoders: Sequence[str], work: Photos) -> Iterator[Side]:
    """W2 and W5, on what either decoder makes; augrs decodes nothing, so the quicker stands in."""
    for form in decoders:
        sample = made(work.recipe, Each(work.pool, _DECODERS[form]))
        yield Side("", form, in_batches(sample, (3, work.out, work.out)))


def _folder(folder: Folder) -> Iterator[Side]:
    flip = [A.HorizontalFlip(p=0.5)] if folder.flip else []
    chain = A.Compose([A.Resize(folder.side, folder.side), *flip, A.ToFloat(max_value=255), ToTensorV2()])

    def make(path: str) -> torch.Tensor:
        return chain(image=cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB))["image"]

    yield of_files(folder, make)


def _folder_by_augrs(folder: Folder) -> Iterator[Side]:
    lib = _augrs()
    flip = [lib.HorizontalFlip(p=0.5)] if folder.flip else []
    chain = lib.Compose([lib.Resize(folder.side, folder.side), *flip, lib.Normalize((0.0,) * 3, (1.0,) * 3)])

    def make(path: str) -> torch.Tensor:
        with open(path, "rb") as file:  # noqa: PTH123  the quicker way, a thousand times a second
            return torch.from_numpy(chain(image=simplejpeg.decode_jpeg(file.read()))["image"]).permute(2, 0, 1)

    yield of_files(folder, make)


def _workloads(made: Callable[..., Sample], decoders: Sequence[str], folder: Any) -> dict[type, Any]:
    tiles, jpegs = partial(_tiles, made), partial(_jpegs, made, decoders)
    return {Tiles: tiles, Small: tiles, Photos: jpegs, Folder: folder}


LIBRARIES = [
    Library(
        "albumentations",
        "albumentations",
        lambda: A,
        {**_workloads(stock, [*_DECODERS], _folder), Stains: _stains},
        {Pairs: "refuses targets of two sizes, or crops them apart"},
        hint="albumentations==2.0.8",
    ),
    Library(
        "augrs",
        "augrs-py",
        _augrs,
        _workloads(_by_augrs, ["on simplejpeg"], _folder_by_augrs),
        {Stains: "has no jitter of stains", Pairs: "wants images of one size"},
    ),
]
