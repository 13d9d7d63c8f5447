"""Cell nuclei: where they lie, and the haematoxylin they hold.

A nucleus is a wobbly ellipse: a membrane that is darker than the inside, grains of chromatin, sometimes a nucleolus.
Some lie above or below the plane of focus and are paler, with soft edges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.demo.fields import Field, Size, fractal, ramp


@dataclass(frozen=True, slots=True)
class NucleusKind:
    """What nuclei of one cell type look like; lengths in px of a 20× scan.

    Attributes:
        name: label of the nucleus's box.
        radius_px: mean radius.
        spread: relative standard deviation of the radius.
        elongation: least and largest ratio of the long to the short axis.
        darkness: mean haematoxylin concentration inside.
        grain: strength of the chromatin's texture, relative to `darkness`.
        rim: strength of the membrane, relative to `darkness`.
        nucleoli: mean number of nucleoli.
        wobble: how far the outline leaves the ellipse, relative to the radius.
        spacing: distance to the next nucleus in units of the two radii's sum.
    """

    name: str
    radius_px: float
    spread: float
    elongation: tuple[float, float]
    darkness: float
    grain: float
    rim: float
    nucleoli: float
    wobble: float
    spacing: float


TUMOUR = NucleusKind("tumour", 9.6, 0.17, (1.05, 1.6), 0.52, 0.46, 0.5, 1.1, 0.055, 1.03)
FIBROBLAST = NucleusKind("fibroblast", 5.4, 0.16, (2.6, 5.0), 0.74, 0.22, 0.15, 0.0, 0.05, 1.7)
LYMPHOCYTE = NucleusKind("lymphocyte", 5.6, 0.09, (1.0, 1.18), 0.86, 0.34, 0.2, 0.0, 0.03, 1.02)


@dataclass(frozen=True, slots=True)
class Nucleus:
    """One placed nucleus: centre and half axes in px, direction of the long axis in radians."""

    kind: NucleusKind
    x: float
    y: float
    long_px: float
    short_px: float
    angle: float

    @property
    def radius_px(self) -> float:
        """Radius of the circle of equal area."""
        return float((self.long_px * self.short_px) ** 0.5)


def place_nuclei(
    rng: np.random.Generator,
    size: Size,
    choose: Callable[[float, float], tuple[NucleusKind | None, float, float]],
    *,
    tries: int,
    magnification: float = 1.0,
) -> list[Nucleus]:
    """Throw `tries` nuclei at a tile and keep those that find room.

    Args:
        rng: decides everything.
        size: height and width of the tile, px.
        choose: takes x and y in px; returns the kind that lives there (None: none), the direction
            of the tissue in radians, and how strictly nuclei follow it (0..1).
        tries: candidates thrown; more fill the tile more densely.
        magnification: scale of the scan.
    """
    height, width = size
    points = (rng.random((tries, 2)) * (width + 16, height + 16) - 8).tolist()
    draws = rng.standard_normal((tries, 4)).tolist()
    kept: list[Nucleus] = []
    centres = np.empty((3, tries))
    for (x, y), (a, b, c, d) in zip(points, draws, strict=True):
        kind, direction, order = choose(x, y)
        if kind is None:
            continue
        radius = kind.radius_px * magnification * min(max(1 + kind.spread * a, 0.55), 1.6)
        low, high = kind.elongation
        stretch = low + (high - low) / (1 + exp(-1.3 * b))
        # The room that a nucleus needs is that of its mean radius: long ones may lie side by side.
        dx, dy, reach = centres[:, : len(kept)] - ((x,), (y,), (-radius,))
        if np.any(dx * dx + dy * dy < (kind.spacing * reach) ** 2):
            continue
        angle = direction + (1 - order) * 1.5 * c + 0.18 * d
        kept.append(Nucleus(kind, x, y, radius * stretch**0.5, radius / stretch**0.5, angle))
        centres[:, len(kept) - 1] = x, y, radius
    return kept


def draw_nuclei(
    rng: np.random.Generator, size: Size, nuclei: list[Nucleus]
) -> tuple[Field, NDArray[np.uint16], list[tuple[int, int, int, int]]]:
    """Haematoxylin, instance ids and boxes of the nuclei.

    Returns:
        Concentration float32 H×W (0 outside); ids uint16 H×W (nucleus k has id k + 1, 0 is none; later
        nuclei lie on top); boxes (x_min, y_min, x_max, y_max) in px, clipped to the tile, of every
        nucleus in order, all zeros for one that cannot be seen.
    """
    height, width = size
    stain = np.zeros(size, np.float32)
    ids = np.zeros(size, np.uint16)
    chromatin = fractal(rng, size, 4.5, octaves=2, gain=0.9)
    for number, nucleus in enumerate(nuclei, start=1):
        reach = int(nucleus.long_px * 1.25) + 3
        left, top = max(int(nucleus.x) - reach, 0), max(int(nucleus.y) - reach, 0)
        right, bottom = min(int(nucleus.x) + reach + 1, width), min(int(nucleus.y) + reach + 1, height)
        if right <= left or bottom <= top:
            continue
        window = np.s_[top:bottom, left:right]
        value, inside = _patch(rng, nucleus, (left, top, right, bottom), chromatin[window])
        stain[window] = np.maximum(stain[window], value) + 0.3 * np.minimum(stain[window], value)
        ids[window][inside] = number
    return stain, ids, _boxes(ids, len(nuclei))


def _patch(
    rng: np.random.Generator, nucleus: Nucleus, window: tuple[int, int, int, int], chromatin: Field
) -> tuple[Field, NDArray[np.bool_]]:
    """The stain that one nucleus adds inside its window, and the pixels that are its own."""
    left, top, right, bottom = window
    kind = nucleus.kind
    dx = np.arange(left, right, dtype=np.float32)[None, :] - np.float32(nucleus.x)
    dy = np.arange(top, bottom, dtype=np.float32)[:, None] - np.float32(nucleus.y)
    cos, sin = np.float32(np.cos(nucleus.angle)), np.float32(np.sin(nucleus.angle))
    u, v = dx * cos + dy * sin, dy * cos - dx * sin
    rho, phi = cv2.cartToPolar(u / np.float32(nucleus.long_px), v / np.float32(nucleus.short_px))
    outline = np.ones_like(rho)
    for wave in (2, 3, 5):
        outline += np.float32(kind.wobble * rng.standard_normal()) * np.cos(wave * phi + np.float32(rng.random() * 6.3))
    depth_px = (outline - rho) * np.float32(nucleus.radius_px)  # >0 inside, px from the edge
    unfocused = max(rng.standard_normal() - 0.9, 0.0)
    edge_px = 0.9 + 1.6 * unfocused
    cover = ramp(depth_px, -edge_px, edge_px)
    paleness = min(max(1 + 0.16 * rng.standard_normal() - 0.25 * unfocused, 0.4), 1.35)
    sharp = 1 / (1 + 2 * unfocused)
    inner = 1 + np.float32(kind.grain * sharp) * chromatin
    inner += np.float32(kind.rim * sharp) * np.exp(-np.square((depth_px - 0.8) / 1.1))
    for _ in range(rng.poisson(kind.nucleoli)):
        angle, away, grow = rng.random(3)
        at_u = np.float32(0.55 * away * nucleus.long_px * np.cos(6.3 * angle))
        at_v = np.float32(0.55 * away * nucleus.short_px * np.sin(6.3 * angle))
        spread = np.float32((1.2 + grow) ** 2)
        inner += np.float32(0.75 * sharp) * np.exp(-(np.square(u - at_u) + np.square(v - at_v)) / spread)
    value = np.float32(kind.darkness * paleness) * cover * np.clip(inner, 0.25, 2.2)
    return value, cover > 0.5


def _boxes(ids: NDArray[np.uint16], count: int) -> list[tuple[int, int, int, int]]:
    """The tightest box of every id from 1 to `count`."""
    rows, cols = np.nonzero(ids)
    owner = ids[rows, cols].astype(np.intp)
    low = np.full((2, count + 1), np.iinfo(np.intp).max)
    high = np.zeros((2, count + 1), np.intp)
    for axis, place in enumerate((cols, rows)):
        np.minimum.at(low[axis], owner, place)
        np.maximum.at(high[axis], owner, place + 1)
    low[:, high[0] == 0] = 0
    corners = zip(low[0, 1:], low[1, 1:], high[0, 1:], high[1, 1:], strict=True)
    return [(int(a), int(b), int(c), int(d)) for a, b, c, d in corners]
