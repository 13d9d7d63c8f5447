"""The table of an ImageFolder from annotations: the targets that a recipe takes, by rules that hold for every format.

- Labels are 0, 1, ... in the order of the file's classes, or else sorted; or in the order of `box_classes=`.
- Objects marked as a crowd or as difficult give no boxes and no keypoints, unless `crowds="keep"`; masks show them.
- Boxes are clipped to their image; boxes outside it, or without width or height, are left out. So are keypoints that
  are not labelled or lie outside, unless the recipe says `remove_invisible: false`. The log says how many, and the
  place of the first.
- Coordinates count in the image as it is read: turned as its EXIF orientation says, unless `exif="ignore"`. The image
  size in the annotations is compared with the image's own when the sample is read.
- Images must lie in the folder of the data, links resolved, unless `outside=True`.
- A keypoint has three numbers: x, y, and its visibility (0 not labelled, 1 hidden, 2 visible), or, for a point that
  belongs to no object, the label of its class. Its own label is its number among the image's keypoints in the file.
"""

import os
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError, counted
from augrecipes.images.format import ImageHeader
from augrecipes.images.reading import read_headers
from augrecipes.paths import is_image
from augrecipes.sources.annotations import coco, labelme, targets, voc, yolo
from augrecipes.sources.annotations.files import PathView
from augrecipes.sources.annotations.records import FLAGGED, POINT, AnnotationOptions, AnnotationSet
from augrecipes.sources.columns import Columns, Recorded, number
from augrecipes.sources.defects import Findings, upright
from augrecipes.sources.paths import PathLike, PathTable, local_name, path_problems

FORMATS: tuple[Any, ...] = (coco, labelme, voc, yolo)
_TABLES = (".csv", ".tsv")
_MARKED = 'marked as a crowd, difficult or to be ignored: neither boxes nor keypoints, unless crowds="keep"'
_HASH = np.random.default_rng(0).integers(
    1 << 63, size=6, dtype=np.uint64
)  # weights of a hash of an object's image, class and box
_TWICE = "with the class and the box of one before it on the same image, kept"
_NAMED = 5  # classes that a note names
Floats = npt.NDArray[np.float64]


def is_annotated(path: PathLike) -> bool:
    """Whether `files=` names annotations: anything but a CSV or TSV file, which has one row per image."""
    return not os.fsdecode(path).lower().endswith(_TABLES)


def is_given_as_data(path: PathLike, *, points: bool) -> bool:
    """Whether `--data` names annotations rather than images.

    A folder with images in it counts as images, unless the recipe takes boxes or keypoints (`points`) and the folder
    also has annotations.
    """
    source = PathView(Path(os.fsdecode(path)))
    if not source.path.exists() or is_image(source.path.name) or (not source.is_folder and not is_annotated(path)):
        return False
    return (points or not source.has_images) and any(format.claims(source) for format in FORMATS)


