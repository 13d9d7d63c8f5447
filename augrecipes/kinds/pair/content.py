"""Whether two images of a pair show the same, at the same places: one normalised cross-correlation.

It is taken of what lies between fine detail and broad shading, once the large image is reduced to the small one's size:
noise, compression and the kind of reduction change the first, exposure and fading the second.

Not found: displacements of less than a pixel of the small image, turned and exchanged colours. Images with nothing
between (a clear sky) are not judged.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

_FINE, _BROAD = 1.0, 8.0  # px: standard deviations of the blurs whose difference is looked at
_FAINT = 1.2  # levels: less than this between fine and broad is no evidence
_SAME = 0.35  # correlation below which two images are not taken for one scene
_SURE, _MARGIN = 0.6, 0.05  # correlation from which on a shift is believed, and by which it exceeds that in place
_FARTHEST = 12  # px: shifts that are tried


def compare(large: NDArray[np.uint8], small: NDArray[np.uint8]) -> str | None:
    """What is wrong with two images of one scene, uint8 H×W×C, in words.

    Returns:
        None where they look alike, nothing ("") where there is too little to see.

    >>> scene = cv2.GaussianBlur(np.random.default_rng(0).integers(0, 256, (256, 256, 3), np.uint8), (0, 0), 6)
    >>> scene = cv2.normalize(scene, None, 0, 255, cv2.NORM_MINMAX)
    >>> lr = cv2.resize(scene, (64, 64), interpolation=cv2.INTER_AREA)
    >>> compare(scene, lr), compare(scene, np.roll(lr, 1, axis=1))
    (None, 'shifted by 1 px to the right')
    """
    height, width = small.shape[:2]
    a, b = _band(np.asarray(cv2.resize(large, (width, height), interpolation=cv2.INTER_AREA))), _band(small)
    spread = float(a.std()), float(b.std())
    if min(spread) < _FAINT:
        return ""
    here = float((a * b).mean()) / (spread[0] * spread[1])
    if reach := min(_FARTHEST, height // 4, width // 4):
        scores = cv2.matchTemplate(a, b[reach:-reach, reach:-reach].copy(), cv2.TM_CCOEFF_NORMED)
        y, x = divmod(int(np.argmax(scores)), scores.shape[1])
        if scores[y, x] >= max(_SURE, scores[reach, reach] + _MARGIN):
            return f"shifted by {_in_words(reach - x, reach - y)}"
    # Noise in the small image spreads it, and hides as much of what it shares with a faint large one.
    if here < _SAME * min(1.0, spread[0] / spread[1]):
        return f"they do not look like one scene (correlation {here:.2f})"
    return None


def _band(image: NDArray[Any]) -> NDArray[np.float32]:
    """What lies between fine detail and broad shading, mean 0: a difference of Gaussians."""
    grey = image.mean(axis=2, dtype=np.float32)
    band = cv2.GaussianBlur(grey, (0, 0), _FINE) - cv2.GaussianBlur(grey, (0, 0), _BROAD)
    return np.asarray(band - band.mean(), np.float32)


def _in_words(x: int, y: int) -> str:
    ways = (x, "to the right" if x > 0 else "to the left"), (y, "down" if y > 0 else "up")
    return " and ".join(f"{abs(pixels)} px {way}" for pixels, way in ways if pixels)
