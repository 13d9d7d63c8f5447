"""Estimate stains from images of tissue: colours and amounts of two stains, or mean and spread of the colour."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import cv2
import numpy as np

Method = Literal["macenko", "vahadane", "reinhard"]
# The level of light through glass, and the least optical density of tissue, ln(BACKGROUND / (I + 1)) in every channel,
# as in the common implementations (Veta's MATLAB code of Macenko's method, and torchstain).
BACKGROUND, _LEAST_DENSITY = 240.0, 0.15
_TISSUE_LEVEL = int(BACKGROUND * np.exp(-_LEAST_DENSITY) - 1)  # the largest level of the darkest channel of tissue
# The density of each level in 1,024ths: integers, so that native/stain.c gets the same sums.
DENSITIES = np.rint(1024 * np.log(BACKGROUND / (np.arange(256) + 1.0))).astype(np.int32)
_MOST_PIXELS, _FACTORED_PIXELS, _ASKED_PIXELS, _FEWEST_PIXELS = 1 << 16, 1 << 13, 1 << 12, 32
_LEAST_CHROMA = 0.1  # least spread of the mean density over channels, relative to it; grey has less
_LEAST_ANGLE = 0.07  # radians (4 degrees): stains closer than this cannot be separated
_LEAST_SPREAD = 8  # least ratio of density's variance along its main axis to noise: one colour has up to 4, tissue 17
_SPARSITY, _MOST_ROUNDS, _SETTLED = 0.02, 500, 1e-7  # Vahadane's factorisation: sparsity, most rounds, tolerance
_DIGITS = 10  # beyond these, processors and versions of LAPACK differ


@dataclass(frozen=True, slots=True)
class StainEstimate:
    """The estimated stains of some images.

    Attributes:
        numbers: for `macenko` and `vahadane` eight: the optical densities of haematoxylin and of eosin in R, G and B,
            each of length 1; then the 99th percentile of the amount of each. For `reinhard` six: means and standard
            deviations of L, a and b. JSON keeps them exactly.

    >>> StainEstimate((0.6, 0.8, 0.0, 0.0, 1.0, 0.0, 1.5, 1.0)).most.tolist()
    [1.5, 1.0]
    """

    numbers: tuple[float, ...]

    @property
    def stains(self) -> np.ndarray:
        """The optical densities of the two stains, 2×3, haematoxylin first."""
        return np.reshape(self.numbers[:6], (2, 3))

    @property
    def most(self) -> np.ndarray:
        """The 99th percentile of the two amounts."""
        return np.array(self.numbers[6:])


def estimate_stains(images: Iterable[np.ndarray], method: Method) -> StainEstimate | None:
    """Estimate the stains of images together; None where there is no tissue, or its stains cannot be separated.

    At most 65,536 pixels are taken evenly from all images and sorted, so that neither order nor threads change a bit.
    Pixels that absorb in some channel (an optical density of at least 0.15) are tissue, so that the share of glass does
    not matter. Macenko uses the pixels that absorb in every channel.

    Args:
        images: RGB images H×W×3, uint8 (0..255) or float32 (0..1); others are skipped.
        method: `macenko`: the outermost 1 % of angles in the plane of the two main directions of density (Macenko et
            al., "A method for normalizing histology slides for quantitative analysis", ISBI 2009); `vahadane`: sparse
            non-negative factorisation of density (Vahadane et al., "Structure-Preserving Color Normalization and Sparse
            Stain Separation for Histological Images", IEEE TMI 35(8), 2016), which begins at Macenko's stains;
            `reinhard`: mean and standard deviation in CIE Lab (Reinhard et al., "Color Transfer between Images", IEEE
            CG&A 21(5), 2001).

    >>> estimate_stains([np.full((8, 8, 3), 255, np.uint8)], "macenko") is None
    True
    """
    levels = tissue_of(sample_pixels(images))
    density = np.log(BACKGROUND / (levels + 1.0))
    mean = density.mean(axis=0) if len(density) >= _FEWEST_PIXELS else np.zeros(3)
    if np.ptp(mean) <= _LEAST_CHROMA * mean.mean():
        return None
    if method == "reinhard":
        lab = cv2.cvtColor(levels[None].astype(np.float32) / np.float32(255), cv2.COLOR_RGB2LAB)[0].astype(np.float64)
        first, second = lab.mean(axis=0), lab.std(axis=0)
    else:
        first = _macenko(density[(density >= _LEAST_DENSITY).all(axis=1)], mean)
        if method == "vahadane" and _are_distinct(first):
            first = _vahadane(density[:: -(-len(density) // _FACTORED_PIXELS)], first)
        if not _are_distinct(first):
            return None
        first = first[np.argsort(-first[:, 0])]  # haematoxylin absorbs more red
        second = np.percentile(density @ np.linalg.pinv(first), 99, axis=0)
    if (second <= 0).any():
        return None
    return StainEstimate(tuple(np.round(np.concatenate([first.ravel(), second]), _DIGITS).tolist()))


def estimates_of(images: Sequence[np.ndarray], methods: Iterable[Method]) -> dict[str, StainEstimate | None] | None:
    """The estimates of images together by each method, for the argument `stains` of a call; None without methods."""
    return {method: estimate_stains(images, method) for method in methods} or None


def stains_of(data: Mapping[str, Any], method: Method, source_method: Method | None) -> StainEstimate | None:
    """The stains of a call's slide or bag by `source_method`, if the call has them; else those of its own images."""
    if source_method in (known := data.get("stains") or {}):
        return cast("StainEstimate | None", known[source_method])
    return estimate_stains([data["image"]] if "image" in data else data["images"], method)


def sample_pixels(images: Iterable[np.ndarray]) -> np.ndarray:
    """Pixels of all RGB images, taken evenly and sorted, uint8 (n, 3)."""
    pixels = [image.reshape(-1, 3) for image in images if image.ndim == 3 and image.shape[2] == 3]
    step = -(-sum(map(len, pixels)) // _MOST_PIXELS) | 1  # odd, so that it does not follow columns
    levels = np.concatenate([_levels(part[::step]) for part in pixels]) if pixels else np.empty((0, 3), np.uint8)
    codes = np.sort(levels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32))
    return np.column_stack([codes >> 16, codes >> 8 & 255, codes & 255]).astype(np.uint8)


def has_tissue(image: np.ndarray) -> bool:
    """Whether at least a thousandth of an image H×W×3 absorbs in some channel, and that is not grey on the whole."""
    pixels = image.reshape(-1, 3)
    levels = _levels(pixels[:: -(-len(pixels) // _ASKED_PIXELS) | 1])
    sums = DENSITIES[tissue := tissue_of(levels)].sum(axis=0)
    return bool(1000 * len(tissue) >= len(levels) and 30 * np.ptp(sums) > sums.sum())


def tissue_of(levels: np.ndarray) -> np.ndarray:
    """The pixels, uint8 (n, 3), that absorb in some channel."""
    return levels[(levels <= _TISSUE_LEVEL).any(axis=1)]


def _levels(pixels: np.ndarray) -> np.ndarray:
    if pixels.dtype == np.uint8:
        return pixels
    return np.rint(np.nan_to_num(pixels).clip(0, 1) * 255).astype(np.uint8)


def _macenko(density: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """The two outermost directions of densities, 2×3; 0 where these are few, or noise around one colour."""
    if len(density) < _FEWEST_PIXELS:
        return np.zeros((2, 3))
    spread, axes = np.linalg.eigh(np.cov(density.T))
    if spread[2] < _LEAST_SPREAD * spread[0]:
        return np.zeros((2, 3))
    plane = axes[:, 1:] * np.where(mean @ axes[:, 1:] < 0, -1, 1)  # keeps angles away from the seam at ±180 degrees
    on_plane = density @ plane
    angles = np.percentile(np.arctan2(on_plane[:, 1], on_plane[:, 0]), (1, 99))
    return _unit(np.column_stack([np.cos(angles), np.sin(angles)]) @ plane.T)


def _vahadane(density: np.ndarray, stains: np.ndarray) -> np.ndarray:
    """Stains S, 2×3, that minimise |density − C·S|² / 2 + sparsity · |C| over amounts and stains of at least 0.

    The amounts for two unit stains are a lasso with a closed form; the stains are updated one by one (HALS).
    """
    for _ in range(_MOST_ROUNDS):
        before, cosine = stains, float(stains[0] @ stains[1])
        first, second = (density @ stains.T - _SPARSITY).T
        amounts = np.stack([first - cosine * second, second - cosine * first]) / (1 - cosine * cosine)
        single = np.maximum([first, second], 0)
        is_single = amounts[::-1] < 0  # the other stain is absent
        amounts = np.where(amounts < 0, 0, np.where(is_single, single, amounts))
        mixed, gram = amounts @ density, amounts @ amounts.T
        stains = stains.copy()
        for k in range(2):
            stains[k] = _unit(mixed[k] - gram[k, 1 - k] * stains[1 - k])
        if not _are_distinct(stains) or np.abs(stains - before).max() < _SETTLED:
            break
    return stains


def _unit(directions: np.ndarray) -> np.ndarray:
    """Directions clipped to absorbance and scaled to length 1; 0 where they do not absorb."""
    directions = np.maximum(directions, 0)
    length = np.linalg.norm(directions, axis=-1, keepdims=True)
    return np.divide(directions, length, out=np.zeros_like(directions), where=length > 0)


def _are_distinct(stains: np.ndarray) -> bool:
    """Whether two unit stains are far enough apart to be separated."""
    return bool(np.linalg.det(stains @ stains.T) > np.sin(_LEAST_ANGLE) ** 2)