def table_of_annotations(path: PathLike, options: AnnotationOptions, findings: Findings) -> Columns:
    """The annotated images, with the targets that the recipe takes.

    Args:
        path: a file or a folder.
        options: how to read it.
        findings: receives a defect for each unusable record, and notes.

    Raises:
        DataError: the annotations are of no known format, or cannot be used at all; the message names the file.
    """
    source = PathView(Path(os.fsdecode(path)))
    annotations, format = AnnotationSet(str(source.path), findings), _format_of(source)
    if options.split is not None and format in (coco, labelme):
        what = f"{format.TITLE} has no splits; give the file or folder of the split"
        raise DataError(f"split={options.split!r}: {what}", annotations.path)
    format.read(source, options, annotations)
    if not annotations.names:
        findings.refuse()
        raise DataError("lists no images", annotations.path)
    classes, class_ids = _number_classes(annotations, options.classes)
    images = _paths(annotations, options)
    flags, labels = np.asarray(annotations.flags), np.asarray(annotations.labels)
    objects = np.column_stack([annotations.images, labels, np.reshape(annotations.corners, (-1, 4))])
    _, first = np.unique(objects.view(np.uint64) @ _HASH, return_index=True)
    annotations.tally_objects(_TWICE, np.delete(np.arange(len(annotations)), first))
    plain = (labels >= 0) & ((flags != FLAGGED) | (options.crowds == "keep"))
    if not options.takes.isdisjoint(("boxes", "keypoints")):
        annotations.tally_objects(_MARKED, np.flatnonzero((labels >= 0) & ~plain))
    recorded, ids = np.asarray(annotations.sizes).reshape(-1, 2), np.asarray(annotations.ids)
    sizes = _sizes(annotations, options, images)
    inputs, columns = options.inputs, dict[str, Any]()
    if "boxes" in options.takes and inputs.boxes is not None:
        columns["boxes"] = targets.boxes_of(annotations, plain & (flags != POINT), sizes, inputs.boxes.format, classes)
    annotations.corners = array("d")  # no longer needed, and large for a million objects
    if "keypoints" in options.takes and inputs.keypoints is not None:
        columns["keypoints"] = targets.points_of(annotations, plain, sizes, inputs.keypoints)
    if "mask" in options.takes:
        columns["outlines"] = targets.outlines_of(annotations, sizes)
    findings.notes += [
        f"{counted(count, thing)} {what} (first: {first})"
        for (thing, what), (count, first) in annotations.tallies.items()
    ]
    _note_empty(annotations, columns, classes or ())
    return Columns(
        files={"image": images},
        recorded=Recorded(recorded, annotations.path) if recorded.any() else None,
        ids=ids if (ids >= 0).any() else None,
        box_classes=classes,
        box_numbers=class_ids,
        **columns,
    )


def _format_of(source: PathView) -> Any:
    """The format that claims this file or folder; DataError unless exactly one does."""
    if not source.path.exists():
        raise DataError("no such file or folder", str(source.path))
    formats = [format for format in FORMATS if format.claims(source)]
    if len(formats) == 1:
        return formats[0]
    if formats:
        titles = " or ".join(format.TITLE for format in formats)
        what = f"holds annotations of {titles}: give a file or a folder with those of one alone"
    else:
        looks = "".join(f"\n  {format.TITLE}: {format.LOOKS}" for format in FORMATS)
        what = f"no annotations of a format that is known; CVAT and most other tools export COCO:{looks}"
    raise DataError(what, str(source.path))


def _note_empty(annotations: AnnotationSet, columns: dict[str, Any], classes: Sequence[str]) -> None:
    """Note classes without objects; where no box or no keypoint is left, note also what would keep some."""
    notes, used = annotations.findings.notes, {*annotations.labels}
    if lacking := [name for k, name in enumerate(classes) if used and k not in used]:
        names = ", ".join([*lacking[:_NAMED], *(["..."] if len(lacking) > _NAMED else [])])
        notes.append(f"{counted(len(lacking), 'class')} without an object: {names}")
    cure = "coordinates should be those of the format, in px of these images, and objects more than points"
    if max(used, default=-1) < 0:
        cure = "there is no object: give annotations that have some, or a recipe without boxes"
    elif ("object", _MARKED) in annotations.tallies:
        cure = 'crowds="keep" keeps marked objects'
    for name, rows in columns.items():
        dropped = [kind for kind, what in annotations.tallies if what == labelme.DROPPED]
        dropped = [kind for kind in dropped if (kind in labelme.POINTS) == (name == "keypoints")]
        if dropped:
            cure = f"take {' and '.join(dropped)} out of drop_shapes="
        elif name == "keypoints" and any(thing == "keypoint" for thing, _ in annotations.tallies):
            cure = "`remove_invisible: false` keeps those outside, and those not labelled"
        if dropped if rows is None else not len(rows.values):
            notes.append(f"no {name} are left: {cure}")


