"""variopinta: pipelines compiled for Rust, that decode JPEGs by themselves and leave as C×H×W tensors."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import simplejpeg
import torch
from comparison import Each, Side, in_batches
from workloads import Folder, Pairs, Photos, ResizedCrops, Small, Stains, Tiles

from peers import Library, of_files

_library = partial(import_module, "variopinta")


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


def photographs(work: Photos) -> Iterator[Side]:
    """W2 and W5, on files as they are, and on pixels."""
    vp, normal = _library(), work.recipe.output.normalize
    crop = (vp.RandomResizedCrop if isinstance(work, ResizedCrops) else vp.RandomCrop)(work.out, work.out)
    steps = [crop, vp.HorizontalFlip(), vp.Normalize(mean=normal.mean, std=normal.std)]
    yield _side("decoding by itself", _compiled(steps, vp.Encoded()), work.pool, work.out)
    decoded = Each(work.pool, simplejpeg.decode_jpeg)
    yield _side("on simplejpeg", _compiled(steps, vp.Array()), decoded, work.out)


def small_images(folder: Folder) -> Iterator[Side]:
    """W3, and W3f with flips: a Dataset of files, which it reads by itself."""
    vp = _library()
    steps = [vp.Resize(folder.side, folder.side), *([vp.HorizontalFlip()] if folder.flip else [])]
    chain = _compiled([*steps, vp.Normalize(mean=0.0, std=1.0)], vp.Path())
    # torch gives each worker a seed of its own
    yield of_files(folder, lambda path: chain(path, random.getrandbits(32)))


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


LIBRARIES = [
    Library(
        "variopinta",
        "variopinta",
        _library,
        {Tiles: tiles, Small: padded, Photos: photographs, Folder: small_images},
        {Stains: "has no jitter of stains", Pairs: "wants images of one size"},
    )
]
