"""The arrays of a batch, which steps of `batch:` change in place, and access to samples of the data set."""

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
Extent = tuple[int, int]  # start and exclusive end, in cells
# A sample, the rows and columns that it fills, and (rows, columns) by which it moves.
Piece = tuple[Mapping[str, Any], Extent, Extent, tuple[int, int]]


@dataclass
class BatchArrays:
    """The targets of n samples as arrays. Places are in cells: pixels, for a pair those of its coarsest grid.

    Attributes:
        values: `image`, or the targets of a pair, (n, ...) as the recipe's output says; `mask` (n, H, W); `label` float
            (n, classes); `boxes`, `keypoints` and their labels: lists of n arrays.
        recipe: the recipe of the samples.
        read: reads a sample of the data set by position, as values of one sample.
        count: number of samples in the data set.
    """

    values: dict[str, Any]
    recipe: "Recipe"
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

    def planes(self, values: Mapping[str, Any]) -> dict[str, Array]:
        """Views of a batch's or a sample's images by target, (..., H, W, channels), and of `mask`, (..., H, W)."""
        output, outputs = self.recipe.output, self.recipe.outputs
        chw = {name: outputs.get(name, output).layout == "chw" for name in self.names}
        planes = {name: np.moveaxis(values[name], -3, -1) if chw[name] else values[name] for name in self.names}
        return planes | ({"mask": values["mask"]} if "mask" in self.values else {})

    @property
    def cells(self) -> tuple[int, int]:
        """Height and width of the images, in cells."""
        name = self.names[0]
        height, width = self.planes(self.values)[name].shape[1:3]
        return height // self._unit(name), width // self._unit(name)

    def window(self, name: str, rows: Extent, columns: Extent) -> tuple[slice, slice]:
        """Slices of a plane H×W that select a rectangle of cells."""
        unit = self._unit(name)
        return slice(rows[0] * unit, rows[1] * unit), slice(columns[0] * unit, columns[1] * unit)

    def _unit(self, name: str) -> int:
        """Side of a cell, in px of a target."""
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
        samples = np.arange(len(self))
        return (np.roll(samples, 1) if partners == "roll" else rng.permutation(samples)).tolist()

    def blend(self, order: Sequence[int], share: float) -> None:
        """Replace each image and label by share · itself + (1 - share) · its partner's."""
        for name in self.names:
            flat = self.values[name].reshape(len(self), -1)
            for row, other in with_partners(order, flat):
                blend(row, other, share)
            if not np.may_share_memory(flat, self.values[name]):  # `reshape` copied: the memory order is not C
                self.values[name][...] = flat.reshape(self.values[name].shape)
        self._label(order, share)

    def paste(self, order: Sequence[int], rows: Extent, columns: Extent) -> None:
        """Paste a rectangle of its partner into each sample; labels are mixed by area."""
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
        """Draw a sample of the data set, uniformly.

        Raises:
            CollateError: it does not fit the batch.
        """
        sample = self.read(int(rng.integers(max(self.count, 1))))
        for key in self._mixed:
            wanted = None if key in self.ragged else self.values[key].shape[1:]
            if key not in sample or wanted not in (None, np.shape(sample[key])):
                other = f"of {np.shape(sample[key])}" if key in sample else "missing"
                here = "there" if wanted is None else f"of {wanted}: end `steps:` in a crop of fixed size"
                raise CollateError(f"draws a sample whose {key!r} is {other}, and in the batch {here}", sample["path"])
        return sample

    def lay(self, k: int, pieces: Sequence[Piece]) -> None:
        """Compose sample k of pieces of samples, which fill it; labels are mixed by area."""
        planes = self.planes(self.values)
        for sample, rows, columns, (down, right) in pieces:
            source = (rows[0] - down, rows[1] - down), (columns[0] - right, columns[1] - right)
            for name, plane in self.planes(sample).items():
                planes[name][k][self.window(name, rows, columns)] = plane[self.window(name, *source)]
        if "label" in self.values:
            shares = [np.float32(self._share(rows, columns)) * sample["label"] for sample, rows, columns, _ in pieces]
            self.values["label"][k] = np.sum(shares, axis=0)
        parts = [(sample, self._region(rows, columns), shift) for sample, rows, columns, shift in pieces]
        self._annotate(k, *parts if self.ragged else ())

    def fit(self, sample: Mapping[str, Any], scale: float, *piece: Any) -> dict[str, Any]:
        """Enlarge a sample without its bars into the corner that a piece shows, with mask, boxes and keypoints.

        Args:
            sample: one sample. Bars are lines of one colour at the edges of its image, as in a letterbox.
            scale: at least 1; the longer side becomes the image's side times this. The rest remains a bar.
            piece: rows, columns and shift of a `Piece`; other pixels are not computed.
        """
        axes = zip(piece[:2], piece[2], self.cells, strict=True)
        window = [slice(min(first - by, size - 1), max(last - by, 1)) for (first, last), by, size in axes]
        plane, size = self.planes(sample)["image"], np.array(self.cells)
        edges = [(bar(lines), len(lines) - bar(lines[::-1])) for lines in (plane, plane.swapaxes(0, 1))]
        start, stop = np.array(edges).T
        length = np.rint((stop - start) * (size / (stop - start)).min() * scale)
        factor, shift = length / (stop - start), np.where([part.start > 0 for part in window], size - length, 0)
        y, x = (_sources(*axis) for axis in zip(size, start, stop, factor, shift, strict=True))
        place = np.flip([start, factor, shift], 1)  # x before y
        result = rescale(sample, self.recipe.inputs, self.cells, place) | {"image": np.empty_like(sample["image"])}
        down, right = np.ix_(np.floor(y + 0.5).astype(int), np.floor(x + 0.5).astype(int))
        result |= {key: np.asarray(sample[key])[..., down, right] for key in ("mask", "masks") if key in sample}
        wide = np.asarray(plane, np.float32 if plane.dtype == np.float16 else None)
        maps = np.meshgrid(np.float32(x[window[1]]), np.float32(y[window[0]]))
        for k in range(plane.shape[2]):  # by channel, which copies nothing of C×H×W
            self.planes(result)["image"][window[0], window[1], k] = cv2.remap(wide[..., k], *maps, cv2.INTER_LINEAR)
        return result

    def cover(self, k: int, sample: Mapping[str, Any], region: Array) -> None:
        """Paste a region, bool H×W, of a sample over sample k, with its boxes and keypoints."""
        planes = self.planes(self.values)
        for name, plane in self.planes(sample).items():
            planes[name][k][region] = plane[region]
        if self.ragged:
            self._annotate(k, (self._annotations(k), ~region, (0, 0)), (sample, region, (0, 0)))

    def corners(self, sample: Mapping[str, Any]) -> Array:
        """Boxes of a sample as float32 (n, 4), x_min, y_min, x_max, y_max in px; (0, 4) without boxes."""
        boxes = self.recipe.inputs.boxes
        return corners_px(sample["boxes"], boxes.format, *self.cells) if boxes else np.empty((0, 4), np.float32)

    def _annotations(self, k: int) -> dict[str, Array]:
        return {key: self.values[key][k] for key in self.ragged}

    def _annotate(self, k: int, *parts: tuple[Mapping[str, Any], Array, tuple[int, int]]) -> None:
        """Give sample k the visible boxes and keypoints of (sample, region, shift) parts.

        Objects of the first part keep their numbers; those of the others are renumbered after them.
        """
        visible, first = [seen(sample, region, self.recipe.inputs, shift) for sample, region, shift in parts], 0
        for part in visible:
            numbers = [part[key] for key in ("object", "keypoint_object") if key in part]
            for own in numbers:
                own[own >= 0] += first
            first = max([first, *(int(own.max()) + 1 for own in numbers if len(own))])
        for key in visible[0] if visible else ():
            self.values[key][k] = np.concatenate([part[key] for part in visible])


