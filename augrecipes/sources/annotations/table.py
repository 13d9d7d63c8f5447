"""Annotations as the table of an ImageFolder: what a recipe takes of them, by the rules that hold for every format.

- Labels are 0, 1, ... in the order that the file gives its classes, or else sorted; or in that of `box_classes=`.
- Objects that are marked as a crowd or as difficult give no boxes and no keypoints, unless they are asked for; what
  they cover is drawn in masks.
- Boxes that reach beyond their image are cut to it; those outside of it, and those without width or height, are left
  out. So are keypoints that are not labelled, or lie outside, unless the recipe says `remove_invisible: false`. The log
  says how many, and where the first one is.
- Coordinates count in the image as it is read: turned as its EXIF orientation says, unless `exif="ignore"`. A size
  that the annotations record is compared with the image's when the sample is read.
- Images lie in the folder of the data, links followed, unless `outside=True`.
- Keypoints have three numbers: x, y, and how the point can be seen (0 not labelled, 1 hidden, 2 seen), or, of a point
  of no object, the label of its class. Their own label is their number among those of the image in the file.
"""

from __future__ import annotations

import os
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError, RecipeError, counted
from augrecipes.images.format import ImageHeader
from augrecipes.images.reading import read_headers
from augrecipes.sources.annotations import coco, labelme, voc, yolo
from augrecipes.sources.annotations.files import PathView, is_image
from augrecipes.sources.annotations.records import FLAGGED, POINT, AnnotationOptions, AnnotationSet
from augrecipes.sources.columns import Columns, Ragged, Recorded, number
from augrecipes.sources.defects import Findings, corners_of, upright
from augrecipes.sources.paths import PathLike, PathTable, faults_of
from augrecipes.sources.polygons import Outlines

if TYPE_CHECKING:
    from augrecipes.recipe.model import Keypoints

FORMATS: tuple[Any, ...] = (coco, labelme, voc, yolo)
_TABLES = (".csv", ".tsv")
SHARES = ("yolo", "albumentations")  # formats of boxes that count in shares of the image
_BATCH = 1 << 16  # objects, so that little memory is used beside them
_NEGLIGIBLE = 1e-5  # of an image: what rounding leaves outside of it
_SAID = {
    1: "reaching beyond the image, cut to it",
    2: "outside of the image, left out",
    3: "without width or height, left out",
}
_FINE = 1  # states up to this one
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Chosen = npt.NDArray[np.bool_]


def _format_of(source: PathView) -> Any:
    """The one format of a file or folder; DataError where it is of none, or of several."""
    if not source.path.exists():
        raise DataError("no such file or folder", str(source.path))
    found = [format for format in FORMATS if format.claims(source)]
    if len(found) == 1:
        return found[0]
    if found:
        titles = " or ".join(format.TITLE for format in found)
        what = f"holds annotations of {titles}: give a file or a folder with those of one alone"
    else:
        looks = "".join(f"\n  {format.TITLE}: {format.LOOKS}" for format in FORMATS)
        what = f"no annotations of a format that is known; CVAT and most other tools export COCO:{looks}"
    raise DataError(what, str(source.path))


def is_annotated(path: PathLike) -> bool:
    """Whether `files=` names annotations: anything but a CSV file, which has one row an image."""
    return not os.fsdecode(path).lower().endswith(_TABLES)


def is_given_as_data(path: PathLike, *, points: bool) -> bool:
    """Whether `--data` names annotations, and no images.

    A folder with images in it is one of images, unless the recipe takes boxes or keypoints (`points`) and the folder
    has some.
    """
    source = PathView(Path(os.fsdecode(path)))
    if not source.path.exists() or is_image(source.path.name) or (not source.is_folder and not is_annotated(path)):
        return False
    if not points and source.has_images:
        return False
    return any(format.claims(source) for format in FORMATS)


def table_of_annotations(path: PathLike, wanted: AnnotationOptions, findings: Findings) -> Columns:
    """The images that annotations name, with what a recipe takes of them.

    Args:
        path: a file or a folder.
        wanted: what is asked.
        findings: takes what is wrong with records, which are left out, and what is to be known.

    Raises:
        DataError: the annotations are of no known format, or as a whole not as they should be; names the file.
    """
    source = PathView(Path(os.fsdecode(path)))
    found, format = AnnotationSet(str(source.path), findings), _format_of(source)
    if wanted.split is not None and format in (coco, labelme):
        what = f"{format.TITLE} has no splits; give the file or folder of the split"
        raise DataError(f"split={wanted.split!r}: {what}", str(source.path))
    format.read(source, wanted, found)
    if not found.names:
        findings.refuse()
        raise DataError("lists no images", str(source.path))
    classes, ids = _classes(found, wanted)
    images = _paths(found, wanted)
    flags = np.asarray(found.flags)
    plain = (flags != FLAGGED) | (wanted.crowds == "keep")
    recorded = np.asarray(found.sizes).reshape(-1, 2)
    sizes = _sizes(found, wanted, images)
    inputs, given = wanted.inputs, dict[str, Any]()
    if "boxes" in wanted.takes and inputs.boxes is not None:
        given["boxes"] = _boxes_of(found, plain & (flags != POINT), sizes, inputs.boxes.format, classes)
    found.corners = array("d")  # of no more use, and much where there are a million
    if "keypoints" in wanted.takes and inputs.keypoints is not None and sizes is not None:
        given["keypoints"] = _points_of(found, plain, sizes, inputs.keypoints)
    if "mask" in wanted.takes:
        given["outlines"] = _outlines_of(found)
    numbers = np.asarray(found.ids)
    return Columns(
        files={"image": images},
        recorded=Recorded(recorded, found.path) if recorded.any() else None,
        ids=numbers if (numbers >= 0).any() else None,
        box_classes=classes,
        box_numbers=ids,
        **given,
    )


