"""Areas of objects, as polygons and run lengths, drawn as a mask when a sample is read.

The value of a pixel is the label of its object plus 1; 0 is background. Later objects are drawn over earlier ones. A
pixel belongs to a polygon if its centre lies inside; OpenCV's and Pillow's fills would add the outline.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError
from augrecipes.sharing import SpawnShared

Floats = npt.NDArray[np.floating[Any]]
_HEAD = 5  # numbers before the runs: whether they fill the image; left, top, width and height of their rectangle


@dataclass(frozen=True, eq=False)
class Outlines(SpawnShared):
    """The areas of all samples, in the order in which they are drawn.

    Attributes:
        values: int32 (r,), the pixel value of each area.
        offsets: int64 (n + 1,); areas `offsets[i]:offsets[i + 1]` belong to sample i.
        points: float32 (m, 2), the corners (x, y) of polygons, px or fractions of the image.
        point_offsets: int64 (r + 1,), bounds of each area's corners; an area of run lengths has none.
        blob: run lengths, as `runs` encodes them.
        blob_offsets: int64 (r + 1,), bounds of each area's bytes in `blob`; a polygon has none.
        relative: whether `points` are fractions of the image.
    """

    values: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    points: npt.NDArray[np.float32]
    point_offsets: npt.NDArray[np.int64]
    blob: bytes
    blob_offsets: npt.NDArray[np.int64]
    relative: bool = False

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def draw(self, i: int, height: int, width: int) -> npt.NDArray[Any]:
        """The mask of sample i, H×W of uint8, or uint16 where there are more values.

        Raises:
            DataError: run lengths do not fit the image.
        """
        mask = np.zeros((height, width), np.uint8 if self.values.max(initial=0) < 256 else np.uint16)
        scale = np.array([width, height] if self.relative else [1, 1], float)
        for k in range(int(self.offsets[i]), int(self.offsets[i + 1])):
            start, stop = self.blob_offsets[k : k + 2]
            if start < stop:
                _paint_runs(mask, self.blob[start:stop], self.values[k])
            else:
                ring = self.points[self.point_offsets[k] : self.point_offsets[k + 1]]
                fill(mask, ring * scale, int(self.values[k]))
        return mask

    def parts(self) -> Iterator[Any]:
        """Yield every array that decides the masks, for a digest."""
        yield from (self.values, self.offsets, self.points, self.point_offsets, self.blob, self.blob_offsets)


def fill(mask: npt.NDArray[Any], ring: Floats, value: int) -> None:
    """Paint the pixels whose centres lie inside a polygon (even-odd rule).

    Args:
        mask: H×W, changed in place.
        ring: (k, 2), corners (x, y), px; the first pixel spans 0 to 1.
        value: the pixel value to paint.

    >>> mask = np.zeros((3, 5), np.uint8)
    >>> fill(mask, np.array([[1.0, 0.0], [4.0, 0.0], [4.0, 2.0], [1.0, 2.0]]), 7)
    >>> mask.tolist()
    [[0, 7, 7, 7, 0], [0, 7, 7, 7, 0], [0, 0, 0, 0, 0]]
    """
    height, width = mask.shape
    x, y = np.asarray(ring, float).T
    x_next, y_next = np.roll(x, -1), np.roll(y, -1)
    # An edge crosses the rows whose middle lies between its ends, the upper end included.
    first = np.ceil(np.clip(np.minimum(y, y_next) - 0.5, 0, height)).astype(np.int64)
    last = np.ceil(np.clip(np.maximum(y, y_next) - 0.5, 0, height)).astype(np.int64)
    counts = last - first
    if not counts.any():
        return
    edge = np.repeat(np.arange(len(x)), counts)
    row = np.arange(len(edge)) + np.repeat(first - np.cumsum(counts) + counts, counts)
    slope = (x_next - x)[edge] / (y_next - y)[edge]
    column = np.ceil(np.clip(x[edge] + (row + 0.5 - y[edge]) * slope - 0.5, 0, width)).astype(np.int64)
    top, left = int(row.min()), int(column.min())
    shape = int(row.max()) + 1 - top, int(column.max()) + 1 - left
    crossings = np.bincount((row - top) * shape[1] + column - left, minlength=shape[0] * shape[1]).reshape(shape)
    inside = (np.cumsum(crossings, axis=1) & 1).astype(bool)[:, : width - left]
    mask[top : top + shape[0], left : left + inside.shape[1]][inside] = value


def runs(counts: Sequence[int], left: int, top: int, width: int, height: int, *, whole: bool = False) -> bytes:
    """Encode run lengths as an entry of the blob.

    Args:
        counts: alternating numbers of pixels outside and inside, column by column.
        left: of their rectangle, px.
        top: of their rectangle, px.
        width: of their rectangle, px.
        height: of their rectangle, px.
        whole: the rectangle is the image, whose size must match; otherwise it is clipped to the image.
    """
    return np.array([whole, left, top, width, height, *counts], np.int32).tobytes()


def any_inside(entry: bytes) -> bool:
    """Whether an entry of the blob has a pixel inside."""
    return bool(np.frombuffer(entry, np.int32)[_HEAD + 1 :: 2].any())


def run_bounds(width: int, height: int, *counts: int) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the pixels inside; all 0 if there are none.

    >>> run_bounds(4, 3, 4, 2, 6)
    (1.0, 1.0, 2.0, 3.0)
    """
    inside = _bitmap(width, height, np.array(counts))
    y, x = (np.flatnonzero(inside.any(axis=axis)) for axis in (1, 0))
    return (float(x[0]), float(y[0]), float(x[-1] + 1), float(y[-1] + 1)) if len(x) else (0.0, 0.0, 0.0, 0.0)


def _bitmap(width: int, height: int, counts: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return np.repeat(np.arange(len(counts)) % 2 == 1, counts).reshape(width, height).T


def bitmap_runs(left: int, top: int, bitmap: npt.NDArray[np.bool_]) -> bytes:
    """Encode a bitmap, bool H×W, whose upper left corner lies at (left, top), as an entry of the blob."""
    changes = np.flatnonzero(np.diff(bitmap.T.ravel(), prepend=False))
    counts = np.diff(changes, prepend=0, append=bitmap.size)
    return runs(counts.tolist(), left, top, bitmap.shape[1], bitmap.shape[0])


def _paint_runs(mask: npt.NDArray[Any], entry: bytes, value: np.int32) -> None:
    numbers = np.frombuffer(entry, np.int32)
    whole, left, top, width, height = numbers[:_HEAD].tolist()
    inside = _bitmap(width, height, numbers[_HEAD:])
    if whole and mask.shape != inside.shape:
        has = f"{mask.shape[0]}×{mask.shape[1]}"
        raise DataError(f"its run-length mask is of {height}×{width} px, the image has {has}")
    y, x = max(0, top), max(0, left)
    part = inside[y - top : max(0, mask.shape[0] - top), x - left : max(0, mask.shape[1] - left)]
    mask[y : y + part.shape[0], x : x + part.shape[1]][part] = value
