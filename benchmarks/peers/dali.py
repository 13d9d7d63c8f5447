"""NVIDIA DALI on the CPU, its executor waiting for each batch: nothing is made ahead in another side's turn."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np
from comparison import BATCH, Batch, Batches, Side
from workloads import Photos, ResizedCrops, Tiles

from peers import Library

_FULL = 255.0
_fn, _types = partial(import_module, "nvidia.dali.fn"), partial(import_module, "nvidia.dali.types")


def tiles(work: Tiles) -> Iterator[Side]:
    """W1; bare corners repeat the border, as its rotation does when it is given no colour."""
    fn, types = _fn(), _types()
    uniform, cropped = fn.random.uniform, {"random_area": (0.5, 1.0), "random_aspect_ratio": (0.8, 1.2)}

    def chain(tile: Any) -> Any:
        tile = fn.rotate(tile, angle=uniform(range=(-25.0, 25.0)), keep_size=True)
        tile = fn.random_resized_crop(tile, size=(work.size, work.size), antialias=False, **cropped)
        tile = fn.flip(_resized(tile, work.out), vertical=fn.random.coin_flip(), horizontal=0)
        tile = fn.color_twist(
            tile,
            brightness=uniform(range=(0.8, 1.2)),
            contrast=uniform(range=(0.9, 1.1)),
            saturation=uniform(range=(0.95, 1.05)),
            hue=uniform(range=(-7.2, 7.2)),  # degrees
        )
        return _last(tile, (0.5,) * 3, (0.5,) * 3, types, mirror=fn.random.coin_flip())

    yield Side("", "", _passes(lambda: (chain(_fed(work.pool)),)))


def photographs(work: Photos) -> Iterator[Side]:
    """W2 and W5: its decoder decodes what is shown."""
    fn, types, normal = _fn(), _types(), work.recipe.output.normalize
    data = [np.frombuffer(file, np.uint8) for file in work.pool]

    def graph() -> tuple[Any]:
        if isinstance(work, ResizedCrops):
            image = _resized(fn.decoders.image_random_crop(_fed(data), device="cpu"), work.out)
        else:
            at = {f"crop_pos_{axis}": fn.random.uniform(range=(0.0, 1.0)) for axis in "xy"}
            image = fn.decoders.image_crop(_fed(data), device="cpu", crop=(work.out, work.out), **at)
        return (_last(image, normal.mean, normal.std, types, mirror=fn.random.coin_flip()),)

    form = "decoding the crop" if isinstance(work, ResizedCrops) else "decoding the window"
    yield Side("", form, _passes(graph))


def _resized(image: Any, side: int) -> Any:
    """Bilinear; without its antialias, as stock and ours have none, which is a fifth quicker."""
    return _fn().resize(image, size=(side, side), antialias=False)


def _last(image: Any, mean: Sequence[float], std: Sequence[float], types: Any, **more: Any) -> Any:
    """0..255 to normalised float32 C×H×W, flips within; `mean` and `std` are of 0..1."""
    return _fn().crop_mirror_normalize(
        image,
        mean=[m * _FULL for m in mean],
        std=[s * _FULL for s in std],
        dtype=types.FLOAT,
        output_layout="CHW",
        **more,
    )


def _fed(pool: Sequence[np.ndarray]) -> Any:
    """What is in memory, one after another, not copied."""
    turn = itertools.count()

    def source() -> list[np.ndarray]:
        return [pool[next(turn) % len(pool)] for _ in range(BATCH)]

    return _fn().external_source(source=source, no_copy=True)


def _passes(graph: Callable[[], tuple[Any, ...]]) -> Batches:
    """Of a pipeline that is built when first asked for: its threads must not be there when others fork."""
    waits = {"exec_async": False, "exec_pipelined": False, "exec_dynamic": False, "prefetch_queue_depth": 1}

    @cache
    def pipeline() -> Any:
        dali = import_module("nvidia.dali")
        made = dali.Pipeline(batch_size=BATCH, num_threads=1, device_id=None, seed=0, **waits)
        with made:
            made.set_outputs(*graph())
        made.build()
        return made

    def run() -> Iterator[Batch]:
        (images,) = pipeline().run()
        yield {"image": np.asarray(images.as_tensor())}

    return run


LIBRARIES = [Library("DALI", "nvidia-dali-cuda120", _fn, {Tiles: tiles, Photos: photographs})]
