"""Synthetic haematoxylin–eosin tiles, made the way a microscope sees them.

Maps of stain concentration (haematoxylin in nuclei, eosin in cytoplasm and collagen) are mixed by the Beer–Lambert
law: the light that arrives is I = I₀ · 10^−(cₕ·sₕ + cₑ·sₑ) per colour channel, where s are the stains' optical-density
vectors (Ruifrok and Johnston, 2001; Macenko et al., 2009). Then come the optics' blur and the sensor's noise.
Laboratories differ in stains, thickness, white balance, magnification and focus, as real ones do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.demo.brushes import Field, Random, Size, blur, grid, noise, ramp, stamp, streaks

CLASSES = ("lymphocytes", "stroma", "tumour")


class _TissueCell(NamedTuple):
    """What nuclei of one cell type look like; lengths in px of a 20× scan, strengths relative to `darkness`."""

    name: str
    radius_px: float
    spread: float  # of the radius, relative
    stretch: tuple[float, float]  # least and largest ratio of the long to the short axis
    darkness: float  # mean haematoxylin concentration inside
    grain: float  # of the chromatin
    rim: float  # of the membrane
    nucleoli: float  # how many, on average
    wobble: float  # how far the outline leaves the ellipse, in radii
    spacing: float  # distance to the next nucleus, in units of the two radii's sum


_CELLS = (
    _TissueCell("tumour", 9.6, 0.17, (1.05, 1.6), 0.52, 0.46, 0.5, 1.1, 0.055, 1.03),
    _TissueCell("fibroblast", 5.4, 0.16, (2.6, 5.0), 0.74, 0.22, 0.15, 0.0, 0.05, 1.7),
    _TissueCell("lymphocyte", 5.6, 0.09, (1.0, 1.18), 0.86, 0.34, 0.2, 0.0, 0.03, 1.02),
)
_NONE, _TUMOUR, _FIBROBLAST, _LYMPHOCYTE = range(4)  # one more than the place in `_CELLS`
CELL_TYPES = tuple(cell.name for cell in _CELLS)


@dataclass(frozen=True, slots=True)
class Laboratory:
    """How one laboratory stains and scans."""

    name: str
    haematoxylin: tuple[float, float, float]  # optical density of unit concentration in R, G, B
    eosin: tuple[float, float, float]
    strength: tuple[float, float]  # factors on both concentrations
    white: tuple[float, float, float]  # light that passes the bare slide, R, G, B in 0..255
    magnification: float
    blur_px: float  # of the optics
    noise: float  # of the sensor, levels at mid grey


LABORATORIES = (
    Laboratory("north", (0.61, 0.70, 0.37), (0.11, 0.86, 0.34), (1.00, 0.86), (246, 244, 245), 1.00, 0.70, 1.6),
    Laboratory("east", (0.66, 0.69, 0.22), (0.13, 0.78, 0.20), (0.92, 0.66), (250, 246, 252), 0.84, 0.55, 1.2),
    Laboratory("south", (0.55, 0.72, 0.42), (0.16, 0.80, 0.52), (1.02, 0.94), (244, 240, 236), 1.22, 0.85, 2.0),
    Laboratory("west", (0.64, 0.70, 0.34), (0.18, 0.82, 0.33), (1.20, 0.78), (238, 236, 240), 1.08, 0.60, 2.6),
)


@dataclass(frozen=True, slots=True)
class Tile:
    """A drawn tile.

    Attributes:
        image: uint8 H×W×3 RGB.
        ids: uint16 H×W, one number for each nucleus, 0 elsewhere.
        types: uint8 H×W, 1 + the place of each nucleus's cell type in `CELL_TYPES`, 0 elsewhere.
        boxes: (x_min, y_min, x_max, y_max) of each nucleus that can be seen, px.
        labels: the cell type of each box.
    """

    image: NDArray[np.uint8]
    ids: NDArray[np.uint16]
    types: NDArray[np.uint8]
    boxes: tuple[tuple[int, int, int, int], ...]
    labels: tuple[str, ...]


def render_tile(kind: str, size: Size, laboratory: Laboratory, rng: Random) -> Tile:
    """Draw one tile; the same generator state draws the same tile.

    Args:
        kind: one of `CLASSES`: what most of the tile shows.
        size: height and width in px, each at least 64.
        laboratory: how it was stained and scanned.
        rng: decides everything else.

    Raises:
        ValueError: an unknown kind.

    >>> tile = render_tile("stroma", (96, 128), LABORATORIES[0], np.random.default_rng(7))
    >>> tile.image.shape, tile.image.dtype, len(tile.boxes) == len(tile.labels)
    ((96, 128, 3), dtype('uint8'), True)
    """
    if kind not in CLASSES:
        raise ValueError(f"unknown tissue {kind!r}; it is one of {', '.join(CLASSES)}")
    scale = laboratory.magnification
    along, across = _grain(rng, size, scale)
    nest, crowd, gap = _compartments(kind, rng, along, across, scale)
    # Stroma is sparse: most candidates find nothing there, and now and then a lymphocyte.
    home = np.select([gap > 0.25, nest > 0.5, crowd > 0.5], [_NONE, _TUMOUR, _LYMPHOCYTE], -1)
    nuclei = _place(rng, home, across, scale)
    stain, ids = _nuclei(rng, size, nuclei)
    eosin, haze = _eosin(rng, along, across, (nest, crowd), nuclei, scale)
    eosin *= (1 - gap) * (1 - 0.55 * np.minimum(stain, 1))
    image = _expose(rng, stain + haze * (1 - gap) * (stain < 0.1), eosin, laboratory)
    types = np.array([_NONE, *(1 + CELL_TYPES.index(one.cell.name) for one in nuclei)], np.uint8)[ids]
    found = [(box, one.cell.name) for one, box in zip(nuclei, _boxes(ids, len(nuclei)), strict=True) if box]
    return Tile(image, ids, types, tuple(box for box, _ in found), tuple(name for _, name in found))


def _grain(rng: Random, size: Size, scale: float) -> tuple[Field, Field]:
    """Coordinates along and across the tissue's fibres, px of a 20× scan."""
    y, x = grid(size)
    turn = rng.random() * np.pi
    cos, sin = np.float32(np.cos(turn) / scale), np.float32(np.sin(turn) / scale)
    along, across = x * cos + y * sin, y * cos - x * sin
    # Collagen lies in waves: a slow bend of the whole, and a crimp whose phase drifts.
    across += 46 * noise(rng, size, 150 * scale) + 9 * noise(rng, size, 45 * scale)
    phase = 1.6 * noise(rng, size, 110 * scale)
    across += np.float32(rng.uniform(1.5, 5.0)) * np.sin(along / np.float32(rng.uniform(9, 15)) + phase)
    return along, across


