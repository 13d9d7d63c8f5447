"""Whether the images of pairs show the same: one that is shifted, or of another scene, is named.

The large image is reduced to the small one's size, and both to what lies between fine detail and broad shading: noise,
compression and the kind of reduction change the first, exposure and fading the second. Correlation of what is between
tells true pairs, also much degraded ones, from others. Images with nothing between (a clear sky) are not judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.run.grid import cells
from augrecipes.errors import DataError
from augrecipes.machine import cores
from augrecipes.progress import Progress
from augrecipes.sources.defects import Defect
from augrecipes.sources.files import read_image

_FINE, _BROAD = 1.0, 8.0  # px: standard deviations of the blurs whose difference is looked at
_FAINT = 1.2  # levels: less than this between fine and broad is no evidence
_SAME = 0.35  # correlation below which two images are not taken for one scene
_SURE = 0.6  # correlation from which on a shift explains an image
_FARTHEST = 12  # px: shifts that are looked for
_BETTER = 0.85  # a shift must leave at most this much of what is unexplained without it


def compare_scenes(
    targets: Sequence[str],
    scenes: Sequence[tuple[str, ...]],
    units: Mapping[str, int],
    *,
    advance: Progress | None = None,
) -> list[Defect]:
    """Compare each smaller target of each scene with the largest one, reduced to its size.

    Args:
        targets: names, the largest scale first.
        scenes: the paths of each scene; their sizes fit the scales.
        units: pixels of every target in one common cell.
        advance: called with how many scenes are done, and of how many.

    Returns:
        What does not show the same, in the order of the scenes.
    """
    found: list[Defect] = []
    with ThreadPoolExecutor(min(8, cores())) as pool:
        for done, defects in enumerate(pool.map(lambda paths: _compare(targets, paths, units), scenes), 1):
            found += defects
            if advance is not None:
                advance(done, len(scenes))
    return found


def _compare(targets: Sequence[str], paths: tuple[str, ...], units: Mapping[str, int]) -> list[Defect]:
    images: dict[str, Any] = {}
    for name, path in zip(targets, paths, strict=True):
        try:
            images[name] = read_image(path)
        except DataError as error:
            return [Defect("unreadable", paths, str(error))]
    rows, columns = cells({name: image.shape[:2] for name, image in images.items()}, units)
    cut = [image[: rows * units[name], : columns * units[name]] for name, image in images.items()]
    wrong = {path: compare(cut[0], small) for path, small in zip(paths[1:], cut[1:], strict=True)}
    return [Defect("content", (paths[0], path), f"{paths[0]} and {path}: {why}") for path, why in wrong.items() if why]


def compare(large: NDArray[np.uint8], small: NDArray[np.uint8]) -> str | None:
    """What is wrong with two images of one scene, uint8 H×W×C, in words; None where they look alike.

    >>> scene = cv2.GaussianBlur(np.random.default_rng(0).integers(0, 256, (256, 256, 3), np.uint8), (0, 0), 6)
    >>> scene = cv2.normalize(scene, None, 0, 255, cv2.NORM_MINMAX)
    >>> lr = cv2.resize(scene, (64, 64), interpolation=cv2.INTER_AREA)
    >>> compare(scene, lr), compare(scene, np.roll(lr, 1, axis=1))
    (None, 'shifted by 1 px to the right')
    """
    height, width = small.shape[:2]
    a, b = _between(cv2.resize(large, (width, height), interpolation=cv2.INTER_AREA)), _between(small)
    spread = float(a.std()), float(b.std())
    if min(spread) < _FAINT:
        return None
    here = float((a * b).mean()) / (spread[0] * spread[1])
    reach = min(_FARTHEST, height // 4, width // 4)
    if reach:
        scores = cv2.matchTemplate(a, b[reach:-reach, reach:-reach].copy(), cv2.TM_CCOEFF_NORMED)
        y, x = divmod(int(np.argmax(scores)), scores.shape[1])
        there = float(scores[y, x])
        moves = ((reach - x, "to the right", "to the left"), (reach - y, "down", "up"))
        moved = " and ".join(f"{abs(n)} px {way if n > 0 else back}" for n, way, back in moves if n)
        if moved and there >= _SURE and 1 - there < _BETTER * (1 - here):
            return f"shifted by {moved}"
    # Noise in the small image spreads it, and hides as much of what it shares with a faint large one.
    if here >= _SAME * min(1.0, spread[0] / spread[1]):
        return None
    return f"they do not look like one scene (correlation {here:.2f})"


def _between(image: Any) -> NDArray[np.float32]:
    """What lies between fine detail and broad shading, mean 0."""
    grey = image.reshape(*image.shape[:2], -1)[..., :3].mean(-1, dtype=np.float32)
    band = cv2.GaussianBlur(grey, (0, 0), _FINE) - cv2.GaussianBlur(grey, (0, 0), _BROAD)
    return np.asarray(band - band.mean(), np.float32)
