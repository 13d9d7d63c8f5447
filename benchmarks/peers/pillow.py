"""Pillow, called directly."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import PIL
import torch
from PIL import Image, ImageEnhance
from sides import Side, in_batches
from workloads import Folder, Pairs, Photos, ResizedCrops, Tiles, Windows

from peers import installed
from peers.loaders import FilePairs, Repeated, epochs

NAME = "Pillow"
_BILINEAR = Image.Resampling.BILINEAR
# Photographs and their crops, as width, height and box: left, upper, right, lower.
Crop = Callable[[int, int], tuple[float, float, float, float]]


def find() -> str:
    """It comes with the development tools."""
    return installed("pillow", "pip install pillow", lambda: PIL)


def tiles(work: Tiles) -> Iterator[Side]:
    """W1; corners that a rotation leaves bare are filled with the tiles' mean colour."""
    images = [Image.fromarray(tile) for tile in work.pool]
    fill = tuple(int(mean) for mean in np.mean([tile.mean((0, 1)) for tile in work.pool], axis=0))
    rng = random.Random(0)

    def sample(k: int, out: np.ndarray) -> None:
        image = images[k % len(images)].rotate(rng.uniform(-25, 25), _BILINEAR, fillcolor=fill)
        # `resize` of a box spares the crop's copy.
        image = image.resize((work.size, work.size), _BILINEAR, resized_crop(rng, (0.5, 1.0), (0.8, 1.2))(*image.size))
        image = _jittered(_flipped(image.resize((work.out, work.out), _BILINEAR), rng, both=True), rng)
        _normalised(image, np.full(3, 0.5), np.full(3, 0.5), out)

    yield Side("", "", in_batches(sample, (3, work.out, work.out)))


def resized_crops(work: Photos) -> Iterator[Side]:
    """W2."""
    rng = random.Random(0)
    yield _photographs(work, resized_crop(rng, (0.08, 1.0), (3 / 4, 4 / 3)))


def windows(work: Photos) -> Iterator[Side]:
    """W5."""
    rng = random.Random(0)

    def crop(width: int, height: int) -> tuple[float, float, float, float]:
        x, y = rng.randint(0, width - work.out), rng.randint(0, height - work.out)
        return x, y, x + work.out, y + work.out

    yield _photographs(work, crop)


def large_pairs(pairs: Pairs) -> Iterator[Side]:
    """W4: a Dataset that decodes both and crops."""

    def cut(image: Image.Image, x: int, y: int, scale: int) -> torch.Tensor:
        box = (x * scale, y * scale, (x + pairs.patch) * scale, (y + pairs.patch) * scale)
        return torch.from_numpy(np.array(image.crop(box)).transpose(2, 0, 1).astype(np.float32) / 255)

    def crops(lr_file: Path, hr_file: Path) -> tuple[torch.Tensor, torch.Tensor]:
        with Image.open(lr_file) as lr, Image.open(hr_file) as hr:
            x, y = (random.randint(0, n - pairs.patch) for n in lr.size)
            return cut(lr, x, y, 1), cut(hr, x, y, pairs.scale)

    ds = FilePairs(pairs.lr, pairs.hr, crops)
    yield Side("", "PNGs decoded whole", epochs(Repeated(ds, pairs.batch), pairs.batch, 0, ("lr", "hr")))


def _photographs(work: Photos, crop: Crop) -> Side:
    normal, rng = work.recipe.output.normalize, random.Random(1)
    mean, std = np.array(normal.mean), np.array(normal.std)

    def sample(k: int, out: np.ndarray) -> None:
        with Image.open(io.BytesIO(work.pool[k % len(work.pool)])) as image:
            box = crop(*image.size)
            _normalised(_flipped(image.resize((work.out, work.out), _BILINEAR, box), rng), mean, std, out)

    return Side("", "", in_batches(sample, (3, work.out, work.out)))


def resized_crop(rng: random.Random, scale: tuple[float, float], ratio: tuple[float, float]) -> Crop:
    """Random resized crops, drawn as torchvision draws them."""

    def box(width: int, height: int) -> tuple[float, float, float, float]:
        for _ in range(10):
            area = width * height * rng.uniform(*scale)
            shape = np.exp(rng.uniform(*np.log(ratio)))
            w, h = round((area * shape) ** 0.5), round((area / shape) ** 0.5)
            if 0 < w <= width and 0 < h <= height:
                x, y = rng.randint(0, width - w), rng.randint(0, height - h)
                return x, y, x + w, y + h
        side = min(width, height)
        return (width - side) / 2, (height - side) / 2, (width + side) / 2, (height + side) / 2

    return box


def _flipped(image: Image.Image, rng: random.Random, *, both: bool = False) -> Image.Image:
    if rng.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if both and rng.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    return image


def _jittered(image: Image.Image, rng: random.Random) -> Image.Image:
    """Brightness, contrast, saturation and hue by up to 0.2, 0.1, 0.05 and 0.02, in a drawn order."""
    for adjust in rng.sample(range(4), 4):
        if adjust == 0:
            image = ImageEnhance.Brightness(image).enhance(rng.uniform(0.8, 1.2))
        elif adjust == 1:
            image = ImageEnhance.Contrast(image).enhance(rng.uniform(0.9, 1.1))
        elif adjust == 2:
            image = ImageEnhance.Color(image).enhance(rng.uniform(0.95, 1.05))
        else:
            hue, saturation, value = image.convert("HSV").split()
            turned = np.asarray(hue) + np.uint8(int(rng.uniform(-0.02, 0.02) * 255) % 256)
            image = Image.merge("HSV", (Image.fromarray(turned), saturation, value)).convert("RGB")
    return image


def _normalised(image: Image.Image, mean: np.ndarray, std: np.ndarray, out: np.ndarray) -> None:
    """0..255 to normalised C×H×W, within the batch's memory."""
    pixels = np.asarray(image).transpose(2, 0, 1)
    np.multiply(pixels, (1 / 255 / std).astype(np.float32)[:, None, None], out=out)
    np.subtract(out, (mean / std).astype(np.float32)[:, None, None], out=out)


WORKLOADS = {Tiles: tiles, ResizedCrops: resized_crops, Windows: windows, Pairs: large_pairs}
WITHOUT = {Folder: "is what the article's image folder calls"}