def _compartments(kind: str, rng: Random, along: Field, across: Field, scale: float) -> tuple[Field, Field, Field]:
    """How far each pixel belongs to tumour nests, to crowds of lymphocytes, and to bare glass (each 0..1)."""
    nests, crowds, gaps = {
        "tumour": (rng.uniform(0.62, 0.88), 0.03, rng.uniform(0.01, 0.06)),
        "stroma": (0.0, rng.uniform(0, 0.05), rng.uniform(0.02, 0.13)),
        "lymphocytes": (0.0, rng.uniform(0.72, 0.92), rng.uniform(0.0, 0.03)),
    }[kind]
    size: Size = (along.shape[0], along.shape[1])
    nest = _share(noise(rng, size, 95 * scale, 2, 0.3), nests, 0.05)
    crowd = _share(noise(rng, size, 80 * scale, 2, 0.5), crowds, 0.2) * (1 - nest)
    # Clefts open along the fibres and around nests; lumens and vessels are round.
    clefts = streaks(rng, along, across, 5.0, 7.0) + 0.15 * noise(rng, size, 8 * scale, 2)
    holes = 1.3 * noise(rng, size, 60 * scale, 5, 0.4)
    return nest, crowd, _share(np.where(crowd + nest > 0.5, holes, np.maximum(clefts, holes)), gaps, 0.07)


def _share(field: Field, share: float, soft: float) -> Field:
    """1 in the highest `share` of a field, 0 elsewhere, with soft edges."""
    threshold = np.quantile(field, 1 - share) if share else field.max() + soft
    return ramp(field, threshold - soft, threshold + soft)


class _Nucleus(NamedTuple):
    """One placed nucleus: centre and half axes in px, direction of the long axis in radians."""

    cell: _TissueCell
    x: float
    y: float
    long_px: float
    short_px: float
    angle: float


