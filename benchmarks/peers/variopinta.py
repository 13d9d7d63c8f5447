"""variopinta: pipelines compiled for Rust, that decode JPEGs by themselves and leave as C×H×W tensors."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import simplejpeg
import torch
from comparison import Each, Side, in_batches
from workloads import FlippedFolder, Folder, Pairs, Photos, ResizedCrops, Small, Stains, Tiles, Windows

from peers import installed
from peers.loaders import Files, epochs

NAME = "variopinta"


def find() -> str:
    """Its wheels are for Linux of glibc 2.34 on, and for macOS on Apple's processors."""
    return installed(NAME, "pip install variopinta", _library)


def tiles(work: Tiles) -> Iterator[Side]:
    """W1; reflected at the borders."""
    vp = _library()
    steps = [
        vp.RandomRotation((-25.0, 25.0), border_mode=vp.BorderMode.REFLECT101),
        vp.RandomResizedCrop(work.size, work.size, area_range=(0.5, 1.0), aspect_ratio_range=(0.8, 1.2)),
        vp.Resize(work.out, work.out),
        vp.HorizontalFlip(),
        vp.VerticalFlip(),
        vp.ColorJitter(
            brightness_range=(0.8, 1.2),
            contrast_range=(0.9, 1.1),
            saturation_range=(0.95, 1.05),
            hue_range=(-0.02, 0.02),
        ),
        vp.Normalize(mean=0.5, std=0.5),
    ]
    yield _side("", _compiled(steps, vp.Array()), work.pool, work.out)


def padded(work: Small) -> Iterator[Side]:
    """W6."""
    vp, normal = _library(), work.recipe.output.normalize
    side = work.out + 2 * work.pad
    steps = [
        vp.PadIfNeeded(min_height=side, min_width=side),
        vp.RandomCrop(work.out, work.out),
        vp.HorizontalFlip(),
        vp.Normalize(mean=normal.mean, std=normal.std),
    ]
    yield _side("", _compiled(steps, vp.Array()), work.pool, work.out)


def resized_crops(work: Photos) -> Iterator[Side]:
    """W2."""
    yield from _photographs(work, _library().RandomResizedCrop(work.out, work.out))


def windows(work: Photos) -> Iterator[Side]:
    """W5."""
    yield from _photographs(work, _library().RandomCrop(work.out, work.out))


def small_pictures(folder: Folder) -> Iterator[Side]:
    """W3, and W3f with flips: a Dataset of files, which it reads by itself."""
    vp = _library()
    flip = [vp.HorizontalFlip()] if isinstance(folder, FlippedFolder) else []
    chain = _compiled([vp.Resize(folder.side, folder.side), *flip, vp.Normalize(mean=0.0, std=1.0)], vp.Path())

    def make(path: str) -> torch.Tensor:
        return chain(path, random.getrandbits(32))  # torch gives each worker a seed of its own

    passes = epochs(Files(folder.root, make), folder.batch, folder.workers, ("image", "label"))
    yield Side("", f"image folder, {folder.workers} workers", passes)


def _photographs(work: Photos, crop: Any) -> Iterator[Side]:
    """On files as they are, and on pixels."""
    vp, normal = _library(), work.recipe.output.normalize
    steps = [crop, vp.HorizontalFlip(), vp.Normalize(mean=normal.mean, std=normal.std)]
    yield _side("decoding by itself", _compiled(steps, vp.Encoded()), work.pool, work.out)
    decoded = Each(work.pool, simplejpeg.decode_jpeg)
    yield _side("on simplejpeg", _compiled(steps, vp.Array()), decoded, work.out)


def _side(form: str, chain: Callable[[Any, int], torch.Tensor], pool: Sequence[Any], out: int) -> Side:
    def sample(k: int, place: np.ndarray) -> None:
        np.copyto(place, chain(pool[k % len(pool)], k).numpy())

    return Side("", form, in_batches(sample, (3, out, out)))


def _compiled(steps: Sequence[Any], source: Any) -> Callable[[Any, int], torch.Tensor]:
    """A pipeline, to be called with what it reads and the key of its draws."""
    vp = _library()
    # A tensor is C×H×W; its arrays are H×W×C.
    port = vp.Image(source, name="image", output_specs=vp.ReturnTensor(name="tensor"))
    pipeline = vp.Pipeline(steps, seed=0, targets=port).compile()
    return lambda given, key: pipeline(image=port.bind(given), key=key).image.tensor


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
WITHOUT = {Stains: "has no jitter of stains", Pairs: "wants images of one size"}
