"""Columns of a table from an AnnotationSet: boxes, keypoints and outlines in the recipe's formats."""

from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError, RecipeError
from augrecipes.recipe.model import Keypoints
from augrecipes.sources import defects, polygons
from augrecipes.sources.annotations.records import IGNORE, POINT, AnnotationSet
from augrecipes.sources.columns import Ragged

SHARES = ("yolo", "albumentations")  # box formats in fractions of the image
_BATCH = 1 << 16  # objects at a time, to keep temporary arrays small
_NEGLIGIBLE = 1e-5  # of an image's side: rounding errors outside it
_STATES = {
    1: "reaching beyond the image, cut to it",
    2: "outside of the image, left out",
    3: "without width or height, left out",
    -1: "on an image whose size is not known, left out",
}
_KEPT = (0, 1)  # states of boxes that are kept
_IGNORED = 255  # in masks, as labelme's own converter writes it
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Selection = npt.NDArray[np.bool_]


def boxes_of(
    annotations: AnnotationSet, selected: Selection, sizes: Floats, format: str, classes: tuple[str, ...] | None
) -> Ragged:
    """The column of boxes, clipped to their images; tallies the clipped ones and those left out.

    Args:
        annotations: the objects.
        selected: (objects,) which of them to take.
        sizes: (width, height) of each image, px; boxes of an image of size 0 are left out.
        format: `pascal_voc`, `coco`, `yolo` or `albumentations`.
        classes: names of the labels.
    """
    objects, _, image = _by_image(annotations, np.arange(len(annotations), dtype=np.int32), selected)
    corners = np.asarray(annotations.corners).reshape(-1, 4)
    values, states = np.zeros((len(objects), 4), np.float32), np.zeros(len(objects), np.int8)
    for start in range(0, len(objects), _BATCH):
        part = slice(start, start + _BATCH)
        size, box = sizes[image[part]], corners[objects[part]]
        values[part], states[part] = _clip(box * np.tile(size, 2) if annotations.relative else box, size, format)
    for state, what in _STATES.items():
        annotations.tally_objects(what, objects[states == state], "box")
    kept = np.isin(states, _KEPT)
    offsets, objects = _offsets(np.bincount(image[kept], minlength=len(annotations.names))), objects[kept]
    return Ragged(values[kept], offsets, np.asarray(annotations.labels, np.int64)[objects], classes, objects[:, None])


