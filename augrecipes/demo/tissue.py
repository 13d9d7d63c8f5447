"""Draw synthetic haematoxylin–eosin tiles by a model of a microscope.

Maps of stain concentration (haematoxylin in nuclei, eosin in cytoplasm and collagen) are mixed by the Beer–Lambert
law: the light that arrives is I = I₀ · 10^−(cₕ·sₕ + cₑ·sₑ) per colour channel, where s are the stains' optical-density
vectors (Ruifrok and Johnston, 2001; Macenko et al., 2009). Then come the optics' blur and the sensor's noise.
Laboratories differ in stains, white balance, magnification and focus, as real ones do.
"""

from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.demo.brushes import Field, Random, Size, blur, grid, noise, ramp, stamp, streaks

# By class: the shares of a tile that are nests of tumour, crowds of lymphocytes, and bare glass.
_TISSUES = {"lymphocytes": (0.0, 0.82, 0.015), "stroma": (0.0, 0.03, 0.07), "tumour": (0.75, 0.03, 0.035)}
CLASSES = tuple(_TISSUES)


# What nuclei of each type look like: mean radius (px of a 20× scan) and its relative spread; least and largest ratio of
# the long to the short axis; mean concentration of haematoxylin, grain of the chromatin, darkness of the membrane; how
# many nucleoli on average; and the distance to the next nucleus, in units of the two radii's sum.
_CELLS = {
    "tumour": (9.6, 0.17, 1.05, 1.6, 0.52, 0.46, 0.5, 1.1, 1.03),
    "fibroblast": (5.4, 0.16, 2.6, 5.0, 0.74, 0.22, 0.15, 0.0, 1.7),
    "lymphocyte": (5.6, 0.09, 1.0, 1.18, 0.86, 0.34, 0.2, 0.0, 1.02),
}
CELL_TYPES = tuple(_CELLS)
_NONE, _TUMOUR, _FIBROBLAST, _LYMPHOCYTE = range(4)  # 1 + the index in `CELL_TYPES`


class Laboratory(NamedTuple):
    """How one laboratory stains and scans."""

    name: str
    haematoxylin: tuple[float, float, float]  # optical density in R, G, B
    eosin: tuple[float, float, float]
    white: tuple[float, float, float]  # light that passes the bare slide, R, G, B in 0..255
    magnification: float
    blur_px: float  # of the optics
    noise: float  # of the sensor, levels at mid grey


