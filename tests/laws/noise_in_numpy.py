"""Noise of our own as numpy makes it: what the kernels are held to, bit for bit."""

import math
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.counter_noise import Noise
from augrecipes.seeds import mix

_HALVES = [
    [99, 61, 88, 94, 69, 76, 2, 63],
    [28, 120, 53, 46, 45, 117, 65, 82],
    [54, 71, 126, 58, 62, 66, 69, 67],
    [37, 59, 71, 45, 98, 61, 15, 84],
]
_PARTS = np.array([[*half, *(127 - part for part in reversed(half))] for half in _HALVES], np.int32)
_SPREAD = np.float32(7009.9353)


def words(key: int, first: int, count: int) -> np.ndarray:
    """Random words of 32 bits, from number `first` of a key of 64 bits on."""
    one, two = key & 0xFFFFFFFF, key >> 32
    at = np.arange(first + one, first + one + count, dtype=np.uint64).astype(np.uint32)
    at ^= np.uint32(two >> 16 | (two & 0xFFFF) << 16)
    at ^= at >> np.uint32(16)
    at *= np.uint32(0x7FEB352D)
    at ^= at >> np.uint32(15)
    at += np.uint32(two)
    at *= np.uint32(0x846CA68B)
    at ^= at >> np.uint32(16)
    return at


def sums(words_of: np.ndarray) -> np.ndarray:
    """Whole numbers, two of each word, the lower half first: native/normals.h tells their distribution."""
    low, high = words_of.astype("<u4").view(np.uint8).reshape(-1, 2).T.astype(np.int32)
    (more, less), (more_of_high, less_of_high) = (
        (_PARTS[0][byte & 15] + _PARTS[1][byte >> 4], _PARTS[2][byte & 15] + _PARTS[3][byte >> 4])
        for byte in (low, high)
    )
    return more + 127 * more_of_high - 127 * less - less_of_high


def numbers(key: int, count: int, first: int = 0, mean: float = 0, deviation: float = 1) -> np.ndarray:
    """Normal numbers, float32, from number `first`, an even one, on."""
    made = sums(words(key, first // 2, (count + 1) // 2))[:count].astype(np.float32)
    return made * (np.float32(deviation) * (np.float32(1) / _SPREAD)) + np.float32(mean)


def count(noise: Noise) -> int:
    """How many numbers it is made of."""
    return math.prod(noise.shape[:2] if noise.shared else noise.shape)


def array(noise: Noise) -> np.ndarray:
    """All of it, float32, of the image's shape."""
    return in_shape(noise, numbers(noise.key, count(noise), 0, noise.mean, noise.deviation))


def in_shape(noise: Noise, made: np.ndarray) -> np.ndarray:
    """Numbers as those of the image's values."""
    if noise.shared and len(noise.shape) == 3:
        return np.broadcast_to(made.reshape(*noise.shape[:2], 1), noise.shape)
    return np.asarray(made.reshape(noise.shape))


def parts(noise: Noise) -> int:
    """Of how many parts a level is, as a power of two: so many that 16 bits hold what normal numbers make."""
    most = abs(float(np.float32(noise.mean))) + 4.7 * float(np.float32(noise.deviation))
    return max((bits for bits in range(16) if most * 2**bits <= 2**15 - 1), default=0)


def whole_levels(noise: Noise, bits: int) -> np.ndarray:
    """Normal noise of levels: whole numbers in parts of a level, without what lies behind the point at last."""
    made = sums(words(noise.key, 0, (count(noise) + 1) // 2))[: count(noise)]
    factor = int(np.rint(float(np.float32(noise.deviation)) * 2.0**bits * 32768 / float(_SPREAD)))
    made = ((made * factor >> 14) + 1 >> 1) + int(np.rint(float(np.float32(noise.mean)) * 2.0**bits))
    return np.sign(made) * (np.abs(made) >> bits)


def added(noise: Noise, image: np.ndarray) -> np.ndarray:
    """An image, uint8, with it."""
    bits = parts(noise)
    if bits > 1:
        return np.clip(image + in_shape(noise, whole_levels(noise, bits)), 0, 255).astype(np.uint8)
    levels = np.trunc(np.clip(array(noise), -256, 256)).astype(np.int16)
    return np.clip(image + levels, 0, 255).astype(np.uint8)


def lightness(img: np.ndarray) -> tuple[int, int]:
    """Of the least and the greatest colour of each pixel the sum, and the sum of squares."""
    both = img.max(axis=-1).astype(np.int64) + img.min(axis=-1)
    return int(both.sum()), int((both * both).sum())


def bounds_of(rate: float, intensity: float) -> list[int] | None:
    """What words of 31 bits are above, one for each photon; None where there may be more than eight."""
    made: list[int] = []
    part = below = math.exp(-rate)
    while (bound := round(below * 2**31) - 1) < 2**31 - 1 and len(made) * intensity < 1:
        if len(made) == 8:
            return None
        made.append(bound)
        part *= rate / len(made)
        below += part
    return made


def iso(image: np.ndarray, shift: float, intensity: float, key: int) -> np.ndarray | None:
    """As of `counter_noise.iso_noise`."""
    pixels = image.shape[0] * image.shape[1]
    total, squares = lightness(image)
    variance = max(0.0, squares / pixels - (total / pixels) ** 2)
    bounds = bounds_of(math.sqrt(variance) / 510 * intensity, intensity)
    if bounds is None or shift * intensity > 50:
        return None
    word = (words(key, 0, pixels) >> np.uint32(1)).astype(np.int32)
    counted: Any = sum(((word > bound).astype(np.float32) for bound in bounds), np.zeros(pixels, np.float32))
    brighter = counted * np.float32(intensity)
    r, g, b = (image[..., k].ravel().astype(np.float32) for k in range(3))
    most, least = np.maximum(np.maximum(r, g), b), np.minimum(np.minimum(r, g), b)
    span, one, six, full = most - least, np.float32(1), np.float32(6), np.float32(255)
    light = (most + least) * np.float32(0.5)
    dark = full - light
    lighter = np.minimum(light + brighter * dark, full)
    room, left, some = (
        np.maximum(np.minimum(light, dark), np.float32(0.5)),
        np.minimum(lighter, full - lighter),
        np.maximum(span, one),
    )
    inverse = one / (some * room)
    red, green = most == r, most == g
    turn = numbers(mix(key, 1), pixels, 0, 6, np.float32(shift * intensity / 60))
    centre = np.where(red, np.float32(0), np.where(green, np.float32(2), np.float32(4))) + turn
    hue = np.where(red, g - b, np.where(green, b - r, r - g)) * (inverse * room) + centre
    hue = hue - np.trunc(hue * (one / six)) * six
    span = span * left * (inverse * some)
    darkest = lighter - span * np.float32(0.5) + np.float32(0.5)
    two, three, four = (np.float32(k) for k in (2, 3, 4))
    out = np.empty_like(image)
    for channel, share in enumerate((np.abs(hue - three) - one, two - np.abs(hue - two), two - np.abs(hue - four))):
        out[..., channel] = np.trunc(darkest + span * np.clip(share, np.float32(0), one)).reshape(image.shape[:2])
    return out
