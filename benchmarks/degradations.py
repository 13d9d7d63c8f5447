"""Degradations of super-resolution: the gallery's recipes beside their papers' definitions written in numpy and OpenCV.

python benchmarks/degradations.py            prints
python benchmarks/degradations.py --write    prints, and writes its section of benchmarks/RESULTS.md
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import cv2
import numpy as np
from harness import Row, in_turns, run
from scipy.special import j1
from workloads import small

import augrecipes as ar

_METHOD = """\
One thread, from a decoded window of 256×256 to lr 64×64, float32 C×H×W, in turns. Ours is `pipeline.at(k)(hr=...)` of
the gallery's recipe, crop included; the peer is the paper's definition in numpy and OpenCV, on float32 images."""
_OPENCV = (cv2.INTER_AREA, cv2.INTER_LINEAR, cv2.INTER_CUBIC)
_SHAPES = ("iso", "aniso", "generalized_iso", "generalized_aniso", "plateau_iso", "plateau_aniso")
_WEIGHTS = (0.45, 0.25, 0.12, 0.03, 0.12, 0.03)
Image = np.ndarray


def gaussian_like(shape: str, side: int, wide: float, high: float, theta: float, beta: float) -> Image:
    axis = np.arange(side) - side // 2
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    turn = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
    inverse = np.linalg.inv(turn @ np.diag([wide**2, high**2]) @ turn.T)
    squares = np.sum(grid @ inverse * grid, axis=2)
    kernel = 1 / (squares**beta + 1) if shape.startswith("plateau") else np.exp(-0.5 * squares**beta)
    return kernel / kernel.sum()


def sinc(side: int, cutoff: float) -> Image:
    axis = np.arange(side) - side // 2
    far = np.hypot(axis, axis[:, None])
    with np.errstate(all="ignore"):
        kernel = cutoff * j1(cutoff * far) / (2 * np.pi * far)
    kernel[side // 2, side // 2] = cutoff**2 / (4 * np.pi)
    return kernel / kernel.sum()


def mixed(most: float) -> Image:
    side = random.choice(range(7, 22, 2))
    if random.random() < 0.1:
        return sinc(side, random.uniform(np.pi / (3 if side < 13 else 5), np.pi))
    shape = random.choices(_SHAPES, _WEIGHTS)[0]
    wide, theta, beta = random.uniform(0.2, most), 0.0, 1.0
    high = wide
    if shape.endswith("aniso"):
        high, theta = random.uniform(0.2, most), random.uniform(-np.pi, np.pi)
    if "_" in shape:
        low, top = (0.5, 4.0) if shape.startswith("generalized") else (1.0, 2.0)
        beta = random.uniform(low, 1) if random.random() < 0.5 else random.uniform(1, top)
    return gaussian_like(shape, side, wide, high, theta, beta)


def filtered(image: Image, kernel: Image) -> Image:
    return cv2.filter2D(image, -1, kernel.astype(np.float32), borderType=cv2.BORDER_REFLECT_101)


def jpeg(image: Image) -> Image:
    levels = np.uint8((image.clip(0, 1) * 255).round())[..., ::-1]
    data = cv2.imencode(".jpg", levels, [cv2.IMWRITE_JPEG_QUALITY, random.randint(30, 95)])[1]
    return cv2.imdecode(data, cv2.IMREAD_COLOR)[..., ::-1].astype(np.float32) / 255


def noisy(image: Image, most: float, scale: float) -> Image:
    gray = random.random() < 0.4
    if random.random() < 0.5:
        shape = (*image.shape[:2], 1) if gray else image.shape
        noise = np.random.randn(*shape).astype(np.float32) * (random.uniform(1, most) / 255)
    else:
        counted = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)[..., None] if gray else image
        counted = (counted * 255).round().clip(0, 255) / 255
        photons = 2 ** np.ceil(np.log2(len(np.unique(counted))))
        noise = (np.random.poisson(counted * photons) / photons - counted).astype(np.float32) * random.uniform(
            0.05, scale
        )
    return (image + noise).clip(0, 1)


def resized(image: Image, width: int, height: int) -> Image:
    return cv2.resize(image, (width, height), interpolation=random.choice(_OPENCV))


def factor(weights: tuple[float, ...], low: float, high: float) -> float:
    way = random.choices(("up", "down", "keep"), weights)[0]
    return {"up": random.uniform(1, high), "down": random.uniform(low, 1), "keep": 1.0}[way]


def real_esrgan(hr: Image) -> Image:
    image, (height, width) = filtered(hr.astype(np.float32) / 255, mixed(3.0)), hr.shape[:2]
    scale = factor((0.2, 0.7, 0.1), 0.15, 1.5)
    image = jpeg(noisy(resized(image, int(width * scale), int(height * scale)), 30, 3.0))
    if random.random() < 0.8:
        image = filtered(image, mixed(1.5))
    scale = factor((0.3, 0.4, 0.3), 0.3, 1.2)
    image = noisy(resized(image, int(width // 4 * scale), int(height // 4 * scale)), 25, 2.5)

    def to_target(each: Image) -> Image:
        small = resized(each, width // 4, height // 4)
        side = random.choice(range(7, 22, 2))
        return filtered(small, sinc(side, random.uniform(np.pi / 3, np.pi))) if random.random() < 0.8 else small

    image = jpeg(to_target(image)) if random.random() < 0.5 else to_target(jpeg(image))
    return np.ascontiguousarray(image.clip(0, 1).transpose(2, 0, 1))


def bsrgan(hr: Image) -> Image:
    image, (height, width) = hr.astype(np.float32) / 255, hr.shape[:2]
    factor = 4
    if random.random() < 0.25:
        image, factor = resized(image, width // 2, height // 2), 2
    turns = random.sample(("blur", "blur", "down", "down", "noise", "jpeg"), 6)
    first = True
    for turn in turns:
        if turn == "blur":
            side = 2 * random.randint(2, 11) + 3
            if random.random() < 0.5:
                wide, high = (max(0.05, ((4 + factor) * random.random()) ** 0.5) for _ in range(2))
                kernel = gaussian_like("aniso", side, wide, high, random.random() * np.pi, 1.0)
            else:
                sigma = max(0.05, (2 + 0.2 * factor) * random.random())
                kernel = gaussian_like("iso", side, sigma, sigma, 0.0, 1.0)
            image = filtered(image, kernel)
        elif turn == "down" and first:
            first = False
            if random.random() < 0.75:
                scale = random.uniform(1, 2 * factor)
                image = resized(image, int(image.shape[1] / scale), int(image.shape[0] / scale))
            else:
                sigma = random.uniform(0.1, 0.6 * factor)
                image = filtered(image, gaussian_like("iso", 25, sigma, sigma, 0.0, 1.0))[::factor, ::factor]
        elif turn == "down":
            image = resized(image, width // 4, height // 4)
        elif turn == "noise":
            shape = image.shape if random.random() < 0.6 else (*image.shape[:2], 1)
            noise = np.random.normal(0, random.randint(2, 25) / 255, shape)
            image = (image + noise).clip(0, 1).astype(np.float32)
        elif random.random() < 0.9:
            image = jpeg(image)
    return np.ascontiguousarray(jpeg(image).transpose(2, 0, 1))


def _rows(options: Any) -> Iterator[Row]:
    window = small(256)[0]
    peers: dict[str, Callable[[Image], Image]] = {"real-esrgan-x4": real_esrgan, "bsrgan-x4": bsrgan}
    for name, peer in peers.items():
        pipeline, counter = ar.load(name).compile(seed=0), itertools.count()
        calls = 5 if options.quick else 100
        pair = in_turns(
            lambda: pipeline.at(next(counter))(hr=window),  # noqa: B023
            lambda: peer(window),  # noqa: B023
            3 if options.quick else 15,
            calls,
        )
        yield pair.row(f"{name}, ms a sample", "numpy and OpenCV")


if __name__ == "__main__":
    run(__file__, __doc__, "Degradations", _METHOD, {"degradations": _rows})
