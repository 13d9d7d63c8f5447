"""The workloads of `fast.py`, and the same work as others would write it."""

from __future__ import annotations

import importlib.util
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageEnhance

import augrecipes as ar
from augrecipes.bench.stock import compose
from augrecipes.demo.photos import CLASSES as SCENES
from augrecipes.demo.photos import draw_photo
from augrecipes.demo.tissue import CLASSES as TISSUES
from augrecipes.demo.tissue import LABORATORIES, draw_tile
from augrecipes.recipe.parse import parse_text

# One sample: the number of the call, and where to put the picture.
Sample = Callable[[int, np.ndarray], None]
_POOL_BYTES = 48 * 2**20  # several times what a core's second cache holds
_STAINED = """
version: 1
recipe: w1
steps:
  - Rotate: {{limit: 25, border_mode: reflect_101, p: 1.0}}
  - RandomResizedCrop: {{size: [{size}, {size}], scale: [0.5, 1.0], ratio: [0.8, 1.2]}}
  - Resize: {{height: {out}, width: {out}}}  # augrecipes: ignore[L201]
  - HorizontalFlip
  - VerticalFlip
{colour}
eval: []
output: {{dtype: float32, layout: {layout}, {range}}}
"""
_JITTER = "  - ColorJitter: {brightness: 0.2, contrast: 0.1, saturation: 0.05, hue: 0.02, p: 1.0}"


def stained(size: int, out: int) -> ar.Recipe:
    """W1 and W1b: a tile of `size` px, rotated, cropped, resized to `out` px, flipped, its colours jittered."""
    half = "normalize: {mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5]}"
    text = _STAINED.format(size=size, out=out, colour=_JITTER, layout="chw", range=half)
    return parse_text(text.replace("p: 1.0}\neval", "p: 1.0}  # augrecipes: ignore[L301]\neval"), root=None)


def stained_geometry(size: int, out: int) -> ar.Recipe:
    """The same without colours, 0..1, H×W×C: for comparisons with the truth."""
    return parse_text(_STAINED.format(size=size, out=out, colour="", layout="hwc", range="range: [0, 1]"), root=None)


def tissue(size: int, least: int = 8) -> list[np.ndarray]:
    """Tiles of tissue, more than fit into the caches: a few drawn, the others turned copies of them."""
    draw = np.random.default_rng(1)
    drawn = [
        draw_tile(kind, (size, size), LABORATORIES[k % len(LABORATORIES)], draw).image for k, kind in enumerate(TISSUES)
    ]
    return _pool(drawn, least)


def photos(height: int, width: int) -> list[np.ndarray]:
    """Photographs, more than fit into the caches."""
    draw = np.random.default_rng(2)
    return _pool([draw_photo(kind, (height, width), draw) for kind in SCENES * 2], 8)


