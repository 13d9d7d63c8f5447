"""The workloads that peers run, and the images that they are measured on."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageOps

import augrecipes as ar
from augrecipes.demo.photos import CLASSES as SCENES
from augrecipes.demo.photos import render_photo
from augrecipes.demo.tissue import CLASSES as TISSUES
from augrecipes.demo.tissue import LABORATORIES, render_tile
from augrecipes.images.encoded import Encoded, encoded
from augrecipes.recipe.parse import parse_text

QUALITY = 90

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
  - ColorJitter: {{brightness: 0.2, contrast: 0.1, saturation: 0.05, hue: 0.02, p: 1.0}}  # augrecipes: ignore[L301]
eval: []
output: {{dtype: float32, layout: chw, normalize: {{mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5]}}}}
"""
_SMALL = """
version: 1
recipe: w6
steps:
  - PadIfNeeded: {{min_height: {padded}, min_width: {padded}, border_mode: constant}}
  - RandomCrop: {{height: {out}, width: {out}}}
  - HorizontalFlip
eval: []
output: {{dtype: float32, layout: chw, normalize: imagenet}}
"""


@dataclass(frozen=True, slots=True)
class Tiles:
    """W1: tiles in memory, rotated by up to 25°, cropped (scale 0.5..1, ratio 0.8..1.2), resized, flipped, jittered.

    Attributes:
        pool: uint8 tiles, `size` px a side.
        size: of a tile, and of its crop.
        out: pixels a side of a sample.
    """

    pool: Sequence[np.ndarray]
    size: int
    out: int

    @property
    def recipe(self) -> ar.Recipe:
        """As a recipe."""
        return stained(self.size, self.out)


@dataclass(frozen=True, slots=True)
class Stains:
    """W1s: the stains of tiles in memory varied, uint8 H×W×C in and out."""

    pool: Sequence[np.ndarray]


@dataclass(frozen=True, slots=True)
class Small:
    """W6: small images in memory, padded with black, a window of their own size, flipped, normalised as for ImageNet.

    Attributes:
        pool: uint8 images, `out` px a side.
        out: pixels a side of a sample.
        pad: pixels that are added on each side before the window is taken.
    """

    pool: Sequence[np.ndarray]
    out: int
    pad: int

    @property
    def recipe(self) -> ar.Recipe:
        """As a recipe."""
        return parse_text(_SMALL.format(out=self.out, padded=self.out + 2 * self.pad), root=None)


@dataclass(frozen=True, slots=True)
class Photos:
    """JPEGs in memory.

    Attributes:
        pool: the files, all of one size.
        recipe: what is done with them.
        out: pixels a side of a sample.
        scratch: a folder for what a peer keeps its data in.
    """

    pool: Sequence[bytes]
    recipe: ar.Recipe
    out: int
    scratch: Path


class ResizedCrops(Photos):
    """W2: random resized crops with the usual scale and ratio, flipped, normalised as for ImageNet."""


class Windows(Photos):
    """W5: random windows at full scale, flipped, normalised."""


@dataclass(frozen=True, slots=True)
class Folder:
    """W3: a folder of small JPEGs, a subfolder for each class, resized, in shuffled batches, float32 C×H×W, 0..1.

    Attributes:
        root: the folder.
        side: of a sample, pixels.
        batch: samples in one.
        scratch: a folder for what a peer keeps its data in.
        workers: what a peer may have of them.
        flip: W3f: and a horizontal flip that is drawn for each sample.
    """

    root: Path
    side: int
    batch: int
    scratch: Path
    workers: int = 2
    flip: bool = False


@dataclass(frozen=True, slots=True)
class Pairs:
    """W4: crops of pairs of large PNGs, the same place on both, float32 C×H×W, 0..1.

    Attributes:
        hr: the folder of large images.
        lr: that of small ones, in the same order.
        patch: pixels a side of the small crop.
        scale: how many times larger the other is.
        batch: pairs in one.
        scratch: a folder for what a peer keeps its data in.
    """

    hr: Path
    lr: Path
    patch: int
    scale: int
    batch: int
    scratch: Path


def stained(size: int, out: int) -> ar.Recipe:
    """W1 and W1b: a tile of `size` px, rotated, cropped, resized to `out` px, flipped, its colours jittered."""
    return parse_text(stained_text(size, out), root=None)


def stained_text(size: int, out: int) -> str:
    """The same, as YAML."""
    return _STAINED.format(size=size, out=out)


