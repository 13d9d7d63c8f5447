"""FFCV: its own file, written beforehand, read by its loader and its own decoders."""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import simplejpeg
from jpegs import QUALITY
from measure import settle
from sides import BATCH, FLOATS, Batch, Batches, Each, Side
from workloads import Folder, Pairs, Photos, ResizedCrops, Tiles, Windows

from peers import installed
from peers.loaders import Files

NAME = "FFCV"
_PASS = 1024  # samples: it takes fresh memory for each epoch, so long ones and few batches ahead suit it
_AHEAD = 1
_FULL = 255.0


def find() -> str:
    """It is compiled when it is installed."""
    hint = "apt install libopencv-dev libturbojpeg0-dev pkg-config; pip install --no-deps ffcv; pip install numba tqdm"
    return installed("ffcv", hint, lambda: importlib.import_module("ffcv.loader"))


def resized_crops(work: Photos) -> Iterator[Side]:
    """W2: a decoder of its own crops and resizes."""
    yield _photographs(work, _of("fields.rgb_image").RandomResizedCropRGBImageDecoder((work.out, work.out)))


def windows(work: Photos) -> Iterator[Side]:
    """W5: the same decoder, told to take windows at full scale."""
    yield _photographs(work, _window(work.out))


def small_pictures(folder: Folder) -> Iterator[Side]:
    """W3: resized before they were written, pixels as they are; as floats, and as the bytes that they are."""
    path = folder.scratch / "small.beton"
    if not path.exists():
        files = Files(folder.root, lambda path: _resized(path, folder.side))
        _write(path, files, label=True, write_mode="raw")
    ops, decoders = _of("transforms"), _of("fields.decoders")
    label = [decoders.IntDecoder(), ops.ToTensor(), ops.Squeeze()]
    floats = ops.NormalizeImage(np.zeros(3), np.full(3, _FULL), np.float32)
    for makes, steps in ((FLOATS, [floats]), ("uint8 C×H×W", [])):
        image = [decoders.SimpleRGBImageDecoder(), *steps, ops.ToTensor(), ops.ToTorchImage()]
        passes = _passes(path, {"image": image, "label": label}, folder.batch, folder.workers)
        dtype = makes.partition(" ")[0]
        yield Side("", f"raw file, {dtype}, channels last, {folder.workers} workers", passes, makes)


def _photographs(work: Photos, decoder: Any) -> Side:
    path = work.scratch / f"{type(work).__name__}.beton"
    if not path.exists():
        # It encodes them again: the same size, quality and sampling.
        pictures = Each(work.pool, lambda data: (simplejpeg.decode_jpeg(data),))
        _write(path, pictures, label=False, write_mode="jpg", jpeg_quality=QUALITY)
    ops, normal = _of("transforms"), work.recipe.output.normalize
    last = ops.NormalizeImage(np.array(normal.mean) * _FULL, np.array(normal.std) * _FULL, np.float32)
    image = [decoder, ops.RandomHorizontalFlip(), last, ops.ToTensor(), ops.ToTorchImage()]
    indices = np.arange(_PASS) % len(work.pool)
    return Side("", "channels last", _passes(path, {"image": image}, BATCH, 1, indices=indices))


def _passes(path: Path, pipelines: dict[str, list[Any]], batch: int, workers: int, **more: Any) -> Batches:
    """A pass is an epoch: its thread begins and ends with it, so that it works in its own turn alone."""
    loader = _of("loader")
    order = loader.OrderOption.RANDOM
    more |= {"order": order, "drop_last": False, "batches_ahead": _AHEAD}
    made = loader.Loader(str(path), batch, workers, pipelines=pipelines, **more)

    def run() -> Iterator[Batch]:
        try:
            for parts in made:
                yield dict(zip(pipelines, parts, strict=True))
        finally:
            settle()  # it sets torch's threads to its own workers

    return run


def _write(path: Path, data: Sequence[Any], *, label: bool, **image: Any) -> None:
    fields = _of("fields")
    named = {"image": fields.RGBImageField(**image), **({"label": fields.IntField()} if label else {})}
    with redirect_stderr(io.StringIO()):  # its progress bars
        _of("writer").DatasetWriter(str(path), named, num_workers=1).from_indexed_dataset(data)


def _resized(path: str, side: int) -> np.ndarray:
    return cv2.resize(simplejpeg.decode_jpeg(Path(path).read_bytes()), (side, side))


def _window(out: int) -> Any:
    """A decoder that takes windows of `out` px, drawn evenly."""

    class RandomWindow(_of("fields.rgb_image").ResizedCropRGBImageDecoder):  # type: ignore[misc]
        scale, ratio = None, (float(out), float(out))

        @property
        def get_crop_generator(self) -> Any:
            def window(height: int, width: int, _: Any, size: np.ndarray) -> tuple[int, int, int, int]:
                h, w = int(size[0]), int(size[1])
                y, x = np.random.uniform(0, height - h + 1), np.random.uniform(0, width - w + 1)
                return int(y), int(x), h, w

            return window

    return RandomWindow((out, out))


def _of(part: str) -> Any:
    return importlib.import_module(f"ffcv.{part}")


WORKLOADS = {ResizedCrops: resized_crops, Windows: windows, Folder: small_pictures}
WITHOUT = {Tiles: "has no rotation", Pairs: "has no crop of two fields at one place"}
