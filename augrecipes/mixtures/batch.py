"""A batch as steps of `batch:` act on it: rows of arrays, changed in place, and samples of the data set beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import numpy.typing as npt

from augrecipes.errors import CollateError
from augrecipes.mixtures.annotations import rescale, seen
from augrecipes.ops.box_formats import corners_px

if TYPE_CHECKING:
    from augrecipes.recipe.model import Recipe

Array = npt.NDArray[Any]
Extent = tuple[int, int]  # first and behind the last, in cells
Piece = tuple[Mapping[str, Any], Extent, Extent, tuple[int, int]]  # a sample, its rows, its columns, how far it moves


@dataclass
class BatchArrays:
    """The targets of n samples, side by side. Pixels count in cells: of a pair in pixels of its coarsest grid.

    Attributes:
        values: `image`, or the targets of a pair, (n, ...) as the recipe's output says; `mask` (n, H, W); `label` float
            (n, classes); `boxes`, `keypoints` and their labels: lists of n arrays.
        recipe: whose samples these are.
        read: reads a sample of the data set, by its position, with such values of one sample.
        count: of samples in the data set.
    """

    values: dict[str, Any]
    recipe: Recipe
    read: Callable[[int], Mapping[str, Any]]
    count: int

    def __post_init__(self) -> None:
        inputs = self.recipe.inputs
        self.ragged = [key for key in self.values if key in inputs.row_keys]
        self.box_keys = [key for key in self.ragged if key in replace(inputs, keypoints=None).row_keys]
        self.names = [*self.recipe.scales] or ["image"]
        self._mixed = [*self.names, *(key for key in ("mask", "label") if key in self.values), *self.ragged]

    def __len__(self) -> int:
        return len(self.values[self.names[0]])

    # -- pixels --------------------------------------------------------------------------------------------------------

    def planes(self, of: Mapping[str, Any]) -> dict[str, Array]:
        """Views of images by target, (..., H, W, channels), and of `mask`, (..., H, W): of a batch or of one sample."""
        output, outputs = self.recipe.output, self.recipe.outputs
        chw = {name: outputs.get(name, output).layout == "chw" for name in self.names}
        found = {name: np.moveaxis(of[name], -3, -1) if chw[name] else of[name] for name in self.names}
        return found | ({"mask": of["mask"]} if "mask" in self.values else {})

    @property
    def cells(self) -> tuple[int, int]:
        """Height and width, in cells."""
        name = self.names[0]
        height, width = self.planes(self.values)[name].shape[1:3]
        return height // self._unit(name), width // self._unit(name)

    def window(self, name: str, rows: Extent, columns: Extent) -> tuple[slice, slice]:
        """What cuts some cells out of a plane H×W."""
        unit = self._unit(name)
        return slice(rows[0] * unit, rows[1] * unit), slice(columns[0] * unit, columns[1] * unit)

    def _unit(self, name: str) -> int:
        """Side of a cell in px of a target."""
        scales = self.recipe.scales
        return int(scales[name] // gcd(*scales.values())) if scales else 1

    def _share(self, rows: Extent, columns: Extent) -> float:
        height, width = self.cells
        return (rows[1] - rows[0]) * (columns[1] - columns[0]) / (height * width)

    def _region(self, rows: Extent, columns: Extent) -> Array:
        region = np.zeros(self.cells, bool)
        region[slice(*rows), slice(*columns)] = True
        return region

    # -- all samples at a time -----------------------------------------------------------------------------------------

    def order(self, rng: np.random.Generator, partners: str) -> list[int]:
        """The partner of each sample."""
        here = np.arange(len(self))
        return (np.roll(here, 1) if partners == "roll" else rng.permutation(here)).tolist()

    def blend(self, order: Sequence[int], share: float) -> None:
        """Make each image share · itself + (1 - share) · its partner; of labels the same."""
        for name in self.names:
            flat = self.values[name].reshape(len(self), -1)
            for row, other in with_partners(order, flat):
                blend(row, other, share)
            if not np.may_share_memory(flat, self.values[name]):  # channels lie last in memory, say, and not by shape
                self.values[name][...] = flat.reshape(self.values[name].shape)
        self._label(order, share)

    def paste(self, order: Sequence[int], rows: Extent, columns: Extent) -> None:
        """Give each sample what its partner has in some cells; labels are mixed by the areas."""
        for name, whole in self.planes(self.values).items():
            across, down = self.window(name, rows, columns)
            for row, other in with_partners(order, whole[:, across, down]):
                row[...] = other
        if self.ragged:
            region, before = self._region(rows, columns), [self._annotations(k) for k in range(len(self))]
            for k, partner in enumerate(order):
                if partner != k:
                    self._annotate(k, (before[k], ~region, (0, 0)), (before[partner], region, (0, 0)))
        self._label(order, 1 - self._share(rows, columns))

    def _label(self, order: Sequence[int], share: float) -> None:
        if (label := self.values.get("label")) is not None:
            self.values["label"] = (share * label + (1 - share) * label[order]).astype(np.float32)

    # -- one sample at a time ------------------------------------------------------------------------------------------

    def sample(self, k: int) -> dict[str, Any]:
        """A copy of sample k."""
        return {key: np.array(self.values[key][k]) for key in self._mixed}

    def drawn(self, rng: np.random.Generator) -> Mapping[str, Any]:
        """A sample of the data set, each as likely.

        Raises:
            CollateError: it does not fit the batch.
        """
        found = self.read(int(rng.integers(max(self.count, 1))))
        for key in self._mixed:
            wanted = None if key in self.ragged else self.values[key].shape[1:]
            if key not in found or wanted not in (None, np.shape(found[key])):
                other = f"of {np.shape(found[key])}" if key in found else "missing"
                here = "there" if wanted is None else f"of {wanted}: end `steps:` in a crop of fixed size"
                raise CollateError(f"draws a sample whose {key!r} is {other}, and in the batch {here}", found["path"])
        return found

    def lay(self, k: int, pieces: Sequence[Piece]) -> None:
        """Make sample k of pieces of samples, which fill it; labels are mixed by the areas."""
        to = self.planes(self.values)
        for sample, rows, columns, (down, right) in pieces:
            there = (rows[0] - down, rows[1] - down), (columns[0] - right, columns[1] - right)
            for name, plane in self.planes(sample).items():
                to[name][k][self.window(name, rows, columns)] = plane[self.window(name, *there)]
        if "label" in self.values:
            shares = [np.float32(self._share(rows, columns)) * sample["label"] for sample, rows, columns, _ in pieces]
            self.values["label"][k] = np.sum(shares, axis=0)
        parts = [(sample, self._region(rows, columns), shift) for sample, rows, columns, shift in pieces]
        self._annotate(k, *parts if self.ragged else ())

    def fit(self, sample: Mapping[str, Any], scale: float, *piece: Any) -> dict[str, Any]:
        """Enlarge an image without its bars into the corner that a piece shows; what lies on it goes along.

        Args:
            sample: one image. Bars are lines of one colour at its edges, as a letterbox has them.
            scale: the longer side becomes that of the image, times this, from 1. What is left over is the bars'.
            piece: the rows, columns and shift of a `Piece`; pixels that it does not show are not made.
        """
        there = zip(piece[:2], piece[2], self.cells, strict=True)
        window = [slice(min(first - by, size - 1), max(last - by, 1)) for (first, last), by, size in there]
        plane, size = self.planes(sample)["image"], np.array(self.cells)
        start, stop = np.array([(bar(one), len(one) - bar(one[::-1])) for one in (plane, plane.swapaxes(0, 1))]).T
        length = np.rint((stop - start) * (size / (stop - start)).min() * scale)
        factor, shift = length / (stop - start), np.where([one.start > 0 for one in window], size - length, 0)
        y, x = (_sources(*one) for one in zip(size, start, stop, factor, shift, strict=True))
        place = np.flip([start, factor, shift], 1)  # of x and y
        made = rescale(sample, self.recipe.inputs, self.cells, place) | {"image": np.empty_like(sample["image"])}
        down, right = np.ix_(np.floor(y + 0.5).astype(int), np.floor(x + 0.5).astype(int))
        made |= {key: np.asarray(sample[key])[..., down, right] for key in ("mask", "masks") if key in sample}
        wide = np.asarray(plane, np.float32 if plane.dtype == np.float16 else None)
        maps = np.meshgrid(np.float32(x[window[1]]), np.float32(y[window[0]]))
        for k in range(plane.shape[2]):  # a channel at a time: of c×h×w no copy is made
            self.planes(made)["image"][window[0], window[1], k] = cv2.remap(wide[..., k], *maps, cv2.INTER_LINEAR)
        return made

    def cover(self, k: int, sample: Mapping[str, Any], region: Array) -> None:
        """Put what a sample has in a region, bool H×W, over sample k; its boxes and keypoints join."""
        to, of = self.planes(self.values), self.planes(sample)
        for name, plane in of.items():
            to[name][k][region] = plane[region]
        if self.ragged:
            self._annotate(k, (self._annotations(k), ~region, (0, 0)), (sample, region, (0, 0)))

    def corners(self, sample: Mapping[str, Any]) -> Array:
        """Boxes of a sample as x_min, y_min, x_max, y_max in px; none where samples have no boxes."""
        boxes = self.recipe.inputs.boxes
        return corners_px(sample["boxes"], boxes.format, *self.cells) if boxes else np.empty((0, 4), np.float32)

    def _annotations(self, k: int) -> dict[str, Array]:
        return {key: self.values[key][k] for key in self.ragged}

    def _annotate(self, k: int, *parts: tuple[Mapping[str, Any], Array, tuple[int, int]]) -> None:
        """Give sample k the boxes and keypoints that are seen of some samples, each in a region, moved by so much.

        Objects of the first keep their numbers, those of the others get numbers that come after.
        """
        found, first = [seen(sample, region, self.recipe.inputs, shift) for sample, region, shift in parts], 0
        for part in found:
            numbers = [part[key] for key in ("object", "keypoint_object") if key in part]
            for own in numbers:
                own[own >= 0] += first
            first = max([first, *(int(own.max()) + 1 for own in numbers if len(own))])
        for key in found[0] if found else ():
            self.values[key][k] = np.concatenate([part[key] for part in found])


def bar(lines: Array) -> int:
    """How many lines at the start of an image have the colour of its first pixel; 0 where all have.

    >>> bar(np.array([[7, 7], [7, 7], [1, 7]])[..., None])
    2
    """
    return next((k for k, line in enumerate(lines) if (line != lines[0, 0]).any()), 0)


def _sources(size: int, start: int, stop: int, factor: float, shift: float) -> Array:
    """Which place of the old image, along one axis, each pixel of the new one shows: of a bar, where nothing lies."""
    old = (np.arange(size) - shift + 0.5) / factor + start  # from the edge of the first pixel on
    return np.where((old > start) & (old < stop), np.clip(old - 0.5, start, stop - 1), 0 if start else size - 1)


def with_partners(order: Sequence[int], rows: Array) -> Iterator[tuple[Array, Array]]:
    """Each row with its partner as that was before any row was written; a row that is its own partner is left out.

    >>> rows = np.arange(4)[:, None] * 10
    >>> for row, partner in with_partners([1, 2, 0, 3], rows):
    ...     row += partner
    >>> rows.ravel().tolist()
    [10, 30, 20, 30]
    """
    before = rows.copy()
    return ((rows[k], before[partner]) for k, partner in enumerate(order) if partner != k)


def blend(row: Array, other: Array, share: float) -> None:
    """Make `row` share · row + (1 - share) · other, in place; whole numbers are rounded.

    >>> row = np.full(3, 10, np.uint8)
    >>> blend(row, np.full(3, 20, np.uint8), 0.25)
    >>> row.tolist()
    [18, 18, 18]
    """
    if row.dtype == np.float32:
        cv2.accumulateWeighted(other, row, 1 - share)
    elif row.dtype.kind == "u":
        cv2.addWeighted(row, share, other, 1 - share, 0, dst=row)
    else:
        row[...] = share * row.astype(np.float32) + (1 - share) * other.astype(np.float32)