def _classes(found: AnnotationSet, wanted: AnnotationOptions) -> tuple[tuple[str, ...] | None, tuple[int, ...] | None]:
    """Names of the labels, and their numbers in the file; labels are numbered so from now on."""
    names, given, labels = found.classes, wanted.classes, np.asarray(found.labels)
    if found.numbered:
        if given is None:
            return None, None
        for k in np.flatnonzero(labels >= len(given))[:1].tolist():
            found.fault(found.where(k), f"class {labels[k]}, and box_classes= names {len(given)}")
        return tuple(given), None
    if names is None and given is None:  # numbered as they were met, from now on as they sort
        numbers, order, number_of = number(list(found.seen))
        found.rename(numbers.tolist())
        return (None if order and all(name == str(k) for name, k in number_of.items()) else tuple(order)), None
    names = list(found.seen) if names is None else names
    if given is None:
        return tuple(names), None if found.class_ids is None else tuple(found.class_ids)
    place = {name: k for k, name in enumerate(given)}
    for label in np.unique(labels).tolist():
        if names[label] not in place:
            first = int(np.flatnonzero(labels == label)[0])
            found.fault(found.where(first), f"class {names[label]!r} is not among box_classes=")
    id_of = dict(zip(names, found.class_ids or (), strict=False))
    found.rename([place.get(name, 0) for name in names])
    return tuple(given), tuple(id_of[name] for name in given) if id_of.keys() == place.keys() else None


def _paths(found: AnnotationSet, wanted: AnnotationOptions) -> PathTable:
    """The paths of the images; those that are missing, or lie outside, are faults."""
    images = PathTable.from_paths(found.names, root=found.root or b"")
    wrong = faults_of(images, found.within or b"", check=wanted.check, outside=wanted.outside or found.within is None)
    missing = 0
    for i, what in wrong:
        found.fault(found.files[i], what)
        missing += what.endswith("no such file")
    if missing == len(images) > 1:
        what = f"none of its {len(images):,} images is there (first: {images[0]})"
        raise DataError(f"{what}; give their folder (root=, or images=FOLDER)", found.path)
    return images


def _sizes(found: AnnotationSet, wanted: AnnotationOptions, images: PathTable) -> Floats | None:
    """(width, height) of each image; 0 of those that have no objects, or cannot be read. None: not needed."""
    boxes = wanted.inputs.boxes
    in_px = boxes is not None and "boxes" in wanted.takes and boxes.format not in SHARES
    if found.relative and not in_px and "keypoints" not in wanted.takes:
        return None  # all that is taken of shares stays in shares
    sizes = np.asarray(found.sizes).reshape(-1, 2).astype(np.float64)
    needed = np.zeros(len(images), bool)
    needed[np.asarray(found.images)] = True
    unknown = np.flatnonzero(needed & (sizes[:, 0] == 0)).tolist()
    for i, header in zip(unknown, read_headers([images[i] for i in unknown]), strict=True):
        if isinstance(header, ImageHeader):
            height, width = upright(header, wanted.exif)
            sizes[i] = width, height
        elif wanted.check:
            found.fault(images[i], f"its size is needed for its annotations: {header}")
    return sizes


def _boxes_of(
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
        if len(at := np.flatnonzero(states == state)):
            found.findings.notes.append(f"{counted(len(at), 'box')} {what} (first: {found.where(int(chosen[at[0]]))})")
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


def _points_of(found: AnnotationSet, taken: Chosen, sizes: Floats, declared: Keypoints) -> Ragged | None:
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
    chosen, owner, image = _of(found, found.point_object, taken)
    values = np.asarray(found.point_values).reshape(-1, 3)[chosen]
    labelled = np.asarray(found.flags)[owner] == POINT
    values[labelled, 2] = np.asarray(found.labels)[owner[labelled]]
    if found.relative:
        values[:, :2] *= sizes[image]
    counts = np.bincount(image, minlength=len(sizes))
    order = np.arange(len(image)) - np.repeat(np.cumsum(counts) - counts, counts)
    numbers = np.stack([np.where(labelled, -1, owner), order, order + np.asarray(found.point_shift)[chosen]], axis=1)
    if declared.remove_invisible:
        (x, y, v), (width, height) = values.T, sizes[image].T
        inside, seen = (x >= 0) & (y >= 0) & (x < width) & (y < height), labelled | (v > 0)
        if outside := int((~inside & seen & (width > 0)).sum()):
            found.findings.notes.append(f"{counted(outside, 'keypoint')} outside of the image, left out")
        there = inside & seen
        values, numbers, counts = values[there], numbers[there], np.bincount(image[there], minlength=len(sizes))
    if declared.format == "yx":
        values = values[:, [1, 0, 2]]
    return Ragged(values, _ends(counts), numbers[:, 1], None, numbers[:, : 3 if any(found.point_shift) else 1])


def _outlines_of(found: AnnotationSet) -> Outlines | None:
    """What the objects of a table cover; None where the data has no polygons and no masks."""
    if not found.area_object:
        return None
    rings, owner, image = _of(found, found.area_object, np.ones(len(found), bool))
    corners = Ragged(np.asarray(found.area_points).reshape(-1, 2), _ends(found.area_length)).take(rings)
    entries = [found.area_runs.get(ring, b"") for ring in rings.tolist()] if found.area_runs else []
    return Outlines(
        values=np.asarray(found.labels)[owner] + np.int32(1),
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
