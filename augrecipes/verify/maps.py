"""Where the pixels of an output come from: maps, as coordinate ramps show them when they are sent through a plan.

Ramps are images whose pixels say where they lie, so that what comes out says where it came from. Bilinear sampling,
averaging and cubic sampling are all exact on a ramp. They are not where it is folded at a border, or where the edge of
an image is repeated; there several resamplings blur what one leaves sharp: `certain` leaves these pixels out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.rewrite.nodes import is_single, opened
from augrecipes.compiler.run.instrument import instrument
from augrecipes.flow import Dtype
from augrecipes.ops.records import op_record
from augrecipes.sources.sample import Sample
from augrecipes.verify.variants import only_moves

F32: TypeAlias = NDArray[np.float32]

# What is beyond the image shows by this value being gone: no fill is likely to be it.
MARK = np.float32(0.3701)
_MARK_ROUNDING = 2e-6
_FEW, _MOST = 5, 95  # percentiles that stand for the least and the most
_MANY = 4096  # pixels at which slopes are sampled
_FLAT = 1e-9  # source px² per output px²


@dataclass(frozen=True)  # without slots: slopes and scales are kept
class Map:
    """Where each pixel of an output comes from.

    Attributes:
        x: float32 H×W, px of the source from its first pixel's centre.
        y: the same.
        shown: bool H×W, the image is seen there, and nothing of what lies beyond it.
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

    @cached_property
    def slopes(self) -> F32:
        """Of x along columns and rows, and of y: source px per output px, 4×H×W; 0 along an axis of one px."""
        found = np.zeros((4, *self.x.shape), np.float32)
        for k, (values, axis) in enumerate(product((self.x, self.y), (1, 0))):
            if values.shape[axis] > 1:
                found[k] = np.gradient(values, axis=axis)
        return found

    @cached_property
    def sampled_slopes(self) -> NDArray[np.float64]:
        """The slopes at some thousand of the pixels within that show the image, and whose neighbours do, 4×n."""
        seen = np.flatnonzero(shrunk(self.shown, 1)[1:-1, 1:-1])
        within = self.slopes[:, 1:-1, 1:-1].reshape(4, -1)
        return within[:, seen[:: 1 + len(seen) // _MANY]].astype(np.float64)

    @cached_property
    def scales(self) -> tuple[float, float]:
        """The least and the most source px per output px, over what is shown, whatever the direction; 1 for nothing."""
        xu, xv, yu, yv = self.sampled_slopes
        if not xu.size:
            return 1.0, 1.0
        squares, area = xu**2 + xv**2 + yu**2 + yv**2, np.abs(xu * yv - xv * yu)
        most = np.sqrt((squares + np.sqrt(np.maximum(squares**2 - 4 * area**2, 0))) / 2)
        least = area / np.maximum(most, 1e-9)
        return max(float(np.percentile(least, _FEW)), 1e-3), float(np.percentile(most, _MOST))

    def in_output(self, x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Small ways in the source, from the place of each pixel, as ways in the output; huge where it is flat."""
        xu, xv, yu, yv = self.slopes.astype(np.float64)
        area = xu * yv - xv * yu
        area = np.where(np.abs(area) < _FLAT, _FLAT, area)
        return (yv * x - xv * y) / area, (xu * y - yu * x) / area

    def coarsest(self) -> float:
        """Source px per px of the coarsest grid that it has passed, its own included."""
        return max(grid.scales[1] for grid in (*self.grids, self))

    def spread(self) -> float:
        """How many px of the source the steps that made it blend into one, to one side: one of each grid they read."""
        return 1.0 + sum(grid.scales[1] for grid in self.grids[:-1])

    def smear(self) -> int:
        """The same in px of the output, and one more; no more than there are."""
        return 1 + min(int(np.ceil(max(1.0, self.spread() / self.scales[0]))), max(self.x.shape))

    def inside(self, margin: float) -> NDArray[np.bool_]:
        """Where the image is shown, and not the last `margin` px before its edge, where borders begin."""
        x_ok = (self.x >= margin) & (self.x <= self.width - 1 - margin)
        y_ok = (self.y >= margin) & (self.y <= self.height - 1 - margin)
        return self.shown & x_ok & y_ok


def ramps(height: int, width: int) -> tuple[F32, F32, F32]:
    """Column and row of each pixel in units of `unit`, and the mark, float32 H×W each.

    >>> [plane[1, 2].item() for plane in ramps(3, 4)[:2]]
    [0.25, 0.125]
    """
    y, x = np.mgrid[:height, :width].astype(np.float32)
    px = unit(height, width)
    return x / px, y / px, np.full((height, width), MARK)


def unit(height: int, width: int) -> np.float32:
    """What px are divided by to lie in 0..1: a power of two, so that no place is rounded.

    >>> float(unit(300, 512))
    1024.0
    """
    return np.float32(1 << max(height, width).bit_length())


def places_mask(height: int, width: int, axis: int) -> F32:
    """A mask that says where its pixels lie, their columns (axis 0) or rows: −1, −2, …, because borders show 0 or more.

    >>> places_mask(2, 3, 0).tolist()
    [[-1.0, -2.0, -3.0], [-1.0, -2.0, -3.0]]
    """
    return -1 - np.mgrid[:height, :width].astype(np.float32)[1 - axis]


def map_from(planes: Sequence[F32], size: tuple[int, int], grids: Sequence[Sequence[F32]] = ()) -> Map:
    """The map that three planes show, which were `ramps` of `size` before; and those of the grids passed before."""
    x, y, mark = planes
    px = unit(*size)
    passed = tuple(map_from(grid, size) for grid in grids)
    return Map(x * px, y * px, np.abs(mark - MARK) < _MARK_ROUNDING, *size, passed)


def shrunk(where: NDArray[np.bool_], by: int) -> NDArray[np.bool_]:
    """What is further than `by` px from where it is False; the frame of the image is no edge."""
    return np.asarray(cv2.erode(where.astype(np.uint8), _square(by)), bool)


def grown(where: NDArray[np.bool_], by: int) -> NDArray[np.bool_]:
    """What is at most `by` px from where it is True."""
    return np.asarray(cv2.dilate(where.astype(np.uint8), _square(by)), bool)


def _square(by: int) -> NDArray[Any]:
    return np.ones((2 * by + 1, 2 * by + 1), np.uint8)


_KINK = 0.002  # px of the output: by how much a map bends from one px to the next, at a seam
_MORE_THAN_BESIDE = np.array([[-0.5, 0.0, 1.0, 0.0, -0.5]], np.float32)
_BEND_ROUNDING = 2.0**-21  # of an image's side: what float32 leaves of a bend
_FLAT_AREA = 1e-3  # a map that shrinks an area below this has no inverse worth the name


def certain(where: Map, shown: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """What can be compared, bool H×W: both show the image there, off its edges and off all seams.

    Args:
        where: of the output that counts.
        shown: bool H×W, where the other one shows the image.
    """
    smear = where.smear()
    inside = where.inside(1 + where.spread() + where.scales[1])
    found = shrunk(inside & shown, smear) & ~grown(seams(where), smear)
    xu, xv, yu, yv = where.slopes.astype(np.float64)
    return found & (np.abs(xu * yv - xv * yu) > _FLAT_AREA * (xu**2 + xv**2 + yu**2 + yv**2))


def seams(where: Map) -> NDArray[np.bool_]:
    """Where a map has a kink: it folds at a border, or a step has repeated an edge.

    A smooth map, of a perspective say, bends as much two px further; at a kink it does not.
    """
    limit = max(_KINK * where.scales[0], _BEND_ROUNDING * max(where.height, where.width))
    found = np.zeros(where.x.shape, np.bool_)
    for values, out in ((where.x, found), (where.y, found), (where.x.T, found.T), (where.y.T, found.T)):
        bend = np.ascontiguousarray(np.diff(values, 2, axis=1))
        if bend.size:
            kinks = np.abs(cv2.filter2D(bend, -1, _MORE_THAN_BESIDE, borderType=cv2.BORDER_REPLICATE))
            out[:, 1:-1] |= kinks > limit
    return found


# Height and width → one channel of an image, float32 H×W in 0..1.
Plane: TypeAlias = Callable[[int, int], F32]

_RAMPS: list[Plane] = [lambda height, width, k=k: ramps(height, width)[k] for k in range(3)]  # type: ignore[misc]


class Probe:
    """A pipeline of which only what moves pixels runs, as the plan for some dtype has it.

    Args:
        pipeline: compiled; it stays as it is.
        plan: for images of which dtype.
        dtype: of the images that are sent through.
        run: a sample through it, as `Sample.run`.
    """

    def __init__(
        self, pipeline: Any, plan: Dtype, dtype: Dtype, run: Callable[..., dict[str, Any]] = Sample.run
    ) -> None:
        self.pipeline, self._dtype, self._run = only_moves(pipeline, plan, dtype), dtype, run

    def planes(self, given: Sample, epoch: int, planes: Sequence[Plane], axis: int = 0) -> dict[str, list[F32]]:
        """What comes of planes, by target, in 0..1; as many go at once as there are channels. What went in is `sent`.

        Args:
            given: the sample that they stand in for, in all of its targets alike.
            epoch: of its draws.
            planes: in order.
            axis: of what a mask is made that stands in for the sample's own, see `places_mask`.
        """
        channels = min(image.shape[2] for image in given.images.values())
        found: dict[str, list[F32]] = {name: [] for name in self.pipeline.outputs}
        self.sent: dict[str, list[NDArray[Any]]] = {name: [] for name in given.images}
        for start in range(0, len(planes), channels):
            part = planes[start : start + channels]
            images = {name: self._image(part, *image.shape) for name, image in given.images.items()}
            done = self.send(given, epoch, images, axis)
            for name, image in images.items():
                self.sent[name] += [image[..., c] for c in range(len(part))]
            for name, of_target in found.items():
                of_target += [values(done[name][..., c]) for c in range(len(part))]
        return found

    def _image(self, planes: Sequence[Plane], height: int, width: int, channels: int) -> NDArray[Any]:
        made: list[NDArray[Any]] = [plane(height, width) for plane in planes]
        if self._dtype == "uint8":
            made = [cv2.convertScaleAbs(plane, alpha=255) for plane in made]
        return np.stack([made[min(c, len(made) - 1)] for c in range(channels)], axis=-1)

    def send(
        self, given: Sample, epoch: int, images: Mapping[str, NDArray[Any]], axis: int = 0
    ) -> dict[str, NDArray[Any]]:
        """What comes of a sample with such images and masks; it is kept as `done`."""
        mask = {name: places_mask(of.shape[0], of.shape[1], axis) for name, of in given.rest.items() if name == "mask"}
        self.done = self._run(given, self.pipeline, epoch, **images, **mask)
        return self.done


def values(image: NDArray[Any]) -> F32:
    """An image in 0..1."""
    return np.asarray(image / np.float32(255) if image.dtype == np.uint8 else image, np.float32)


class RampProbe(Probe):
    """Where the pixels of outputs come from, as the recipe is written: told by coordinate ramps.

    Args:
        pipeline: of the steps as they are written.
        plan: the same as of a `Probe`.
    """

    def __init__(self, pipeline: Any, plan: Dtype) -> None:
        super().__init__(pipeline, plan, "float32")
        steps = [step for top in self.pipeline.compiled.plans[plan].steps for step in opened(top)]
        records = {step.site: op_record(step.name) for step in steps if is_single(step)}
        self._resamples = {site for site, record in records.items() if not record.is_known or record.resamples}
        self._passed: list[NDArray[Any]] = []
        self.pipeline.dress(lambda copy: instrument(copy, self._call))

    def maps(self, given: Sample, epoch: int, origins: Mapping[str, str]) -> dict[str, Map]:
        """The maps of a sample by target; `origins`: from each target that comes out to the one that it is made of."""
        self._passed = []  # by each step that resamples, in order; so often as ramps are sent through
        found = self.planes(given, epoch, _RAMPS)
        sizes = {name: image.shape[:2] for name, image in given.images.items()}
        channels = min(image.shape[2] for image in given.images.values())
        each = len(self._passed) // -(-len(_RAMPS) // channels)
        passed = [np.dstack(self._passed[k::each]) for k in range(each)] if len(sizes) == 1 else []
        grids = [[grid[..., c] for c in range(len(_RAMPS))] for grid in passed]
        return {name: map_from(planes, sizes[origins[name]], grids) for name, planes in found.items()}

    def _call(self, label: str, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        done = step(*args, **kwargs)
        if label in self._resamples and "image" in kwargs and done["image"] is not kwargs["image"]:
            self._passed.append(np.atleast_3d(np.array(done["image"])))  # kernels use their memory again
        return done
