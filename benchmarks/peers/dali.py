"""NVIDIA DALI on the CPU, its executor waiting for each batch: nothing is made ahead in another side's turn."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from comparison import BATCH, Batch, Batches, Side
from workloads import Photos, ResizedCrops, Tiles, Windows

from peers import installed

NAME = "DALI"
_FULL = 255.0


def find() -> str:
    """Its CPU operators need no GPU and no driver."""
    return installed("nvidia-dali-cuda120", "pip install nvidia-dali-cuda120", _fn)


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

    def build() -> Any:
        return _pipeline(lambda: (chain(_fed(work.pool)),))

    yield Side("", "", _passes(build))


def resized_crops(work: Photos) -> Iterator[Side]:
    """W2: its decoder decodes what the crop shows."""

    def decode(data: Any) -> Any:
        return _resized(_fn().decoders.image_random_crop(data, device="cpu"), work.out)

    yield _photographs(work, "decoding the crop", decode)


def windows(work: Photos) -> Iterator[Side]:
    """W5: its decoder decodes what the window shows."""

    def decode(data: Any) -> Any:
        at = {f"crop_pos_{axis}": _fn().random.uniform(range=(0.0, 1.0)) for axis in "xy"}
        return _fn().decoders.image_crop(data, device="cpu", crop=(work.out, work.out), **at)

    yield _photographs(work, "decoding the window", decode)


def _photographs(work: Photos, form: str, decode: Callable[[Any], Any]) -> Side:
    fn, types, normal = _fn(), _types(), work.recipe.output.normalize

    def graph() -> tuple[Any]:
        picture = decode(_fed(_arrays(work.pool)))
        return (_last(picture, normal.mean, normal.std, types, mirror=fn.random.coin_flip()),)

    return Side("", form, _passes(lambda: _pipeline(graph)))


def _resized(picture: Any, side: int) -> Any:
    """Bilinear; without its antialias, as stock and ours have none, which is a fifth quicker."""
    return _fn().resize(picture, size=(side, side), antialias=False)


def _last(picture: Any, mean: Sequence[float], std: Sequence[float], types: Any, **more: Any) -> Any:
    """0..255 to normalised float32 C×H×W, flips within; `mean` and `std` are of 0..1."""
    return _fn().crop_mirror_normalize(
        picture,
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


def _arrays(pool: Sequence[bytes]) -> list[np.ndarray]:
    return [np.frombuffer(data, np.uint8) for data in pool]


def _pipeline(graph: Callable[[], tuple[Any, ...]]) -> Any:
    """Built when first asked for: its threads must not be there when others fork."""
    dali = importlib.import_module("nvidia.dali")
    waits = {"exec_async": False, "exec_pipelined": False, "exec_dynamic": False, "prefetch_queue_depth": 1}
    made = dali.Pipeline(batch_size=BATCH, num_threads=1, device_id=None, seed=0, **waits)
    with made:
        made.set_outputs(*graph())
    made.build()
    return made


def _passes(build: Callable[[], Any]) -> Batches:
    pipeline: list[Any] = []

    def run() -> Iterator[Batch]:
        if not pipeline:
            pipeline.append(build())
        (images,) = pipeline[0].run()
        yield {"image": np.asarray(images.as_tensor())}

    return run


def _fn() -> Any:
    return importlib.import_module("nvidia.dali.fn")


def _types() -> Any:
    return importlib.import_module("nvidia.dali.types")


WORKLOADS = {Tiles: tiles, ResizedCrops: resized_crops, Windows: windows}
WITHOUT: dict[type, str] = {}
