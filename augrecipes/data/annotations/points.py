"""Keypoints and areas of all objects, as the columns of a table.

Keypoints have three numbers: x, y, and how the point can be seen (0 not labelled, 1 hidden, 2 seen); or, of points that
are no part of an object, x, y and the label of the class. Their own label, where the recipe declares one, is the number
of the keypoint among those that the picture has in the file, so that `label % K` is which of an object's K keypoints it
is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.data.annotations.found import FoundObjects
from augrecipes.data.tables.outlines import Outlines
from augrecipes.data.tables.ragged import Ragged
from augrecipes.errors import RecipeError, counted
from augrecipes.recipe.model import Keypoints

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
_PLAIN = ("xy", "yx")


def points_of(
    found: FoundObjects, order: Ints, rows: Rows, keep: Ints, sizes: npt.NDArray[np.float64], declared: Keypoints
) -> Ragged | None:
    """The keypoints of a table; None where the data has none.

    Keypoints of objects where there are some, or else points that are no part of an object.

    Args:
        found: the objects.
        order: those that are taken, in the order of the table's rows.
        rows: the row of each object.
        keep: the pictures of the table.
        sizes: (width, height) of each row, px.
        declared: by the recipe.

    Raises:
        RecipeError: keypoints of a format that annotations do not have.
    """
    if declared.format not in _PLAIN:
        raise RecipeError(
            f"keypoints of annotations are x and y; the recipe declares {declared.format!r}, not xy or yx"
        )
    if len(found.point_object):
        row, values = _of_objects(found, order, rows)
        numbers = _within(row, len(keep))
    elif len(found.lone_picture):
        row_of = np.full(len(found.names), -1, np.int64)
        row_of[keep] = np.arange(len(keep))
        row = row_of[np.frombuffer(found.lone_picture, np.int32)]
        values = np.frombuffer(found.lone_values, np.float32).reshape(-1, 3)
        row, values = _sorted(row, values)
        numbers = _within(row, len(keep))
    else:
        return None
    return _ragged(found, row, values, numbers, sizes, declared, labelled=not len(found.point_object))


def _of_objects(found: FoundObjects, order: Ints, rows: Rows) -> tuple[Ints, npt.NDArray[np.float32]]:
    taken = np.zeros(len(found), bool)
    taken[order] = True
    owner = np.frombuffer(found.point_object, np.int32)
    kept = taken[owner]
    values = np.frombuffer(found.point_values, np.float32).reshape(-1, 3)[kept]
    return _sorted(rows[owner[kept]].astype(np.int64), values)


def _sorted(row: Ints, values: npt.NDArray[np.float32]) -> tuple[Ints, npt.NDArray[np.float32]]:
    """In the order of the rows, those of none left out."""
    place = np.flatnonzero(row >= 0)
    place = place[np.argsort(row[place], kind="stable")]
    return row[place], values[place]


def _within(row: Ints, count: int) -> Ints:
    """The number of each among those of its row; rows are in order."""
    counts = np.bincount(row, minlength=count)
    return np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)


def _rings(found: FoundObjects, order: Ints, rows: Rows) -> Ints:
    """Areas of the objects that are taken, in the order of the table's rows and in which they are drawn."""
    taken = np.zeros(len(found), bool)
    taken[order] = True
    owner = np.frombuffer(found.ring_object, np.int32)
    rings = np.flatnonzero(taken[owner])
    row = rows[owner[rings]]
    return rings if (row[1:] >= row[:-1]).all() else rings[np.argsort(row, kind="stable")]


def _ragged(
    found: FoundObjects,
    row: Ints,
    values: npt.NDArray[np.float32],
    numbers: Ints,
    sizes: npt.NDArray[np.float64],
    declared: Keypoints,
    *,
    labelled: bool,
) -> Ragged:
    values = values.copy()
    if found.relative and len(found.point_object):
        values[:, :2] *= sizes[row]
    if declared.remove_invisible and len(values):
        x, y, v = values.T
        width, height = sizes[row].T
        inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
        there = inside if labelled else inside & (v > 0)
        outside = int((~inside & (labelled | (v > 0)) & (width > 0)).sum())
        if outside:
            found.notes.append(f"{counted(outside, 'keypoint')} outside of the picture, left out")
        row, values, numbers = row[there], values[there], numbers[there]
    if declared.format == "yx":
        values = values[:, [1, 0, 2]]
    counts = np.bincount(row, minlength=len(sizes))
    return Ragged(values, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), numbers.astype(np.int64))


def outlines_of(found: FoundObjects, order: Ints, rows: Rows, count: int) -> Outlines | None:
    """What the objects of a table cover; None where the data has no polygons and no masks."""
    if not len(found.ring_object):
        return None
    rings = _rings(found, order, rows)
    counts = np.frombuffer(found.ring_length, np.int32)[rings]
    owner = np.frombuffer(found.ring_object, np.int32)[rings]
    entries = [found.ring_runs.get(ring, b"") for ring in rings.tolist()] if found.ring_runs else []
    return Outlines(
        values=np.frombuffer(found.labels, np.int32)[owner] + np.int32(1),
        offsets=_ends(np.bincount(rows[owner], minlength=count)),
        points=_points_of(found, rings),
        point_offsets=_ends(counts),
        blob=b"".join(entries),
        # Zeros that nobody has written take no memory.
        blob_offsets=_ends([len(entry) for entry in entries]) if entries else np.zeros(len(rings) + 1, np.int64),
        relative=found.relative,
    )


def _points_of(found: FoundObjects, rings: Ints) -> npt.NDArray[np.float32]:
    """The corners (x, y) of areas, one after another."""
    points = np.frombuffer(found.ring_points, np.float32).reshape(-1, 2)
    if len(rings) == len(found.ring_length) and (rings[1:] > rings[:-1]).all():
        return points  # all of them as they were read: there may be many millions
    lengths = np.frombuffer(found.ring_length, np.int32).astype(np.int64)
    starts, counts = (np.cumsum(lengths) - lengths)[rings], lengths[rings]
    return points[np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())]


def _ends(counts: Sequence[int] | npt.NDArray[np.integer[Any]]) -> Ints:
    ends = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends
