"""Noise of our own as numpy makes it: what the kernels are held to, bit for bit."""

import math
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.counter_numbers import Distribution, pieces
from augrecipes.compiler.kernels.own_noise import Noise
from augrecipes.compiler.kernels.photons import _bounds, _photons
from augrecipes.seeds import mix

_SHIFT, _FIRST = 23 - 6, 0x3F000000 >> (23 - 6)  # from the bits of a float to its piece


def words(key: int, first: int, count: int) -> np.ndarray:
    """Random words of 32 bits, from number `first` of a key of 64 bits on."""
    one, two = key & 0xFFFFFFFF, key >> 32
    at = np.arange(first + one, first + one + count, dtype=np.uint64).astype(np.uint32)
    at ^= np.uint32(two >> 16 | (two & 0xFFFF) << 16)
    at ^= at >> np.uint32(17)
    at *= np.uint32(0xED5AD4BB)
    at ^= at >> np.uint32(11)
    at += np.uint32(two)
    at *= np.uint32(0xAC4C1B51)
    at ^= at >> np.uint32(15)
    at *= np.uint32(0x31848BAB)
    at ^= at >> np.uint32(14)
    return at


def numbers(key: int, count: int, distribution: Distribution, first: int = 0) -> np.ndarray:
    """Numbers of a distribution, float32, centred at 0 and of scale 1: see `counter_numbers.quantile`."""
    word, (starts, slopes) = words(key, first, count), pieces(distribution).T
    size = (word >> np.uint32(1)).astype(np.int32).astype(np.float32) + np.float32(0.5)
    piece = (size.view(np.uint32) >> np.uint32(_SHIFT)).astype(np.intp) - _FIRST
    made = slopes[piece] * size + starts[piece]
    return (made.view(np.uint32) ^ word << np.uint32(31)).view(np.float32)


def array(noise: Noise) -> np.ndarray:
    """All of it, float32, of the image's shape."""
    made = numbers(noise.key, noise.count, noise.distribution) * np.float32(noise.deviation) + np.float32(noise.mean)
    if noise.shared and len(noise.shape) == 3:
        return np.broadcast_to(made.reshape(*noise.shape[:2], 1), noise.shape)
    return np.asarray(made.reshape(noise.shape))


def added(noise: Noise, image: np.ndarray) -> np.ndarray:
    """An image, uint8 or float32, with it."""
    made: Any = array(noise)
    if image.dtype == np.uint8:
        return np.clip(image + np.trunc(np.clip(made, -256, 256)).astype(np.int16), 0, 255).astype(np.uint8)
    return np.asarray(np.clip(image + made, 0, 1), image.dtype)


def multiplied(noise: Noise, image: np.ndarray) -> np.ndarray:
    """An image times it."""
    product: Any = image.astype(np.float32) * array(noise)
    return np.asarray(np.clip(product, 0, 255 if image.dtype == np.uint8 else 1).astype(image.dtype))


def lightness(img: np.ndarray) -> tuple[int, int]:
    """Of the least and the greatest colour of each pixel the sum, and the sum of squares."""
    both = img.max(axis=-1).astype(np.int64) + img.min(axis=-1)
    return int(both.sum()), int((both * both).sum())


def shot(img: np.ndarray, scale: float, key: int) -> np.ndarray | None:
    """As of `photons.shot_noise`."""
    if (made := _photons(scale)) is None:
        return None
    bounds, levels = made
    word = (words(key, 0, img.size) >> np.uint32(1)).astype(np.int32).reshape(img.shape)
    counts: Any = sum((word > bounds[:, k].take(img)).astype(np.uint8) for k in range(bounds.shape[1]))
    return np.asarray(levels.take(counts))


def iso(img: np.ndarray, color_shift: float, intensity: float, key: int) -> np.ndarray | None:
    """As of `photons.iso_noise`."""
    pixels = img.shape[0] * img.shape[1]
    total, squares = lightness(img)
    variance = max(0.0, squares / pixels - (total / pixels) ** 2)
    bounds = _bounds(math.sqrt(variance) / 510 * intensity, intensity)
    if bounds is None or color_shift * intensity > 50:
        return None
    word = (words(key, 0, pixels) >> np.uint32(1)).astype(np.int32)
    counted: Any = sum((word > bound).astype(np.float32) for bound in bounds)
    brighter = counted * np.float32(intensity)
    r, g, b = (img[..., k].ravel().astype(np.float32) for k in range(3))
    most, least = np.maximum(np.maximum(r, g), b), np.minimum(np.minimum(r, g), b)
    span = most - least
    some = np.maximum(span, np.float32(1))
    green, blue = (b - r) / some + np.float32(2), (r - g) / some + np.float32(4)
    hue = np.where(most == r, (g - b) / some, np.where(most == g, green, blue))
    hue += numbers(mix(key, 1), pixels, "gaussian") * np.float32(color_shift * intensity / 60)
    six = np.float32(6)
    for _ in range(2):
        hue = np.where(hue < 0, hue + six, hue)
    hue = np.where(hue >= six, hue - six, hue)
    light, full = (most + least) * np.float32(0.5), np.float32(255)
    lighter = np.minimum(light + brighter * (full - light), full)
    room, left = np.minimum(light, full - light), np.minimum(lighter, full - lighter)
    span = span * left / np.maximum(room, np.float32(0.5))
    darkest = lighter - span * np.float32(0.5)
    out = np.empty_like(img)
    for channel, centre in enumerate((np.where(hue < 3, np.float32(0), six), np.float32(2), np.float32(4))):
        share = np.clip(np.float32(2) - np.abs(hue - centre), np.float32(0), np.float32(1))
        out[..., channel] = np.rint(np.clip(darkest + span * share, 0, 255)).reshape(img.shape[:2])
    return out