def _place(rng: Random, home: NDArray[np.intp], across: Field, scale: float) -> list[_Nucleus]:
    """Throw nuclei at a tile and keep those that find room.

    Args:
        rng: decides everything.
        home: the cell type that lives at each pixel; -1 where it is stroma.
        across: coordinate across the fibres, along which fibroblasts lie.
        scale: magnification.
    """
    height, width = home.shape
    down, right = np.gradient(blur(across, 3.0))
    direction = np.arctan2(-right, down)
    tries = int(height * width / 90 / scale**2)
    kept: list[_Nucleus] = []
    discs = np.empty((tries, 3))  # x, y, radius of those that are kept
    for x, y, luck in rng.random((tries, 3)) * (width + 16, height + 16, 1) - (8, 8, 0):
        at = min(max(int(y), 0), height - 1), min(max(int(x), 0), width - 1)
        found = home[at]
        stroma = found < 0
        if stroma:
            found = _LYMPHOCYTE if luck > 0.985 else _FIBROBLAST if luck > 0.89 else _NONE
        if found == _NONE:
            continue
        cell = _CELLS[found - 1]
        a, b, c, d = rng.standard_normal(4)
        radius = cell.radius_px * scale * min(max(1 + cell.spread * a, 0.55), 1.6)
        # The room that a nucleus needs is that of its mean radius: long ones may lie side by side.
        near = discs[: len(kept)]
        if np.any(np.hypot(near[:, 0] - x, near[:, 1] - y) < cell.spacing * (near[:, 2] + radius)):
            continue
        discs[len(kept)] = x, y, radius
        low, high = cell.stretch
        stretch = (low + (high - low) / (1 + np.exp(-1.3 * b))) ** 0.5
        angle = direction[at] + (0.1 if stroma else 1.5) * c + 0.18 * d
        kept.append(_Nucleus(cell, x, y, radius * stretch, radius / stretch, angle))
    return kept


def _nuclei(rng: Random, size: Size, nuclei: list[_Nucleus]) -> tuple[Field, NDArray[np.uint16]]:
    """Haematoxylin of the nuclei, 0 outside, and their numbers: 1 is the first, later ones lie on top.

    A nucleus is a wobbly ellipse: a membrane darker than the inside, grains of chromatin, sometimes a nucleolus. Some
    lie above or below the plane of focus and are paler, with soft edges.
    """
    stain, ids = np.zeros(size, np.float32), np.zeros(size, np.uint16)
    chromatin = noise(rng, size, 4.5, 2, 0.9)
    for number, one in enumerate(nuclei, start=1):
        found = stamp(size, one.x, one.y, one.long_px, one.short_px, one.angle)
        if found is None:
            continue
        cell, (window, u, v) = one.cell, found
        rho, phi = cv2.cartToPolar(u, v)
        radius = np.float32((one.long_px * one.short_px) ** 0.5)
        outline = 1 + sum(
            np.float32(cell.wobble * rng.standard_normal()) * np.cos(wave * phi + np.float32(6.3 * rng.random()))
            for wave in (2, 3, 5)
        )
        depth_px = (outline - rho) * radius
        unfocused = max(rng.standard_normal() - 0.9, 0.0)
        sharp = np.float32(1 / (1 + 2 * unfocused))
        cover = ramp(depth_px, -0.9 - 1.6 * unfocused, 0.9 + 1.6 * unfocused)
        rim = np.exp(-np.square((depth_px - 0.8) / 1.1))
        inner = 1 + sharp * (cell.grain * chromatin[window] + cell.rim * rim)
        for _ in range(rng.poisson(cell.nucleoli)):
            away, turn, grow = rng.random(3) * (0.55, 6.3, 1)
            far = np.hypot((u - away * np.cos(turn)) * one.long_px, (v - away * np.sin(turn)) * one.short_px)
            inner += 0.75 * sharp * np.exp(-np.square(far / (1.2 + grow)))
        pale = min(max(1 + 0.16 * rng.standard_normal() - 0.25 * unfocused, 0.4), 1.35)
        value = np.float32(cell.darkness * pale) * cover * np.clip(inner, 0.25, 2.2)
        stain[window] = np.maximum(stain[window], value) + 0.3 * np.minimum(stain[window], value)
        ids[window][cover > 0.5] = number
    return stain, ids