def tissue(size: int, least: int = 8) -> list[np.ndarray]:
    """Tiles of tissue, more than fit into the caches: a few drawn, the others turned copies of them."""
    rng = np.random.default_rng(1)
    drawn = [
        render_tile(kind, (size, size), LABORATORIES[k % len(LABORATORIES)], rng).image
        for k, kind in enumerate(TISSUES)
    ]
    return _pool(drawn, least)


def photos(height: int, width: int) -> list[np.ndarray]:
    """Photographs, more than fit into the caches."""
    rng = np.random.default_rng(2)
    return _pool([render_photo(kind, (height, width), rng) for kind in SCENES * 3], 8)


def small(side: int) -> list[np.ndarray]:
    """Photographs of so many px a side, as many as fit into the caches and more."""
    return [cv2.resize(photo, (side, side), interpolation=cv2.INTER_AREA) for photo in photos(256, 256)]


def _pool(drawn: Sequence[np.ndarray], least: int) -> list[np.ndarray]:
    count = max(least, _POOL_BYTES // drawn[0].nbytes)
    turns = itertools.cycle([(1, 1), (1, -1), (-1, 1), (-1, -1)])
    pool = []
    for image, (y, x) in zip(itertools.cycle(drawn), turns, strict=False):
        pool.append(np.ascontiguousarray(image[::y, ::x]))
        if len(pool) == count:
            return pool
    return pool


def jpegs(folder: Path | None, height: int, width: int, *, restart: bool = False) -> list[bytes]:
    """Photographs as JPEGs, of a folder or drawn; `restart`: with a marker after each row of blocks."""
    if folder is not None:
        images = [np.asarray(ImageOps.fit(Image.open(path).convert("RGB"), (width, height))) for path in _files(folder)]
    elif height * width < 4_000_000:
        images = photos(height, width)
    else:  # drawing large ones takes long: a quarter of each side, with its reflections
        more = ((0, height - height // 4), (0, width - width // 4), (0, 0))
        images = [np.pad(part, more, mode="symmetric") for part in photos(height // 4, width // 4)[:4]]
    options = [cv2.IMWRITE_JPEG_QUALITY, QUALITY, cv2.IMWRITE_JPEG_RST_INTERVAL, -(-width // 16) if restart else 0]
    return [cv2.imencode(".jpg", image[:, :, ::-1], options)[1].tobytes() for image in images]


def as_file(data: bytes) -> Encoded:
    """A JPEG as our Datasets hand it to a pipeline: read, and not decoded."""
    return encoded(data, name="photo.jpg")


def _files(folder: Path) -> list[Path]:
    found = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in {".jpg", ".jpeg", ".png"}]
    if not found:
        raise SystemExit(f"{folder}: no JPEG and no PNG in it")
    return found[:64]


def write_noise(folder: Path, size: tuple[int, int], count: int, suffix: str = ".jpg") -> Path:
    """A folder of images with as much in them as photographs have."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    coarse = (max(2, size[0] // 16), max(2, size[1] // 16), 3)
    for k in range(count):
        smooth = cv2.resize(rng.integers(0, 231, coarse, np.uint8), size[::-1], interpolation=cv2.INTER_CUBIC)
        cv2.imwrite(str(folder / f"{k:04}{suffix}"), cv2.add(smooth, rng.integers(0, 25, (*size, 3), np.uint8)))
    return folder


def write_classes(folder: Path, count: int) -> Path:
    """JPEGs of about 160 px in ten classes, each with a colour of its own."""
    rng = np.random.default_rng(0)
    hues = [cv2.cvtColor(np.array([[[18 * k, 160, 200]]], np.uint8), cv2.COLOR_HSV2BGR)[0, 0] for k in range(10)]
    for i in range(count):
        height, width = rng.integers(140, 181, 2)
        coarse = np.clip(hues[i % 10] + rng.normal(0, 25, (12, 12, 3)), 0, 255).astype(np.uint8)
        image = cv2.resize(coarse, (int(width), int(height)), interpolation=cv2.INTER_CUBIC)
        (folder / f"class{i % 10}").mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(folder / f"class{i % 10}" / f"{i:05}.jpg"), image)
    return folder


def write_pairs(work: Pairs, count: int, size: tuple[int, int] = (1356, 2040)) -> None:
    """Coarse and noisy images of `size`, and their reduction."""
    write_noise(work.hr, size, count, ".png")
    work.lr.mkdir()
    for path in sorted(work.hr.iterdir()):
        small = cv2.resize(
            cv2.imread(str(path)), None, fx=1 / work.scale, fy=1 / work.scale, interpolation=cv2.INTER_AREA
        )
        cv2.imwrite(str(work.lr / f"{path.stem}x2.png"), small)
