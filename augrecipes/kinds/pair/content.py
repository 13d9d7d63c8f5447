"""Whether two images of a pair show the same, at the same places, in the same colours.

It is seen at what lies between fine detail and broad shading, once the large image is reduced to the small one's size:
noise, compression and the kind of reduction change the first, exposure and fading the second. Correlation of what is
between tells true pairs, also much degraded ones, from others. Where the two lie is found to whole pixels by it, and
from there on by Gauss-Newton steps towards an affine displacement (Lucas and Kanade, 1981).

Not found: displacements of less than 0.15 px of the small image, those that are no affine map (of a lens, or of what
moves in the scene), exchanged colours of nearly grey images. Images with nothing between (a clear sky) are not judged.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

_FINE, _BROAD = 1.0, 8.0  # px: standard deviations of the blurs whose difference is looked at
_FAINT = 1.2  # levels: less than this between fine and broad, or of colour, is no evidence
_SAME = 0.35  # correlation below which two images are not taken for one scene
_SURE = 0.6  # correlation from which on a displacement is looked for
_FARTHEST = 12  # px: shifts that are looked for
_LEAST, _ERRORS = (
    0.15,
    5.5,
)  # px of a displacement, and standard errors: true pairs reach 4.8, displaced ones begin at 7
_STEPS, _MOST = 6, 1 << 17  # of Gauss and Newton, and pixels that each looks at
_TILES, _NEGLIGIBLE = 5, 1e-3  # across an image, and down
_COLOURS = "red", "green", "blue"
_EXCHANGED = 0.2  # how much more exchanged colours must correlate
Floats = NDArray[np.float32]


def compare(large: NDArray[np.uint8], small: NDArray[np.uint8]) -> str | None:
    """What is wrong with two images of one scene, uint8 H×W×C, in words.

    Returns:
        None where they look alike, nothing ("") where there is too little to see.

    >>> scene = cv2.GaussianBlur(np.random.default_rng(0).integers(0, 256, (256, 256, 3), np.uint8), (0, 0), 6)
    >>> scene = cv2.normalize(scene, None, 0, 255, cv2.NORM_MINMAX)
    >>> lr = cv2.resize(scene, (64, 64), interpolation=cv2.INTER_AREA)
    >>> compare(scene, lr), compare(scene, np.roll(lr, 1, axis=1)), compare(scene, lr[..., ::-1])
    (None, 'shifted by 1 px to the right', 'red, green, blue of the one are blue, green, red of the other')
    >>> compare(scene, scene[::4, ::4])
    'shifted by 0.35 px to the right and 0.35 px down, as [::4, ::4] takes pixels: reduce it by a filter'
    """
    height, width = small.shape[:2]
    reduced = np.asarray(cv2.resize(large, (width, height), interpolation=cv2.INTER_AREA))
    a, b = _between(reduced), _between(small)
    spread = float(a.std()), float(b.std())
    if min(spread) < _FAINT:
        return ""
    here = float((a * b).mean()) / (spread[0] * spread[1])
    if reach := min(_FARTHEST, height // 4, width // 4):
        scores = cv2.matchTemplate(a, b[reach:-reach, reach:-reach].copy(), cv2.TM_CCOEFF_NORMED)
        y, x = divmod(int(np.argmax(scores)), scores.shape[1])
        if scores[y, x] >= _SURE and (why := _displaced(a, b, (reach - x, reach - y), large.shape[0] / height)):
            return why
    # Noise in the small image spreads it, and hides as much of what it shares with a faint large one.
    if here < _SAME * min(1.0, spread[0] / spread[1]):
        return f"they do not look like one scene (correlation {here:.2f})"
    return _exchanged(_hues(reduced), _hues(small))


def _between(image: NDArray[Any]) -> Floats:
    """What lies between fine detail and broad shading, mean 0."""
    grey = image.mean(axis=2, dtype=np.float32)
    band = cv2.GaussianBlur(grey, (0, 0), _FINE) - cv2.GaussianBlur(grey, (0, 0), _BROAD)
    return np.asarray(band - band.mean(), np.float32)


def _displaced(a: Floats, b: Floats, start: tuple[int, int], scale: float) -> str:
    """Where `b` lies on `a`, in words; nothing where it lies where it should, as far as can be told.

    Args:
        a: what the large image shows.
        b: what the small one shows.
        start: how far it is shifted, about: x and y.
        scale: how much larger the large image is.
    """
    height, width = b.shape
    y, x = np.mgrid[:height, :width].astype(np.float32)
    # The displacement is ways @ (1, u, v), where u and v go from -1 to 1 across the image.
    ways, ones = np.array([[way, 0.0, 0.0] for way in start]), np.ones_like(x)
    basis = np.stack([ones, 2 * x / (width - 1) - 1, 2 * y / (height - 1) - 1], -1)
    every = max(1, round((height * width / _MOST) ** 0.5))
    for _ in range(_STEPS):
        edge = 3 + int(np.abs(ways).sum(axis=1).max())
        if 2 * edge + 6 * every >= min(height, width):
            return ""
        moved = (basis @ ways.T).astype(np.float32)
        image = cv2.remap(a, x - moved[..., 0], y - moved[..., 1], cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT_101)
        part = np.s_[edge:-edge:every, edge:-edge:every]
        image *= (image[part] * b[part]).sum() / (image[part] ** 2).sum()
        slopes = [-np.gradient(image, axis=axis)[part][..., None] * basis[part] for axis in (1, 0)]
        slope, rest = np.concatenate(slopes, -1).reshape(-1, 6), (b - image)[part].ravel()
        inverse = np.linalg.pinv(slope.T @ slope)
        ways = ways + (inverse @ (slope.T @ rest)).reshape(2, 3)
    # Standard errors as if each tile were one observation: what is unlike in a few places is no displacement.
    tile = ((basis[part][..., 1:] + 1) * (_TILES / 2 - _NEGLIGIBLE)).astype(int) @ [_TILES, 1]
    scores = np.stack([np.bincount(tile.ravel(), column * rest) for column in slope.T])
    errors = np.sqrt(np.diag(inverse @ scores @ scores.T @ inverse)).reshape(2, 3)
    sure = np.abs(ways) > _ERRORS * errors
    if (np.abs(ways[:, 1:]).sum(axis=1) >= _LEAST).any() and sure[:, 1:].any():
        first, last = (_moves(ways @ [1, side, side]) for side in (-1, 1))
        return f"it drifts, from {first} in the upper left to {last} in the lower right: cut or resized otherwise?"
    if (np.abs(ways[:, 0]) < _LEAST).all() or not sure[:, 0].any():
        return ""
    hint = f", as [::{scale:.0f}, ::{scale:.0f}] takes pixels: reduce it by a filter"
    is_taken = np.abs(ways[:, 0] - (scale - 1) / (2 * scale)).max() < _LEAST / 2
    return f"shifted by {_moves(ways[:, 0])}{hint if is_taken else ''}"


def _moves(way: NDArray[np.float64]) -> str:
    """A displacement in words, to a twentieth of a pixel."""
    x, y = np.round(way * 20) / 20
    parts = (x, "to the right" if x > 0 else "to the left"), (y, "down" if y > 0 else "up")
    found = (f"{abs(n):.3g} px {way}" for n, way in parts if abs(n) > _LEAST / 2)
    return " and ".join(found) or "0 px"


def _exchanged(a: Floats, b: Floats) -> str | None:
    """Which colours of two images seem to be exchanged, by their hues; None where none are, or it cannot be told."""
    if min(a.std(), b.std()) < _FAINT:
        return None
    scores = {order: (a[..., order] * b).mean() / (a.std() * b.std()) for order in permutations(range(3))}
    best = max(scores, key=lambda order: scores[order])
    if scores[best] < max(_SURE, scores[0, 1, 2] + _EXCHANGED):
        return None
    return f"red, green, blue of the one are {', '.join(_COLOURS[k] for k in best)} of the other"


def _hues(image: NDArray[Any]) -> Floats:
    """What of each colour differs from their mean, and from how they are on the whole."""
    found = cv2.GaussianBlur(image.astype(np.float32), (0, 0), 2 * _FINE)
    found -= found.mean(axis=2, keepdims=True)
    return np.asarray(found - found.mean(axis=(0, 1)), np.float32)
