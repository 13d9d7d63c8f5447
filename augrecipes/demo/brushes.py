"""Primitives of the drawn images: smooth noise, soft edges, streaks, and stamps at any angle."""

from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

Field = NDArray[Any]  # float32 H×W, or H×W×3 RGB; Any, because numpy's stubs widen every mixed expression
Size = tuple[int, int]  # height, width in px
Random = np.random.Generator


def grid(size: Size) -> tuple[Field, Field]:
    """Pixel coordinates (y, x), each float32 H×W.

    >>> y, x = grid((2, 3))
    >>> y[1, 0], x[1, 2]
    (np.float32(1.0), np.float32(2.0))
    """
    y, x = np.mgrid[: size[0], : size[1]].astype(np.float32)
    return y, x


def noise(rng: Random, size: Size, bump_px: float, octaves: int = 1, gain: float = 0.5) -> Field:
    """Noise of mean 0 and deviation about 1: bumps `bump_px` wide, octaves ever finer and `gain` times as strong.

    >>> noise(np.random.default_rng(0), (40, 60), 8, octaves=3).shape
    (40, 60)
    """
    total, power = np.zeros(size, np.float32), 0.0
    for octave in range(octaves):
        step = max(bump_px / 2**octave, 1.0)
        # Enlarging a coarse grid costs far less than blurring at full size. A random offset hides its lines.
        coarse = rng.standard_normal([int(side / step) + 3 for side in size], dtype=np.float32)
        top, left = (rng.random(2) * 2 * step).astype(int)
        fine = cv2.resize(coarse, None, fx=step, fy=step, interpolation=cv2.INTER_CUBIC)
        total += np.float32(1.4 * gain**octave) * fine[top : top + size[0], left : left + size[1]]
        power += gain ** (2 * octave)
    return total / np.float32(power**0.5)


def streaks(rng: Random, along: Field, across: Field, width_px: float, stretch: float) -> Field:
    """Noise in streaks along `across` = constant, the finest `width_px` wide and `stretch` times as long."""
    texture = cv2.GaussianBlur(rng.standard_normal((512, 512), dtype=np.float32), (0, 0), 0.8) * np.float32(2.8)
    total = np.zeros_like(along)
    for octave, weight in enumerate((1.0, 0.8, 0.5)):
        span = np.float32(width_px * 2.2 ** (2 - octave))
        v, u = (rng.random(2) * 512).astype(np.float32)
        v, u = across / span + v, along / (span * np.float32(stretch)) + u
        total += np.float32(weight / 1.4) * lookup(texture, v, u, cv2.BORDER_WRAP)  # a mirror would be seen
    return total


def lookup(texture: Field, v: Field, u: Field, border: int = cv2.BORDER_REFLECT) -> Field:
    """Sample a texture at rows `v` and columns `u`, bilinear; by default it is mirrored beyond its edges."""
    return cv2.remap(texture, u.astype(np.float32), v.astype(np.float32), cv2.INTER_LINEAR, borderMode=border)


def ramp(field: Field, low: float, high: float) -> Field:
    """0 below `low`, 1 above `high`, a smoothstep between (falling where `low` exceeds `high`).

    >>> ramp(np.array([0.0, 0.5, 1.0], np.float32), 0, 1).tolist()
    [0.0, 0.5, 1.0]
    """
    t: Field = np.clip((field - np.float32(low)) / np.float32(high - low), 0, 1)
    return t * t * (3 - 2 * t)


def blend(below: Field, above: Field, cover: Field) -> Field:
    """Blend `above` over `below` with opacity `cover`, H×W, 0..1."""
    return (below + (above - below) * cover[..., None]).astype(np.float32)


def blur(field: Field, sigma_px: float) -> Field:
    """A Gaussian blur."""
    return cv2.GaussianBlur(field, (0, 0), sigma_px)


class Stamp(NamedTuple):
    """The coordinates of an ellipse on an image.

    Attributes:
        window: slices of the image around the ellipse, with some margin.
        u: coordinate along the long half axis, in the window; -1 and 1 are its ends.
        v: the same along the short half axis.
    """

    window: tuple[slice, slice]
    u: Field
    v: Field


def stamp(size: Size, x: float, y: float, long_px: float, short_px: float, angle: float) -> Stamp:
    """Locate an ellipse with these half axes, centred at (x, y) on the image.

    >>> found = stamp((50, 80), 40.0, 25.0, 10.0, 5.0, 0.0)
    >>> bool(found.u.max() > 1), bool(found.v.max() > 1), found.window[0].start > 0
    (True, True, True)
    """
    reach = int(1.25 * max(long_px, short_px)) + 3
    top, left, bottom, right = max(int(y) - reach, 0), max(int(x) - reach, 0), int(y) + reach + 1, int(x) + reach + 1
    window = slice(top, min(bottom, size[0])), slice(left, min(right, size[1]))
    dy, dx = (values.astype(np.float32) for values in np.ogrid[window])
    dy, dx = dy - np.float32(y), dx - np.float32(x)
    cos, sin = np.float32(np.cos(angle)), np.float32(np.sin(angle))
    return Stamp(window, (dx * cos + dy * sin) / np.float32(long_px), (dy * cos - dx * sin) / np.float32(short_px))