def _number_classes(annotations: AnnotationSet, wanted: Sequence[str] | None) -> tuple[tuple[str, ...] | None, Any]:
    """Renumber the labels by the wanted or sorted classes; return the class names, and their ids in the file."""
    names, ids, labels = annotations.classes, annotations.class_ids, np.asarray(annotations.labels)
    if names is None and not annotations.numbered:
        names = [*annotations.label_of]
        if wanted is None:  # numbered in order of appearance so far
            numbers, order, number_of = number(names)
            annotations.rename(numbers.tolist())
            return (None if order and all(name == str(k) for name, k in number_of.items()) else tuple(order)), None
    if wanted is None:
        return None if names is None else tuple(names), ids and tuple(ids)
    place = {name: k for k, name in enumerate(wanted)}
    known = [place.get(name, -1) for name in names or ()] if names is not None else range(len(wanted))
    for label in np.unique(labels[labels >= 0]).tolist():
        if label >= len(known) or known[label] < 0:
            what = f"class {names[label]!r} is not" if names else f"class {label}: no class of this number is"
            first = int(np.flatnonzero(labels == label)[0])
            annotations.defect(annotations.object_place(first), f"{what} among box_classes=")
    if names is None:
        return tuple(wanted), None
    annotations.rename([max(k, 0) for k in known])
    id_of = dict(zip(names, ids or (), strict=False))
    return tuple(wanted), tuple(id_of[name] for name in wanted) if id_of.keys() == place.keys() else None


def _paths(annotations: AnnotationSet, options: AnnotationOptions) -> PathTable:
    """The paths of the images; adds defects for images that are missing, lie outside, or stand in two files."""
    written, first, files = annotations.names, dict[str, int](), annotations.files
    names = annotations.names = [local_name(annotations.root or "", name) for name in written]
    changed = [old for old, new in zip(written, names, strict=True) if old != new]
    annotations.tally("name", "as Windows writes paths, read by its last parts", "".join(changed[:1]), len(changed))
    for i, name in enumerate(names):
        other = first.setdefault(os.path.normpath(name) if "./" in name else name, i)
        if files[other] != files[i] and not annotations.relative:
            annotations.defect(files[i], f"is of the image {name}, as {files[other]} is: remove one of the two")
        elif other != i:
            annotations.tally("image", "listed again, so read twice", f"{files[i]}: {name}")
    images, within = PathTable.from_paths(names, root=annotations.root or b""), annotations.within
    missing = 0
    for i, what in path_problems(images, within or b"", check=options.check, outside=options.outside or within is None):
        annotations.defect(files[i], what + annotations.hints.get(i, ""))
        missing += what.endswith("no such file")
    if missing == len(images) > 1:
        what = f"none of its {len(images):,} images is there (first: {images[0]}){annotations.hints.get(0, '')}"
        raise DataError(f"{what}; give their folder (root=, or images=FOLDER)", annotations.path)
    return images


def _sizes(annotations: AnnotationSet, options: AnnotationOptions, images: PathTable) -> Floats:
    """(width, height) of each image, in the unit of its coordinates; 0 if unreadable or without objects."""
    boxes = options.inputs.boxes
    in_px = boxes is not None and "boxes" in options.takes and boxes.format not in targets.SHARES
    if annotations.relative and not in_px and "keypoints" not in options.takes:
        return np.ones((len(images), 2))  # fractions stay fractions
    sizes = np.asarray(annotations.sizes).reshape(-1, 2).astype(np.float64)
    needed = np.zeros(len(images), bool)
    needed[np.asarray(annotations.images)] = True
    unknown = np.flatnonzero(needed & (sizes[:, 0] == 0)).tolist()
    for i, header in zip(unknown, read_headers([images[i] for i in unknown]), strict=True):
        if isinstance(header, ImageHeader):
            sizes[i] = upright(header, options.exif)[::-1]
        elif options.check:
            annotations.defect(images[i], f"its size is needed for its annotations: {header}")
    return sizes