LABORATORIES = (
    Laboratory("north", (0.61, 0.70, 0.37), (0.10, 0.74, 0.29), (246, 244, 245), 1.00, 0.70, 1.6),
    Laboratory("east", (0.61, 0.63, 0.20), (0.09, 0.51, 0.13), (250, 246, 252), 0.84, 0.55, 1.2),
    Laboratory("south", (0.56, 0.73, 0.43), (0.15, 0.75, 0.49), (244, 240, 236), 1.22, 0.85, 2.0),
    Laboratory("west", (0.77, 0.84, 0.41), (0.14, 0.64, 0.26), (238, 236, 240), 1.08, 0.60, 2.6),
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
    boxes: list[tuple[int, int, int, int]]
    labels: list[str]


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
    nests, crowds, gaps = np.array(_TISSUES[kind]) * rng.uniform(0.8, 1.15, 3)
    # Along and across the fibres, px of a 20× scan. Collagen lies in waves, and is crimped.
    y, x = grid(size)
    turn = rng.random() * np.pi
    cos, sin = np.float32(np.cos(turn) / scale), np.float32(np.sin(turn) / scale)
    along, across = x * cos + y * sin, y * cos - x * sin
    across += 46 * noise(rng, size, 150 * scale) + 9 * noise(rng, size, 45 * scale)
    across += 3 * np.sin(along / 12 + 1.6 * noise(rng, size, 110 * scale))
    bundles = streaks(rng, along, across, 2.6, 9.0)
    nest = _top_share(noise(rng, size, 95 * scale, 2, 0.3), nests, 0.05)
    crowd = _top_share(noise(rng, size, 80 * scale, 2), crowds, 0.2) * (1 - nest)
    # Clefts open along the fibres; lumens and vessels are round.
    holes = 1.3 * noise(rng, size, 60 * scale, 5, 0.4)
    clefts = streaks(rng, along, across, 5.0, 7.0) * (crowd + nest < 0.5)
    gap = _top_share(np.maximum(clefts, holes), gaps, 0.07)
    # Stroma (-1) is sparse: most candidates there stay empty, and a few become lymphocytes.
    home = np.select([gap > 0.25, nest > 0.5, crowd > 0.5], [_NONE, _TUMOUR, _LYMPHOCYTE], -1)
    stain, ids, nuclei = _nuclei(rng, home, across, scale)
    fibrils = streaks(rng, along, across + 1.6 * noise(rng, size, 9 * scale), 1.15, 7.0)
    eosin, haze = _ground(rng, nest, crowd, bundles, fibrils, nuclei)
    eosin *= (1 - gap) * (1 - 0.55 * np.minimum(stain, 1))
    image = _expose(rng, stain + haze * (1 - gap) * (stain < 0.1), eosin, laboratory)
    types = np.array([_NONE, *(cell for cell, *_ in nuclei)], np.uint8)[ids]
    tile = Tile(image, ids, types, [], [])
    for number, (cell, _, _, window) in enumerate(nuclei, start=1):
        top, left = window[0].start, window[1].start
        x0, y0, wide, high = cv2.boundingRect((ids[window] == number).astype(np.uint8))
        if wide * high >= 12:  # smaller ones are hardly visible
            tile.boxes.append((left + x0, top + y0, left + x0 + wide, top + y0 + high))
            tile.labels.append(CELL_TYPES[cell - 1])
    return tile


def _top_share(field: Field, share: float, soft: float) -> Field:
    """Mask the highest `share` of a field: 1 there, 0 elsewhere, with soft edges."""
    threshold = np.quantile(field, 1 - share) if share else field.max() + soft
    return ramp(field, threshold - soft, threshold + soft)


# A drawn nucleus: its cell type's number, x and y of its centre, and the part of the tile that it may touch.
_Nucleus = tuple[int, float, float, tuple[slice, slice]]


def _nuclei(
    rng: Random, home: NDArray[np.intp], across: Field, scale: float
) -> tuple[Field, NDArray[np.uint16], list[_Nucleus]]:
    """Draw nuclei at random places wherever there is room (dart throwing).

    A nucleus is a wobbly ellipse: a membrane darker than the inside, grains of chromatin, sometimes a nucleolus. Some
    lie above or below the plane of focus and are paler, with soft edges. Fibroblasts lie along the fibres.

    Args:
        rng: decides everything.
        home: number of the cell type that lives at each pixel; -1 where it is stroma.
        across: coordinate across the fibres.
        scale: magnification.

    Returns:
        Haematoxylin, 0 outside nuclei; the number of the nucleus at each pixel, from 1, with later ones on top; and the
        nuclei.
    """
    height, width = home.shape
    down, right = np.gradient(blur(across, 3.0))
    direction, chromatin = np.arctan2(-right, down), noise(rng, home.shape, 4.5, 2, 0.9)
    stain, ids = np.zeros(home.shape, np.float32), np.zeros(home.shape, np.uint16)
    nuclei: list[_Nucleus] = []
    discs = np.empty((int(height * width / 90 / scale**2), 3))  # x, y and radius of the nuclei
    for x, y, luck in rng.random(discs.shape) * (width, height, 1):
        cell_type, stroma = home[int(y), int(x)], home[int(y), int(x)] < 0
        if stroma:
            cell_type = _LYMPHOCYTE if luck > 0.985 else _FIBROBLAST if luck > 0.89 else _NONE
        if cell_type == _NONE:
            continue
        mean, spread, low, high, dark, grain, rim, nucleoli, spacing = _CELLS[CELL_TYPES[cell_type - 1]]
        near = discs[: len(nuclei)]
        size, shape, lean, pale, focus = rng.standard_normal(5)
        radius = np.float32(mean * scale * min(max(1 + spread * size, 0.55), 1.6))
        # The room that a nucleus needs is that of its mean radius: long ones may lie side by side.
        if np.any(np.hypot(near[:, 0] - x, near[:, 1] - y) < spacing * (near[:, 2] + radius)):
            continue
        stretch = (low + (high - low) / (1 + np.exp(-1.3 * shape))) ** 0.5
        angle = direction[int(y), int(x)] + (0.2 if stroma else 1.5) * lean
        window, u, v = stamp(home.shape, x, y, radius * stretch, radius / stretch, angle)
        discs[len(nuclei)] = x, y, radius
        nuclei.append((int(cell_type), x, y, window))
        rho, phi = cv2.cartToPolar(u, v)
        waves = zip((2, 3, 5), 0.045 * rng.standard_normal(3), 6.3 * rng.random(3), strict=True)
        outline = 1 + sum(np.float32(far) * np.cos(wave * phi + np.float32(at)) for wave, far, at in waves)
        depth_px, unfocused = (outline - rho) * radius, max(focus - 0.9, 0.0)
        cover = ramp(depth_px, -0.9 - 1.6 * unfocused, 0.9 + 1.6 * unfocused)
        inner = grain * chromatin[window] + rim * np.exp(-np.square((depth_px - 0.8) / 1.1))
        for _ in range(rng.poisson(nucleoli)):
            away = np.hypot(u - rng.uniform(-0.4, 0.4), v - rng.uniform(-0.4, 0.4)) * radius
            inner += 0.75 * np.exp(-np.square(away / 1.7))
        dark *= min(max(1 + 0.16 * pale - 0.25 * unfocused, 0.4), 1.35)
        value = np.float32(dark) * cover * np.clip(1 + inner / (1 + 2 * unfocused), 0.25, 2.2)
        stain[window] = np.maximum(stain[window], value) + 0.3 * np.minimum(stain[window], value)
        ids[window][cover > 0.5] = len(nuclei)
    return stain, ids, nuclei


def _ground(
    rng: Random, nest: Field, crowd: Field, bundles: Field, fibrils: Field, nuclei: list[_Nucleus]
) -> tuple[Field, Field]:
    """Eosin everywhere, and the pale haematoxylin of cytoplasm."""
    size: Size = nest.shape[0], nest.shape[1]
    grains = noise(rng, size, 5.0, 2, 0.8)
    collagen = 0.35 + 0.09 * bundles + 0.075 * fibrils + 0.03 * grains + 0.09 * noise(rng, size, 70, 3)
    collagen += 0.1 * ramp(fibrils, 0.8, 2.0) - 0.22 * ramp(bundles + 0.5 * fibrils, -1.0, -2.0)  # edges and slits
    # Every cell owns the ground nearest to its nucleus; membranes run where owners meet.
    free = np.full(size, 255, np.uint8)
    free[0, 0] = 0  # an owner even where there are no nuclei
    for _, x, y, _ in nuclei:
        free[int(y), int(x)] = 0
    _, owner = cv2.distanceTransformWithLabels(free, cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL)
    shade = blur(rng.standard_normal(int(owner.max()) + 1).astype(np.float32)[owner], 1.2)
    wall = cv2.morphologyEx(owner.astype(np.float32), cv2.MORPH_GRADIENT, np.ones((2, 2), np.uint8)) > 0
    cytoplasm = 0.27 + 0.05 * shade + 0.045 * grains + 0.13 * blur(wall.astype(np.float32), 0.8)
    cytoplasm -= 0.22 * ramp(noise(rng, size, 9.0, 2), 1.2, 2.2)  # bubbles
    between = 0.26 + 0.04 * grains + 0.06 * bundles + 0.04 * fibrils
    eosin = collagen * (1 - nest) * (1 - crowd) + cytoplasm * nest + between * crowd
    haze = 0.105 * nest * (1 + 0.22 * grains + 0.25 * shade) + 0.06 * crowd + 0.012
    return np.maximum(eosin, 0.04), np.maximum(haze, 0)


def _expose(rng: Random, haematoxylin: Field, eosin: Field, laboratory: Laboratory) -> NDArray[np.uint8]:
    """Turn concentrations into a photograph: Beer–Lambert law, blur, photon noise."""
    thickness = 1 + 0.06 * noise(rng, (eosin.shape[0], eosin.shape[1]), 180)
    stains = np.array([laboratory.haematoxylin, laboratory.eosin]) * (1 + 0.07 * rng.standard_normal((2, 1)))
    density = cv2.transform(np.dstack([haematoxylin, eosin]) * thickness[..., None], stains.T) + np.float32(0.012)
    light = blur(cv2.exp(density * np.float32(-np.log(10))), laboratory.blur_px) * np.array(
        laboratory.white, np.float32
    )
    # Photon noise grows with the square root of the light.
    shot = rng.standard_normal(light.shape, dtype=np.float32) * np.float32(laboratory.noise / 128**0.5)
    return np.clip(np.rint(light + shot * np.sqrt(np.maximum(light, 1))), 0, 255).astype(np.uint8)