def _boxes(ids: NDArray[np.uint16], count: int) -> list[tuple[int, int, int, int] | None]:
    """The tightest box of every number from 1 to `count`; None for what can hardly be seen."""
    rows, columns = np.nonzero(ids)
    low, high = np.full((count + 1, 2), ids.size), np.zeros((count + 1, 2), int)
    np.minimum.at(low, ids[rows, columns], np.column_stack([columns, rows]))
    np.maximum.at(high, ids[rows, columns], np.column_stack([columns, rows]) + 1)
    boxes = np.hstack([low, high])[1:].tolist()
    return [(a, b, c, d) if c > a and (c - a) * (d - b) >= 12 else None for a, b, c, d in boxes]


def _eosin(
    rng: Random, along: Field, across: Field, where: tuple[Field, Field], nuclei: list[_Nucleus], scale: float
) -> tuple[Field, Field]:
    """Eosin everywhere, and the pale haematoxylin of cytoplasm."""
    nest, crowd = where
    size: Size = (nest.shape[0], nest.shape[1])
    bundles = streaks(rng, along, across, 2.6, 9.0)
    # Single fibrils fray: shorter, thinner, each a little off the bundle's course.
    fibrils = streaks(rng, along, across + 1.6 * noise(rng, size, 9 * scale), 1.15, 7.0)
    grains = noise(rng, size, 5.0, 2, 0.8)
    ground = 0.35 + 0.09 * bundles + 0.075 * fibrils + 0.03 * grains + 0.09 * noise(rng, size, 70 * scale, 3)
    ground -= 0.22 * ramp(bundles + 0.5 * fibrils, -1.0, -2.0)  # the slits between bundles
    ground += 0.1 * ramp(fibrils + 0.4 * bundles, 1.0, 2.2)  # fibres seen edge on
    # Every cell owns the ground nearest to its nucleus; membranes run where owners meet.
    free = np.full(size, 255, np.uint8)
    free[0, 0] = 0  # somebody owns it where no nucleus is seen
    for one in nuclei:
        if 0 <= one.x < size[1] and 0 <= one.y < size[0]:
            free[int(one.y), int(one.x)] = 0
    _, owner = cv2.distanceTransformWithLabels(free, cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL)
    shade = rng.standard_normal(int(owner.max()) + 1).astype(np.float32)[owner]
    wall = cv2.morphologyEx(owner.astype(np.float32), cv2.MORPH_GRADIENT, np.ones((2, 2), np.uint8)) > 0
    bubbles = ramp(noise(rng, size, 9.0 * scale, 2), 1.2, 2.2)
    membranes = blur(wall.astype(np.float32), 0.8)
    cytoplasm = 0.27 + 0.05 * blur(shade, 1.2) + 0.045 * grains + 0.13 * membranes - 0.22 * bubbles
    between = 0.26 + 0.04 * grains + 0.06 * bundles + 0.04 * fibrils
    eosin = ground * (1 - nest) * (1 - crowd) + cytoplasm * nest + between * crowd
    haze = 0.105 * nest * (1 + 0.22 * grains + 0.25 * blur(shade, 1.5)) + 0.06 * crowd + 0.012
    return np.maximum(eosin, 0.04), np.maximum(haze, 0)


def _expose(rng: Random, haematoxylin: Field, eosin: Field, laboratory: Laboratory) -> NDArray[np.uint8]:
    """Beer–Lambert, blur, noise: concentrations become a photograph."""
    thickness = 1 + 0.06 * noise(rng, (eosin.shape[0], eosin.shape[1]), 180)
    strength = np.array(laboratory.strength) * (1 + 0.07 * rng.standard_normal(2))
    stains = np.array([laboratory.haematoxylin, laboratory.eosin]) * strength[:, None]
    stains *= 1 + 0.03 * rng.standard_normal((2, 3))
    density = cv2.transform(np.dstack([haematoxylin, eosin]) * thickness[..., None], stains.T) + np.float32(0.012)
    light = blur(cv2.exp(density * np.float32(-np.log(10))), laboratory.blur_px) * np.array(
        laboratory.white, np.float32
    )
    # Photon noise grows with the square root of the light.
    shot = rng.standard_normal(light.shape, dtype=np.float32) * np.float32(laboratory.noise / 128**0.5)
    return np.clip(np.rint(light + shot * np.sqrt(np.maximum(light, 1))), 0, 255).astype(np.uint8)
