"""Where the pixels of an output come from: maps, as coordinate ramps show them when they are sent through a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.sample import Sample
from augrecipes.verify.probe import Leg, Probe
from augrecipes.verify.ramps import F32, MARK, PLANES, ramps, unit

_MARK_ROUNDING = 2e-6
_FEW, _MOST = 5, 95  # percentiles that stand for the least and the most
_ACROSS = 64  # pixels along a side at which slopes are sampled, at most


@dataclass(frozen=True, slots=True)
class Map:
    """Where each pixel of an output comes from.

    Attributes:
        x: float32 H×W, px of the source from its first pixel's centre.
        y: the same.
        shown: bool H×W, the picture is seen there, and nothing of what lies beyond it.
        height: of the source, px.
        width: of the source, px.
        grids: of the steps that made it, each as its own map, in order: [] where nothing was resampled.
    """

    x: F32
    y: F32
    shown: NDArray[np.bool_]
    height: int
    width: int
    grids: tuple[Map, ...] = ()

    def slopes(self) -> tuple[F32, F32, F32, F32]:
        """Of x along columns and rows, and of y: source px per output px."""
        xv, xu = _gradient(self.x)
        yv, yu = _gradient(self.y)
        return xu, xv, yu, yv

    def scale(self) -> float:
        """Source px per output px: the middle one over what is shown; 1 where nothing is."""
        found = np.sqrt(np.sum(self.sampled_slopes() ** 2, axis=0) / 2)
        return float(np.median(found)) if found.size else 1.0

    def scales(self) -> tuple[float, float]:
        """The least and the most source px per output px, over what is shown, whatever the direction; 1 for nothing."""
        xu, xv, yu, yv = self.sampled_slopes()
        if not xu.size:
            return 1.0, 1.0
        squares, area = xu**2 + xv**2 + yu**2 + yv**2, np.abs(xu * yv - xv * yu)
        most = np.sqrt((squares + np.sqrt(np.maximum(squares**2 - 4 * area**2, 0))) / 2)
        least = area / np.maximum(most, 1e-9)
        return max(float(np.percentile(least, _FEW)), 1e-3), float(np.percentile(most, _MOST))

    def sampled_slopes(self) -> NDArray[np.float64]:
        """The slopes at some thousand of the pixels that show the picture, 4×n."""
        height, width = self.x.shape
        if min(height, width) < 3:
            return np.stack([slope[self.shown] for slope in self.slopes()]).astype(np.float64)
        rows, columns = (np.arange(1, n - 1, 1 + n // _ACROSS) for n in (height, width))
        neighbours = {
            (dy, dx): np.ix_(rows + dy, columns + dx) for dy, dx in ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))
        }
        found = np.empty((4, len(rows), len(columns)))
        for k, values in enumerate((self.x, self.y)):
            found[2 * k] = (values[neighbours[0, 1]] - values[neighbours[0, -1]]) / 2
            found[2 * k + 1] = (values[neighbours[1, 0]] - values[neighbours[-1, 0]]) / 2
        return found[:, np.logical_and.reduce([self.shown[at] for at in neighbours.values()])]

    def coarsest(self) -> float:
        """Source px per px of the coarsest grid that it has passed, its own included."""
        return max(grid.scales()[1] for grid in (*self.grids, self))

    def spread(self) -> float:
        """How many px of the source the steps that made it blend into one, to one side: one of each grid they read."""
        return 1.0 + sum(grid.scales()[1] for grid in self.grids[:-1])

    def smear(self) -> int:
        """The same in px of the output, and one more."""
        return 1 + int(np.ceil(max(1.0, self.spread() / self.scales()[0])))

    def inside(self, margin: float) -> NDArray[np.bool_]:
        """Where the picture is shown, and not the last `margin` px before its edge, where borders begin."""
        x_ok = (self.x >= margin) & (self.x <= self.width - 1 - margin)
        y_ok = (self.y >= margin) & (self.y <= self.height - 1 - margin)
        return self.shown & x_ok & y_ok


def legs_of(probe: Probe, given: Sample, epoch: int, origins: dict[str, str]) -> list[tuple[Leg, dict[str, Map]]]:
    """Send ramps through a pipeline: its legs, and of each the maps by target.

    Args:
        probe: of the pipeline.
        given: the sample.
        epoch: of its draws.
        origins: from the target that comes out to the one that it is made of.
    """
    channels = min(image.shape[2] for image in given.images.values())
    runs = []
    for start in range(0, PLANES, channels):

        def picture(leg: int, name: str, shape: tuple[int, int, int], start: int = start) -> F32:
            made = ramps(*shape[:2])
            return np.stack([made[min(start + c, PLANES - 1)] for c in range(shape[2])], axis=-1)

        runs.append(probe.run(given, epoch, picture))
    return [(parts[0], _maps(parts, origins)) for parts in zip(*runs, strict=True)]


def _maps(parts: tuple[Leg, ...], origins: dict[str, str]) -> dict[str, Map]:
    """Of one leg, whose planes came in several runs."""
    first = parts[0]
    found = {}
    for name in first.images:
        shape = first.shapes[origins.get(name, name)]
        count = min(shape[2] for shape in first.shapes.values())
        passed = zip(*(leg.passed for leg in parts), strict=True) if len(first.shapes) == 1 else ()
        grids = tuple(map_from(_planes(images, count), shape[:2]) for images in passed)
        whole = map_from(_planes([leg.images[name] for leg in parts], count), shape[:2])
        found[name] = replace(whole, grids=grids)
    return found


def map_from(planes: Sequence[F32], size: tuple[int, int]) -> Map:
    """The map that three planes show, which were `ramps` of `size` before."""
    x, y, mark = planes
    px = unit(*size)
    return Map(x * px, y * px, np.abs(mark - MARK) < _MARK_ROUNDING, *size)


def _planes(images: Sequence[NDArray[Any]], channels: int) -> list[F32]:
    return [image[..., c] for image in images for c in range(channels)][:PLANES]


def _gradient(values: F32) -> tuple[F32, F32]:
    """Along rows and along columns; 0 along an axis of one px."""
    return _slope(values, 0), _slope(values, 1)


def _slope(values: F32, axis: int) -> F32:
    if values.shape[axis] < 2:
        return np.zeros_like(values)
    return np.asarray(np.gradient(values, axis=axis), np.float32)
