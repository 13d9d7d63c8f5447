"""Synthetic haematoxylin–eosin tiles, made the way a microscope sees them.

Maps of stain concentration (haematoxylin in nuclei, eosin in cytoplasm and collagen) are mixed by the Beer–Lambert
law: the light that arrives is I = I₀ · 10^−(cₕ·sₕ + cₑ·sₑ) per colour channel, where s are the stains' optical-density
vectors (Ruifrok and Johnston, 2001; Macenko et al., 2009). Then come the optics' blur and the sensor's noise.
Laboratories differ in stains, thickness, white balance, magnification and focus, as real ones do.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.demo.fields import Field, Size, blur, fibres, fractal, grid, quantile_level, ramp, smooth_noise
from augrecipes.demo.nuclei import FIBROBLAST, LYMPHOCYTE, TUMOUR, NucleusKind, draw_nuclei, place_nuclei

CLASSES = ("lymphocytes", "stroma", "tumour")
CELL_TYPES = (TUMOUR.name, FIBROBLAST.name, LYMPHOCYTE.name)


@dataclass(frozen=True, slots=True)
class Laboratory:
    """How one laboratory stains and scans.

    Attributes:
        name: for tables and groups.
        haematoxylin: optical density of unit concentration in R, G, B.
        eosin: the same for eosin.
        strength: factors on both concentrations.
        white: light that passes the bare slide, R, G, B in 0..255.
        magnification: scale of the scan.
        blur_px: the optics' blur.
        noise: the sensor's noise, levels at mid grey.
    """

    name: str
    haematoxylin: tuple[float, float, float]
    eosin: tuple[float, float, float]
    strength: tuple[float, float]
    white: tuple[float, float, float]
    magnification: float
    blur_px: float
    noise: float


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


def draw_tile(kind: str, size: Size, laboratory: Laboratory, rng: np.random.Generator) -> Tile:
    """Draw one tile; the same generator state draws the same tile.

    Args:
        kind: one of `CLASSES`: what most of the tile shows.
        size: height and width in px, each at least 64.
        laboratory: how it was stained and scanned.
        rng: decides everything else.

    Raises:
        ValueError: an unknown kind.

    >>> tile = draw_tile("stroma", (96, 128), LABORATORIES[0], np.random.default_rng(7))
    >>> tile.image.shape, tile.image.dtype, len(tile.boxes) == len(tile.labels)
    ((96, 128, 3), dtype('uint8'), True)
    """
    if kind not in CLASSES:
        raise ValueError(f"unknown tissue {kind!r}; it is one of {', '.join(CLASSES)}")
    scale = laboratory.magnification
    flow = _flow(rng, size, scale)
    nest, crowd, gap = _compartments(kind, rng, size, flow, scale)
    angle = flow.angle

    def choose(x: float, y: float) -> tuple[NucleusKind | None, float, float]:
        row, col = min(max(int(y), 0), size[0] - 1), min(max(int(x), 0), size[1] - 1)
        if gap[row, col] > 0.25:
            return None, 0.0, 0.0
        direction = float(angle[row, col])
        if nest[row, col] > 0.5:
            return TUMOUR, direction, 0.0
        if crowd[row, col] > 0.5:
            return LYMPHOCYTE, direction, 0.0
        # Stroma is sparse: most candidates find nothing there, and now and then a lymphocyte.
        luck = rng.random()
        kinds = LYMPHOCYTE if luck > 0.985 else FIBROBLAST if luck > 0.89 else None
        return kinds, direction, 0.93

    tries = int(size[0] * size[1] / 90 / scale**2)
    nuclei = place_nuclei(rng, size, choose, tries=tries, magnification=scale)
    stain, ids, boxes = draw_nuclei(rng, size, nuclei)
    eosin, haze = _eosin(rng, flow, (nest, crowd), [(n.x, n.y) for n in nuclei], scale)
    tissue = 1 - gap
    haematoxylin = stain + haze * tissue * (stain < 0.1)
    eosin = eosin * tissue * (1 - 0.55 * np.minimum(stain, 1))
    image = _expose(rng, haematoxylin, eosin, laboratory)
    seen = [k for k, box in enumerate(boxes) if (box[2] - box[0]) * (box[3] - box[1]) >= 12]
    numbers = np.array([0, *(1 + CELL_TYPES.index(n.kind.name) for n in nuclei)], np.uint8)
    return Tile(image, ids, numbers[ids], tuple(boxes[k] for k in seen), tuple(nuclei[k].kind.name for k in seen))


@dataclass(frozen=True, slots=True)
class _Flow:
    """The tissue's grain: coordinates along and across its fibres (px), and their direction (radians)."""

    along: Field
    across: Field
    angle: Field