def bar(lines: Array) -> int:
    """The number of first lines of an image in the colour of its first pixel; 0 where all lines have it.

    >>> bar(np.array([[7, 7], [7, 7], [1, 7]])[..., None])
    2
    """
    return next((k for k, line in enumerate(lines) if (line != lines[0, 0]).any()), 0)


def _sources(size: int, start: int, stop: int, factor: float, shift: float) -> Array:
    """The place in the source, along one axis, that each pixel of the result shows; outside it, a place in a bar."""
    old = (np.arange(size) - shift + 0.5) / factor + start  # from the edge of the first pixel on
    return np.where((old > start) & (old < stop), np.clip(old - 0.5, start, stop - 1), 0 if start else size - 1)


def with_partners(order: Sequence[int], rows: Array) -> Iterator[tuple[Array, Array]]:
    """Each row with its partner's values before any row was written; rows that are their own partner are left out.

    >>> rows = np.arange(4)[:, None] * 10
    >>> for row, partner in with_partners([1, 2, 0, 3], rows):
    ...     row += partner
    >>> rows.ravel().tolist()
    [10, 30, 20, 30]
    """
    before = rows.copy()
    return ((rows[k], before[partner]) for k, partner in enumerate(order) if partner != k)


def blend(row: Array, other: Array, share: float) -> None:
    """Set `row` to share · row + (1 - share) · other, in place; integers are rounded.

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
