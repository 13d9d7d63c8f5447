"""Boxes of all objects, cut to their pictures and in the format that a recipe declares."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.data.annotations.found import FoundObjects
from augrecipes.data.tables.points import corners_of
from augrecipes.data.tables.ragged import Ragged
from augrecipes.errors import counted

SHARES = ("yolo", "albumentations")  # formats that count in shares of the picture
_AT_ONCE = 1 << 16  # objects, so that little memory is used beside them
_NEGLIGIBLE = 1e-5  # of a picture: what rounding leaves outside of it
_SAID = {
    1: "reaching beyond the picture, cut to it",
    2: "outside of the picture, left out",
    3: "without width or height, left out",
}
_FINE = 1  # states up to this one
Floats = npt.NDArray[np.float64]


def boxes_of(
    found: FoundObjects,
    order: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int32],
    sizes: Floats | None,
    count: int,
    format: str,
    classes: tuple[str, ...] | None,
) -> Ragged:
    """The boxes of a table; what is cut or left out is noted.

    Args:
        found: the objects.
        order: those that are taken, in the order of the table's rows.
        rows: the row of each object.
        sizes: (width, height) of each row, px, 0 where it is not known: boxes there are left out. None: all is shares.
        count: of rows.
        format: `pascal_voc`, `coco`, `yolo` or `albumentations`.
        classes: names of the labels.
    """
    corners = np.frombuffer(found.corners, np.float64).reshape(-1, 4)
    values, states = np.zeros((len(order), 4), np.float32), np.zeros(len(order), np.int8)
    for start in range(0, len(order), _AT_ONCE):
        part = order[start : start + _AT_ONCE]
        size = np.ones((len(part), 2)) if sizes is None else sizes[rows[part]]
        made = _made(corners[part], size, format, relative=found.relative)
        values[start : start + len(part)], states[start : start + len(part)] = made
    for state, what in _SAID.items():
        at = np.flatnonzero(states == state)
        if len(at):
            found.notes.append(f"{counted(len(at), 'box')} {what} (first: {found.where(int(order[at[0]]))})")
    kept = (states >= 0) & (states <= _FINE)
    chosen = order[kept]
    labels = np.frombuffer(found.labels, np.int32)[chosen].astype(np.int64)
    counts = np.bincount(rows[chosen], minlength=count)
    return Ragged(values[kept], np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), labels, classes)


def _made(corners: Floats, size: Floats, format: str, *, relative: bool) -> tuple[npt.NDArray[np.float32], Any]:
    """Boxes in a format, and what became of each: 0 nothing, -1 its picture's size is not known, or of `_SAID`."""
    sides = np.tile(size, 2)
    given = corners * sides if relative else corners
    cut = np.clip(given, 0, sides)
    states = np.where((np.abs(cut - given) > _NEGLIGIBLE * sides).any(axis=1), 1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = _in_format(cut / sides if format in SHARES else cut, format)
        # As albumentations will see them: what is too thin for its numbers is empty.
        seen = corners_of(values, format, *size.T[::-1]) if len(values) else cut
        empty = ~(seen[:, 2:] > seen[:, :2]).all(axis=1)
    states[empty] = np.where((given[:, 2:] > given[:, :2]).all(axis=1) & (states == 1), 2, 3)[empty]
    states[size[:, 0] == 0] = -1
    return values, states


def _in_format(corners: Floats, format: str) -> npt.NDArray[np.float32]:
    """Left, top, right and bottom as float32 in the format."""
    low, high = corners[:, :2], corners[:, 2:]
    if format == "coco":
        return np.hstack([low, high - low]).astype(np.float32)
    if format != "yolo":
        return corners.astype(np.float32)
    middle, extent = ((low + high) / 2).astype(np.float32), (high - low).astype(np.float32)
    # Rounded, a box could begin a hair left of its picture, and albumentations refuses it.
    return np.hstack([middle, np.minimum(extent, np.minimum(2 * middle, 2 * (1 - middle)))])