def _flow(rng: np.random.Generator, size: Size, scale: float) -> _Flow:
    y, x = grid(size)
    direction = np.float32(rng.random() * np.pi)
    cos, sin = np.cos(direction), np.sin(direction)
    along = (x * cos + y * sin) / np.float32(scale)
    across = (y * cos - x * sin) / np.float32(scale)
    # Collagen lies in waves: a slow bend of the whole, and a crimp whose phase drifts.
    bend = 46 * smooth_noise(rng, size, 150 * scale) + 9 * smooth_noise(rng, size, 45 * scale)
    phase = 1.6 * smooth_noise(rng, size, 110 * scale)
    bent = across + bend + np.float32(rng.uniform(1.5, 5.0)) * np.sin(along / np.float32(rng.uniform(9, 15)) + phase)
    gy, gx = np.gradient(cv2.GaussianBlur(bent, (0, 0), 3.0))
    return _Flow(along, bent, np.arctan2(-gx, gy).astype(np.float32))


def _compartments(
    kind: str, rng: np.random.Generator, size: Size, flow: _Flow, scale: float
) -> tuple[Field, Field, Field]:
    """How far each pixel belongs to tumour nests, to crowds of lymphocytes, and to bare glass (each 0..1)."""
    nest_share, crowd_share, gap_share = {
        "tumour": (rng.uniform(0.62, 0.88), 0.03, rng.uniform(0.01, 0.06)),
        "stroma": (0.0, rng.uniform(0, 0.05), rng.uniform(0.02, 0.13)),
        "lymphocytes": (0.0, rng.uniform(0.72, 0.92), rng.uniform(0.0, 0.03)),
    }[kind]
    nests = smooth_noise(rng, size, 95 * scale) + 0.25 * smooth_noise(rng, size, 30 * scale)
    nest = ramp(nests, *_around(quantile_level(nests, nest_share), 0.05)) if nest_share else np.zeros(size, np.float32)
    crowds = smooth_noise(rng, size, 80 * scale) + 0.5 * smooth_noise(rng, size, 26 * scale)
    crowd = ramp(crowds, *_around(quantile_level(crowds, crowd_share), 0.2)) * (1 - nest)
    # Clefts open along the fibres and around nests; lumens and vessels are round.
    clefts = fibres(rng, flow.along, flow.across, 5.0, 7.0) + 0.15 * fractal(rng, size, 8 * scale, 2)
    rounds = 1.2 * smooth_noise(rng, size, 60 * scale) + 0.3 * fractal(rng, size, 20 * scale, 4, 0.6)
    holes = np.where(crowd + nest > 0.5, rounds, np.maximum(1.05 * clefts, rounds))
    gap = ramp(holes, *_around(quantile_level(holes, gap_share), 0.07))
    return nest, crowd, gap


def _around(level: float, half_width: float) -> tuple[float, float]:
    return level - half_width, level + half_width


def _eosin(
    rng: np.random.Generator, flow: _Flow, where: tuple[Field, Field], centres: list[tuple[float, float]], scale: float
) -> tuple[Field, Field]:
    """Eosin everywhere, and the pale haematoxylin of cytoplasm."""
    nest, crowd = where
    size = (nest.shape[0], nest.shape[1])
    bundles = fibres(rng, flow.along, flow.across, 2.6, 9.0)
    # Single fibrils fray: shorter, thinner, each a little off the bundle's course.
    fray = flow.across + 1.6 * smooth_noise(rng, size, 9 * scale)
    fibrils = fibres(rng, flow.along, fray, 1.15, 7.0)
    grains = fractal(rng, size, 5.0, 2, 0.8)
    ground = 0.35 + 0.09 * bundles + 0.075 * fibrils + 0.03 * grains + 0.09 * fractal(rng, size, 70 * scale, 3)
    ground -= 0.22 * ramp(bundles + 0.5 * fibrils, -1.0, -2.0)  # the slits between bundles
    ground += 0.1 * ramp(fibrils + 0.4 * bundles, 1.0, 2.2)  # fibres seen edge on
    # Every cell owns the ground nearest to its nucleus; membranes run where owners meet.
    seeds = np.full(size, 255, np.uint8)
    for x, y in centres:
        if 0 <= x < size[1] - 0.5 and 0 <= y < size[0] - 0.5:
            seeds[int(y), int(x)] = 0
    if not seeds.all():
        _, owner = cv2.distanceTransformWithLabels(seeds, cv2.DIST_L2, cv2.DIST_MASK_5, labelType=cv2.DIST_LABEL_PIXEL)
    else:
        owner = np.zeros(size, np.int32)
    jitter = rng.standard_normal(int(owner.max()) + 1).astype(np.float32)
    wall = np.zeros(size, np.float32)
    wall[1:, 1:] = (owner[1:, 1:] != owner[:-1, 1:]) | (owner[1:, 1:] != owner[1:, :-1])
    bubbles = ramp(fractal(rng, size, 9.0 * scale, 2), 1.2, 2.2)
    cytoplasm = 0.27 + 0.05 * blur(jitter[owner], 1.2) + 0.045 * grains + 0.13 * blur(wall, 0.8) - 0.22 * bubbles
    between = 0.26 + 0.04 * grains + 0.06 * bundles + 0.04 * fibrils
    eosin = ground * (1 - nest) * (1 - crowd) + cytoplasm * nest + between * crowd
    haze = 0.105 * nest * (1 + 0.22 * grains + 0.25 * blur(jitter[owner], 1.5)) + 0.06 * crowd + 0.012
    return np.maximum(eosin, 0.04), np.maximum(haze, 0)


def _expose(rng: np.random.Generator, haematoxylin: Field, eosin: Field, laboratory: Laboratory) -> NDArray[np.uint8]:
    """Beer–Lambert, blur, noise: concentrations become a photograph."""
    size = (haematoxylin.shape[0], haematoxylin.shape[1])
    thickness = np.float32(1) + np.float32(0.06) * smooth_noise(rng, size, 180)
    strength = np.array(laboratory.strength) * (1 + 0.07 * rng.standard_normal(2))
    stains = np.array([laboratory.haematoxylin, laboratory.eosin]) * strength[:, None]
    stains *= 1 + 0.03 * rng.standard_normal((2, 3))
    concentrations = cv2.merge([haematoxylin * thickness, eosin * thickness])
    density = cv2.transform(concentrations, stains.T.astype(np.float32)) + np.float32(0.012)
    light: Field = cv2.GaussianBlur(cv2.exp(density * np.float32(-np.log(10))), (0, 0), laboratory.blur_px)
    light *= np.array(laboratory.white, np.float32)
    # Photon noise grows with the square root of the light.
    noise = rng.standard_normal(light.shape, dtype=np.float32)
    light += noise * np.sqrt(np.maximum(light, 1)) * np.float32(laboratory.noise / 128**0.5)
    return np.clip(np.rint(light), 0, 255).astype(np.uint8)
