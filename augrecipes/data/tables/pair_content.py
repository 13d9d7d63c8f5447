"""Whether the two images of a pair show the same: shifted, turned, swapped with another pair's, or another scene.

The larger image is reduced to the smaller one's size, and both are reduced to what lies between fine detail and broad
shading: noise, compression, blur and the kind of reduction change the first, exposure and fading the second, and a
true pair keeps what is between. Correlation of that tells true pairs (0.6 and more, also when the small image is much
degraded) from other scenes (about 0). Images with nothing between, such as a clear sky, are not judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.float32]

THUMB = 48  # px of the square in which scenes are compared with each other
_FINE, _BROAD = 1.0, 8.0  # px: standard deviations of the blurs whose difference is looked at
_FAINT = 1.2  # levels: less than this between fine and broad is no evidence
_STRONG = 12.0  # levels: more than this is content, and not the noise of a camera
_SAME = 0.35  # correlation below which two images are not taken for one scene
_SURE = 0.6  # correlation from which on another place, turn or scene explains an image
_FARTHEST = 12  # px: shifts that are looked for
_BETTER = 0.85  # a shift must leave at most this much of what is unexplained without it
_LEVELS = 18.0  # a difference of means that is reported
_TURNS = {
    "mirrored left to right": (False, False, True),
    "upside down (mirrored)": (False, True, False),
    "turned by 180°": (False, True, True),
    "transposed": (True, False, False),
    "turned by 90° clockwise": (True, False, True),
    "turned by 90° counter-clockwise": (True, True, False),
    "transposed the other way": (True, True, True),
}


@dataclass(frozen=True, slots=True)
class Looks:
    """What is kept of one pair of images.

    Attributes:
        problem: what is wrong, in words; None where they look alike, or cannot be judged.
        other: whether the images seem to be of different scenes.
        correlation: of the two, where they lie on each other; 1 for images that cannot be judged.
        large: thumbnail of the large image, THUMB² values, mean 0 and length 1; zeros for one that is too smooth.
        small: the same of the small one.
    """

    problem: str | None
    other: bool
    correlation: float
    large: Image
    small: Image


def compare(large: NDArray[np.uint8], small: NDArray[np.uint8]) -> Looks:
    """Compare two images of one scene; the large one is already cut to a whole number of common cells.

    Args:
        large: uint8 H×W×C.
        small: uint8 h×w×C, of no more pixels.

    >>> scene = cv2.GaussianBlur(np.random.default_rng(0).integers(0, 256, (256, 256, 3), np.uint8), (0, 0), 6)
    >>> scene = cv2.normalize(scene, None, 0, 255, cv2.NORM_MINMAX)
    >>> lr = cv2.resize(scene, (64, 64), interpolation=cv2.INTER_AREA)
    >>> compare(scene, lr).problem is None
    True
    >>> compare(scene, np.roll(lr, 1, axis=1)).problem
    'shifted by 1 px to the right'
    """
    height, width = small.shape[:2]
    area: Any = cv2.resize(large, (width, height), interpolation=cv2.INTER_AREA)
    reduced = area.reshape(height, width, -1)
    a, b = _grey(reduced), _grey(small)
    fine_a, fine_b = _between(a), _between(b)
    thumbs = _thumb(a), _thumb(b)
    spread_a, spread_b = float(fine_a.std()), float(fine_b.std())
    if min(spread_a, spread_b) < _FAINT:
        blank = "one of them shows next to nothing" if max(spread_a, spread_b) > _STRONG else None
        return Looks(blank or _brightness(a, b), False, 1.0, *thumbs)
    here = _correlation(fine_a, fine_b)
    there, moved = max(_best_shift(fine_a, fine_b), _best_turn(fine_a, fine_b))
    if moved and there >= _SURE and 1 - there < _BETTER * (1 - here):
        return Looks(moved, False, here, *thumbs)
    # Noise in the small image spreads it, and hides as much of what it shares with a faint large one.
    if here >= _SAME * min(1.0, spread_a / spread_b):
        return Looks(_colours(reduced, small) or _brightness(a, b), False, here, *thumbs)
    if here <= -_SURE:
        return Looks("one is the negative of the other", False, here, *thumbs)
    return Looks(f"they do not look like one scene (correlation {here:.2f})", True, here, *thumbs)


def nearest(thumb: Image, thumbs: NDArray[np.float32]) -> tuple[int, float]:
    """The most similar of n thumbnails (n, THUMB²), and its correlation."""
    scores = thumbs @ thumb
    best = int(np.argmax(scores))
    return best, float(scores[best])


def surely(correlation: float) -> bool:
    """Whether two thumbnails of this correlation show one scene."""
    return correlation >= _SURE


def _grey(image: NDArray[np.uint8]) -> Image:
    if image.shape[2] == 1:
        return image[:, :, 0].astype(np.float32)
    return np.asarray(cv2.cvtColor(np.ascontiguousarray(image[:, :, :3]), cv2.COLOR_RGB2GRAY), np.float32)


def _between(grey: Image) -> Image:
    """What lies between fine detail and broad shading, mean 0."""
    band = cv2.GaussianBlur(grey, (0, 0), _FINE) - cv2.GaussianBlur(grey, (0, 0), _BROAD)
    return np.asarray(band - band.mean(), np.float32)


def _thumb(grey: Image) -> Image:
    """A square thumbnail without broad shading, as a vector of mean 0 and length 1."""
    square = cv2.resize(grey, (THUMB, THUMB), interpolation=cv2.INTER_AREA)
    band = square - cv2.GaussianBlur(square, (0, 0), THUMB / 6)
    band = (band - band.mean()).ravel()
    length = float(np.linalg.norm(band))
    flat = length < _FAINT * THUMB
    return np.zeros(THUMB * THUMB, np.float32) if flat else np.asarray(band / length, np.float32)


def _correlation(a: Image, b: Image) -> float:
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / scale if scale else 0.0


def _best_shift(a: Image, b: Image) -> tuple[float, str]:
    """The highest correlation with `b` moved back by a whole number of pixels, and in words how it was moved."""
    reach = min(_FARTHEST, a.shape[0] // 4, a.shape[1] // 4)
    if reach < 1:
        return 0.0, ""
    inner = np.ascontiguousarray(b[reach:-reach, reach:-reach])
    scores = cv2.matchTemplate(a, inner, cv2.TM_CCOEFF_NORMED)
    y, x = np.unravel_index(int(np.argmax(scores)), scores.shape)
    # The middle of `b` is found in `a` at (y, x); at (reach, reach) if nothing has moved.
    dy, dx = reach - int(y), reach - int(x)
    return float(scores[y, x]), _shifted(dy, dx) if dy or dx else ""


def _shifted(dy: int, dx: int) -> str:
    parts = [
        f"{abs(n)} px {way}"
        for n, way in ((dx, "to the right" if dx > 0 else "to the left"), (dy, "down" if dy > 0 else "up"))
        if n
    ]
    return f"shifted by {' and '.join(parts)}"


def _best_turn(a: Image, b: Image) -> tuple[float, str]:
    """The highest correlation with `b` flipped or turned, and in words how it was."""
    found = (0.0, "")
    for name, (transpose, flip_y, flip_x) in _TURNS.items():
        if transpose and a.shape[0] != a.shape[1]:
            continue
        view = a.T if transpose else a
        view = view[:: -1 if flip_y else 1, :: -1 if flip_x else 1]
        found = max(found, (_correlation(view, b), name))
    return found


def _brightness(a: Image, b: Image) -> str | None:
    before, after = float(a.mean()), float(b.mean())
    if abs(before - after) < _LEVELS:
        return None
    return f"brightness differs: {before:.0f} in the large image and {after:.0f} in the small one, of 255"


def _colours(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> str | None:
    """Whether red and blue are exchanged."""
    if a.shape[2] < 3 or b.shape[2] < 3:
        return None
    x, y = (_small(image) for image in (a, b))
    straight, crossed = (float(np.abs(x - other).mean()) for other in (y, y[..., ::-1]))
    return "red and blue look exchanged" if straight > 8 and crossed < 0.4 * straight else None


def _small(image: NDArray[np.uint8]) -> Any:
    return cv2.resize(image[:, :, :3], (16, 16), interpolation=cv2.INTER_AREA).astype(np.float32)