def _pool(drawn: Sequence[np.ndarray], least: int) -> list[np.ndarray]:
    count = max(least, _POOL_BYTES // drawn[0].nbytes)
    turns = itertools.cycle([(1, 1), (1, -1), (-1, 1), (-1, -1)])
    pool = []
    for image, (y, x) in zip(itertools.cycle(drawn), turns, strict=False):
        pool.append(np.ascontiguousarray(image[::y, ::x]))
        if len(pool) == count:
            return pool
    return pool


def ours(recipe: ar.Recipe, optimize: str, pool: Sequence[np.ndarray], **more: Any) -> Sample:
    """A compiled recipe that writes into the batch. `more`: what else a sample holds."""
    pipeline = recipe.compile(optimize=optimize)  # type: ignore[arg-type]

    def sample(k: int, out: np.ndarray) -> None:
        pipeline.at(k)(image=pool[k % len(pool)], out=out, **more)

    return sample


def stock(recipe: ar.Recipe, pool: Sequence[np.ndarray], **more: Any) -> Sample:
    """The same steps in a plain `A.Compose`, with `A.Normalize` or `A.ToFloat`, put into the batch as C×H×W."""
    if "boxes" in more:
        more = {**more, "bboxes": more["boxes"]}
        del more["boxes"]
    plain = compose(recipe)

    def sample(k: int, out: np.ndarray) -> None:
        np.copyto(out, plain(image=pool[k % len(pool)], **more)["image"].transpose(2, 0, 1))

    return sample


def torchvision_or_pillow(pool: Sequence[np.ndarray], size: int, out_size: int) -> tuple[str, Sample]:
    """W1 on Pillow images: torchvision's transforms where that is installed, else the Pillow calls that it makes."""
    images = [Image.fromarray(tile) for tile in pool]
    if importlib.util.find_spec("torchvision") is None:
        draw = random.Random(0)
        return "Pillow, as torchvision calls it", lambda k, out: _pillow(
            images[k % len(images)], size, out_size, draw, out
        )
    from torchvision import transforms as t

    chain = t.Compose(
        [
            t.RandomRotation(25, interpolation=t.InterpolationMode.BILINEAR),
            t.RandomResizedCrop(size, scale=(0.5, 1.0), ratio=(0.8, 1.2)),
            t.Resize((out_size, out_size)),
            t.RandomHorizontalFlip(),
            t.RandomVerticalFlip(),
            t.ColorJitter(0.2, 0.1, 0.05, 0.02),
            t.ToTensor(),
            t.Normalize((0.5,) * 3, (0.5,) * 3),
        ]
    )
    return "torchvision on Pillow", lambda k, out: np.copyto(out, chain(images[k % len(images)]).numpy())


def _pillow(image: Image.Image, size: int, out_size: int, draw: random.Random, out: np.ndarray) -> None:
    """One sample of W1."""
    bilinear = Image.Resampling.BILINEAR
    image = image.rotate(draw.uniform(-25, 25), bilinear)
    for _ in range(10):
        area, ratio = size * size * draw.uniform(0.5, 1.0), draw.uniform(0.8, 1.2)
        width, height = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
        if width <= size and height <= size:
            break
    else:
        width = height = size
    x, y = draw.randint(0, size - width), draw.randint(0, size - height)
    image = image.crop((x, y, x + width, y + height)).resize((size, size), bilinear)
    image = image.resize((out_size, out_size), bilinear)
    if draw.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if draw.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    for adjust in draw.sample(range(4), 4):
        if adjust == 0:
            image = ImageEnhance.Brightness(image).enhance(draw.uniform(0.8, 1.2))
        elif adjust == 1:
            image = ImageEnhance.Contrast(image).enhance(draw.uniform(0.9, 1.1))
        elif adjust == 2:
            image = ImageEnhance.Color(image).enhance(draw.uniform(0.95, 1.05))
        else:
            hue, saturation, value = image.convert("HSV").split()
            turned = np.asarray(hue) + np.uint8(int(draw.uniform(-0.02, 0.02) * 255) % 256)
            image = Image.merge("HSV", (Image.fromarray(turned), saturation, value)).convert("RGB")
    tensor = torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous().to(torch.float32).div(255)
    np.copyto(out, tensor.sub_(0.5).div_(0.5).numpy())


def same_kind(samples: dict[str, Sample], shape: tuple[int, ...], count: int, loose: float = 1.0) -> None:
    """Before anything is timed: do all sides make the same kind of sample? Mean, spread and sharpness, over `count`.

    Raises:
        SystemExit: they do not.
    """
    found = {}
    for name, sample in samples.items():
        batch = np.full((count, *shape), np.nan, np.float32)
        for k in range(count):
            sample(k, batch[k])
        edges = [float(np.abs(np.diff(batch, axis=axis)).mean()) for axis in (2, 3)]
        found[name] = (batch.mean((0, 2, 3)), float(batch.std()), sum(edges))
    (first, (mean, std, edge)), *others = found.items()
    for name, (its_mean, its_std, its_edge) in others:
        away = float(np.abs(mean - its_mean).max()) / std
        if not (
            away < 0.25 * loose and abs(its_std / std - 1) < 0.2 * loose and abs(its_edge / edge - 1) < 0.4 * loose
        ):
            raise SystemExit(
                f"{name} and {first} make different samples: means {its_mean} and {mean}, "
                f"spread {its_std:.3f} and {std:.3f}, sharpness {its_edge:.4f} and {edge:.4f}"
            )
