"""Boxes, keypoints and areas of the objects that annotations hold, as a recipe takes them: columns of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError, RecipeError
from augrecipes.sources.annotations.records import IGNORE, POINT, AnnotationSet
from augrecipes.sources.columns import Ragged
from augrecipes.sources.defects import corners_of
from augrecipes.sources.polygons import Outlines, any_inside

if TYPE_CHECKING:
    from augrecipes.recipe.model import Keypoints

SHARES = ("yolo", "albumentations")  # formats of boxes that count in shares of the image
_BATCH = 1 << 16  # objects, so that little memory is used beside them
_NEGLIGIBLE = 1e-5  # of an image: what rounding leaves outside of it
_SAID = {
    1: "reaching beyond the image, cut to it",
    2: "outside of the image, left out",
    3: "without width or height, left out",
    -1: "on an image whose size is not known, left out",
}
_IGNORED = 255  # in masks, by labelme's own converter
_FINE = 1  # states up to this one
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Chosen = npt.NDArray[np.bool_]


def boxes_of(
    found: AnnotationSet, taken: Chosen, sizes: Floats | None, format: str, classes: tuple[str, ...] | None
) -> Ragged:
    """The boxes of a table; what is cut or left out is noted.

    Args:
        found: the objects.
        taken: which of them.
        sizes: (width, height) of each image, px, 0 where it is not known: its boxes are left out. None: all is shares.
        format: `pascal_voc`, `coco`, `yolo` or `albumentations`.
        classes: names of the labels.
    """
    chosen, _, image = _of(found, np.arange(len(found), dtype=np.int32), taken)
    corners = np.asarray(found.corners).reshape(-1, 4)
    values, states = np.zeros((len(chosen), 4), np.float32), np.zeros(len(chosen), np.int8)
    for start in range(0, len(chosen), _BATCH):
        part = chosen[start : start + _BATCH]
        size = np.ones((len(part), 2)) if sizes is None else sizes[image[start : start + _BATCH]]
        made = _made(corners[part], size, format, relative=found.relative)
        values[start : start + len(part)], states[start : start + len(part)] = made
    for state, what in _SAID.items():
        found.tally_objects(what, chosen[states == state], "box")
    kept = (states >= 0) & (states <= _FINE)
    offsets, chosen = _ends(np.bincount(image[kept], minlength=len(found.names))), chosen[kept]
    return Ragged(values[kept], offsets, np.asarray(found.labels, np.int64)[chosen], classes, chosen[:, None])


def _made(corners: Floats, size: Floats, format: str, *, relative: bool) -> tuple[npt.NDArray[np.float32], Any]:
    """Boxes in a format, and what became of each: 0 nothing, -1 its image's size is not known, or of `_SAID`."""
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
    # Rounded, a box could begin a hair left of its image, and albumentations refuses it.
    return np.hstack([middle, np.minimum(extent, np.minimum(2 * middle, 2 * (1 - middle)))])


def points_of(found: AnnotationSet, taken: Chosen, sizes: Floats, declared: Keypoints) -> Ragged | None:
    """The keypoints of a table; None where the data has none.

    Args:
        found: the objects.
        taken: which of them.
        sizes: (width, height) of each image, px.
        declared: by the recipe.

    Raises:
        RecipeError: keypoints of a format that annotations do not have.
    """
    if declared.format not in ("xy", "yx"):
        what = f"keypoints of annotations are x and y; the recipe declares {declared.format!r}, not xy or yx"
        raise RecipeError(what)
    if not found.point_object:
        return None
    flags = np.asarray(found.flags)
    bare = taken & (flags != POINT) & (flags[np.asarray(found.point_object)] != POINT).any()
    bare[found.point_object] = False
    found.tally_objects("without keypoints", np.flatnonzero(bare))
    chosen, owner, image = _of(found, found.point_object, taken)
    values = np.asarray(found.point_values).reshape(-1, 3)[chosen]
    labelled = flags[owner] == POINT
    values[labelled, 2] = np.asarray(found.labels)[owner[labelled]]
    if found.relative:
        values[:, :2] *= sizes[image]
    counts = np.bincount(image, minlength=len(sizes))
    order = np.arange(len(image)) - np.repeat(np.cumsum(counts) - counts, counts)
    numbers = np.stack([np.where(labelled, -1, owner), order, order + np.asarray(found.point_shift)[chosen]], axis=1)
    if declared.remove_invisible:
        (x, y, v), (width, height) = values.T, sizes[image].T
        inside, seen = (x >= 0) & (y >= 0) & (x < width) & (y < height), labelled | (v > 0)
        for lost, what in ((~inside & seen, "outside of the image, left out"), (~seen, "not labelled, left out")):
            found.tally_objects(what, owner[lost], "keypoint")
        there = inside & seen
        values, numbers, counts = values[there], numbers[there], np.bincount(image[there], minlength=len(sizes))
    if declared.format == "yx":
        values = values[:, [1, 0, 2]]
    return Ragged(values, _ends(counts), numbers[:, 1], None, numbers[:, : 3 if any(found.point_shift) else 1])


def outlines_of(found: AnnotationSet, sizes: Any) -> Outlines | None:
    """What the objects of a table cover; None where the data has no polygons and no masks. See `boxes_of`."""
    if not found.area_object:
        return None
    rings, owner, image = _of(found, found.area_object, np.ones(len(found), bool))
    corners = Ragged(np.asarray(found.area_points).reshape(-1, 2), _ends(found.area_length)).take(rings)
    entries = [found.area_runs.get(ring, b"") for ring in rings.tolist()] if found.area_runs else []
    labels = np.asarray(found.labels)
    polygon = np.diff(corners.offsets) > 0
    size = np.ones((len(found.names), 2)) if found.relative else np.where(sizes > 0, sizes, np.inf)
    low, high = (of.reduceat(corners.values, corners.offsets[:-1][polygon]) for of in (np.minimum, np.maximum))
    drawn = np.array([any_inside(entry) for entry in entries] or polygon)
    drawn[polygon] = ((high > 0) & (low < size[image[polygon]])).all(axis=1)
    bare = (labels >= 0) & (np.asarray(found.flags) != POINT)
    bare[owner[drawn]] = False
    found.tally_objects("without an area in their image, not in masks", np.flatnonzero(bare))
    if (labels == IGNORE).any() and labels.max() >= _IGNORED - 1:
        what = f"has {labels.max() + 1} classes, and {_IGNORED} in masks is what is to be ignored: 254 are the most"
        raise DataError(what, found.path)
    return Outlines(
        values=np.where(labels[owner] == IGNORE, _IGNORED, labels[owner] + 1).astype(np.int32),
        offsets=_ends(np.bincount(image, minlength=len(found.names))),
        points=corners.values,
        point_offsets=corners.offsets,
        blob=b"".join(entries),
        # Zeros that nobody has written take no memory.
        blob_offsets=_ends([len(entry) for entry in entries]) if entries else np.zeros(len(rings) + 1, np.int64),
        relative=found.relative,
    )


def _of(found: AnnotationSet, owners: Any, taken: Chosen) -> tuple[Ints, Any, Any]:
    """Parts of the objects that are taken, in the order of the images: which, whose, and the image of each."""
    owner = np.asarray(owners)
    chosen = np.flatnonzero(taken[owner])
    image = np.asarray(found.images)[owner[chosen]]
    if (image[1:] < image[:-1]).any():
        chosen = chosen[np.argsort(image, kind="stable")]
    owner = owner[chosen]
    return chosen, owner, np.asarray(found.images)[owner]


def _ends(counts: Any) -> Ints:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