def _clip(corners: Floats, size: Floats, format: str) -> tuple[npt.NDArray[np.float32], Any]:
    """Clip boxes to their images and convert them to a format; also the state of each: 0 unchanged, or of `_STATES`."""
    sides = np.tile(size, 2)
    cut = np.clip(corners, 0, sides)
    states = np.where((np.abs(cut - corners) > _NEGLIGIBLE * sides).any(axis=1), 1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = _in_format(cut / sides if format in SHARES else cut, format)
        # In albumentations' float32, in which a very thin box is empty.
        seen = defects.corners_of(values, format, *size.T[::-1])
        empty = ~(seen[:, 2:] > seen[:, :2]).all(axis=1)
    states[empty] = np.where((corners[:, 2:] > corners[:, :2]).all(axis=1) & (states == 1), 2, 3)[empty]
    states[size[:, 0] == 0] = -1
    return values, states


def _in_format(corners: Floats, format: str) -> npt.NDArray[np.float32]:
    """Convert left, top, right and bottom to float32 boxes of the format."""
    low, high = corners[:, :2], corners[:, 2:]
    if format == "coco":
        return np.hstack([low, high - low]).astype(np.float32)
    if format != "yolo":
        return corners.astype(np.float32)
    middle, extent = ((low + high) / 2).astype(np.float32), (high - low).astype(np.float32)
    # Rounding could let a box begin just left of its image, which albumentations refuses.
    return np.hstack([middle, np.minimum(extent, np.minimum(2 * middle, 2 * (1 - middle)))])


def points_of(annotations: AnnotationSet, selected: Selection, sizes: Floats, declared: Keypoints) -> Ragged | None:
    """The column of keypoints; None where the data has none.

    Args:
        annotations: the objects.
        selected: (objects,) which of them to take.
        sizes: (width, height) of each image, px.
        declared: the recipe's `inputs: keypoints`.

    Raises:
        RecipeError: the recipe's keypoint format is not one that annotations have.
    """
    if declared.format not in ("xy", "yx"):
        what = f"keypoints of annotations are x and y; the recipe declares {declared.format!r}, not xy or yx"
        raise RecipeError(what)
    if not annotations.point_object:
        return None
    bare_points = np.asarray(annotations.flags) == POINT  # objects that are points with a label
    bare = selected & ~bare_points & ~bare_points[np.asarray(annotations.point_object)].all()
    bare[annotations.point_object] = False
    annotations.tally_objects("without keypoints", np.flatnonzero(bare))
    points, owner, image = _by_image(annotations, annotations.point_object, selected)
    values = np.asarray(annotations.point_values).reshape(-1, 3)[points]
    labelled = bare_points[owner]
    values[labelled, 2] = np.asarray(annotations.labels)[owner[labelled]]
    if annotations.relative:
        values[:, :2] *= sizes[image]
    ends = _offsets(np.bincount(image, minlength=len(sizes)))
    order = np.arange(len(image)) - ends[image]
    shifted = order + np.asarray(annotations.point_shift)[points]
    numbers = np.stack([np.where(labelled, -1, owner), order, shifted], axis=1)
    if declared.remove_invisible:
        inside = ((values[:, :2] >= 0) & (values[:, :2] < sizes[image])).all(axis=1)
        seen = labelled | (values[:, 2] > 0)
        for lost, what in ((~inside & seen, "outside of the image, left out"), (~seen, "not labelled, left out")):
            annotations.tally_objects(what, owner[lost], "keypoint")
        kept = inside & seen
        values, numbers, ends = values[kept], numbers[kept], _offsets(np.bincount(image[kept], minlength=len(sizes)))
    if declared.format == "yx":
        values = values[:, [1, 0, 2]]
    return Ragged(values, ends, numbers[:, 1], None, numbers[:, : 3 if any(annotations.point_shift) else 1])


def outlines_of(annotations: AnnotationSet, sizes: Any) -> polygons.Outlines | None:
    """The column of areas that the objects cover; None where the data has no polygons and no masks. See `boxes_of`."""
    if not annotations.area_object:
        return None
    areas, owner, image = _by_image(annotations, annotations.area_object, np.ones(len(annotations), bool))
    corners = Ragged(np.asarray(annotations.area_points).reshape(-1, 2), _offsets(annotations.area_length)).take(areas)
    runs = [annotations.area_runs.get(area, b"") for area in areas.tolist()] if annotations.area_runs else []
    labels = np.asarray(annotations.labels)
    polygon = np.diff(corners.offsets) > 0
    size = np.ones((len(annotations.names), 2)) if annotations.relative else np.where(sizes > 0, sizes, np.inf)
    low, high = (bound.reduceat(corners.values, corners.offsets[:-1][polygon]) for bound in (np.minimum, np.maximum))
    drawn = np.array([polygons.any_inside(entry) for entry in runs] or polygon)
    drawn[polygon] = ((high > 0) & (low < size[image[polygon]])).all(axis=1)
    bare = (labels >= 0) & (np.asarray(annotations.flags) != POINT)
    bare[owner[drawn]] = False
    annotations.tally_objects("without an area in their image, not in masks", np.flatnonzero(bare))
    if (labels == IGNORE).any() and labels.max() >= _IGNORED - 1:
        what = f"has {labels.max() + 1} classes, and {_IGNORED} in masks is what is to be ignored: 254 are the most"
        raise DataError(what, annotations.path)
    return polygons.Outlines(
        values=np.where(labels[owner] == IGNORE, _IGNORED, labels[owner] + 1).astype(np.int32),
        offsets=_offsets(np.bincount(image, minlength=len(annotations.names))),
        points=corners.values,
        point_offsets=corners.offsets,
        blob=b"".join(runs),
        # Pages of zeros that are never written take no memory.
        blob_offsets=_offsets([len(entry) for entry in runs]) if runs else np.zeros(len(areas) + 1, np.int64),
        relative=annotations.relative,
    )


def _by_image(annotations: AnnotationSet, owners: Any, selected: Selection) -> tuple[Ints, Any, Any]:
    """Parts (boxes, points, areas) of the selected objects, sorted by image: their indices, objects and images."""
    owner, images = np.asarray(owners), np.asarray(annotations.images)
    parts = np.flatnonzero(selected[owner])
    image = images[owner[parts]]
    if (image[1:] < image[:-1]).any():
        parts = parts[np.argsort(image, kind="stable")]
    owner = owner[parts]
    return parts, owner, images[owner]


def _offsets(counts: Any) -> Ints:
    """Where the values of each row begin, and where the last row ends, from the number of values per row."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
