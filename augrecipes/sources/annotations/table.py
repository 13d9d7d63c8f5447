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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError, counted
from augrecipes.images.format import ImageHeader
from augrecipes.images.reading import read_headers
from augrecipes.sources.annotations import coco, labelme, voc, yolo
from augrecipes.sources.annotations.files import PathView, is_image
from augrecipes.sources.annotations.records import FLAGGED, POINT, AnnotationOptions, AnnotationSet
from augrecipes.sources.annotations.targets import SHARES, boxes_of, outlines_of, points_of
from augrecipes.sources.columns import Columns, Recorded, number
from augrecipes.sources.defects import Findings, upright
from augrecipes.sources.paths import PathLike, PathTable, faults_of, local_name

FORMATS: tuple[Any, ...] = (coco, labelme, voc, yolo)
_TABLES = (".csv", ".tsv")
_MARKED = 'marked as a crowd, difficult or to be ignored: neither boxes nor keypoints, unless crowds="keep"'
_HASH = np.random.default_rng(0).integers(1 << 63, size=6, dtype=np.uint64)  # of an object's image, class and box
_TWICE = "with the class and the box of one before it on the same image, kept"
_NAMED = 5  # classes in a note
Floats = npt.NDArray[np.float64]


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
    flags, labels = np.asarray(found.flags), np.asarray(found.labels)
    things = np.column_stack([found.images, labels, np.reshape(found.corners, (-1, 4))])
    _, first = np.unique(things.view(np.uint64) @ _HASH, return_index=True)
    found.tally_objects(_TWICE, np.delete(np.arange(len(found)), first))
    plain = (labels >= 0) & ((flags != FLAGGED) | (wanted.crowds == "keep"))
    if not wanted.takes.isdisjoint(("boxes", "keypoints")):
        found.tally_objects(_MARKED, np.flatnonzero((labels >= 0) & ~plain))
    recorded = np.asarray(found.sizes).reshape(-1, 2)
    sizes = _sizes(found, wanted, images)
    inputs, given = wanted.inputs, dict[str, Any]()
    if "boxes" in wanted.takes and inputs.boxes is not None:
        given["boxes"] = boxes_of(found, plain & (flags != POINT), sizes, inputs.boxes.format, classes)
    found.corners = array("d")  # of no more use, and much where there are a million
    if "keypoints" in wanted.takes and inputs.keypoints is not None and sizes is not None:
        given["keypoints"] = points_of(found, plain, sizes, inputs.keypoints)
    if "mask" in wanted.takes:
        given["outlines"] = outlines_of(found, sizes)
    found.tell()
    _tell_of_lack(found, given, classes or ())
    numbers = np.asarray(found.ids)
    return Columns(
        files={"image": images},
        recorded=Recorded(recorded, found.path) if recorded.any() else None,
        ids=numbers if (numbers >= 0).any() else None,
        box_classes=classes,
        box_numbers=ids,
        **given,
    )


def _tell_of_lack(found: AnnotationSet, given: dict[str, Any], classes: Sequence[str]) -> None:
    """Note classes without objects; where no box, or no keypoint, is left, also what would keep one."""
    notes, used = found.findings.notes, {*found.labels}
    if lacking := [name for k, name in enumerate(classes) if used and k not in used]:
        names = ", ".join([*lacking[:_NAMED], *(["..."] if len(lacking) > _NAMED else [])])
        notes.append(f"{counted(len(lacking), 'class')} without an object: {names}")
    cure = "there is no object: give annotations that have some, or a recipe without boxes"
    if max(used, default=-1) >= 0:
        cure = "coordinates should be those of the format, in px of these images, and objects more than points"
        cure = 'crowds="keep" keeps marked objects' if ("object", _MARKED) in found.tallies else cure
    invisible = any(thing == "keypoint" for thing, _ in found.tallies)
    shown = "`remove_invisible: false` keeps those outside, and those not labelled" if invisible else cure
    for name, rows in given.items():
        kinds = [kind for kind, what in found.tallies if what == labelme.DROPPED]
        kinds = [kind for kind in kinds if (kind in labelme.POINTS) == (name == "keypoints")]
        kept = f"take {' and '.join(kinds)} out of drop_shapes=" if kinds else shown if name == "keypoints" else cure
        if kinds if rows is None else not len(rows.values):
            notes.append(f"no {name} are left: {kept}")


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
    for label in np.unique(labels[labels >= 0]).tolist():
        if names[label] not in place:
            first = int(np.flatnonzero(labels == label)[0])
            found.fault(found.where(first), f"class {names[label]!r} is not among box_classes=")
    id_of = dict(zip(names, found.class_ids or (), strict=False))
    found.rename([place.get(name, 0) for name in names])
    return tuple(given), tuple(id_of[name] for name in given) if id_of.keys() == place.keys() else None


def _paths(found: AnnotationSet, wanted: AnnotationOptions) -> PathTable:
    """The paths of the images; those that are missing, lie outside or are those of two files are faults."""
    said, first = found.names, dict[str, int]()
    found.names = [local_name(found.root or "", name) for name in said]
    changed = [old for old, new in zip(said, found.names, strict=True) if old != new]
    found.tally("name", "as Windows writes paths, read by its last parts", "".join(changed[:1]), len(changed))
    for i, name in enumerate(found.names):
        other = first.setdefault(os.path.normpath(name) if "./" in name else name, i)
        if found.files[other] != found.files[i] and not found.relative:
            found.fault(found.files[i], f"is of the image {name}, as {found.files[other]} is: remove one of the two")
        elif other != i:
            found.tally("image", "listed again, so read twice", f"{found.files[i]}: {name}")
    images = PathTable.from_paths(found.names, root=found.root or b"")
    wrong = faults_of(images, found.within or b"", check=wanted.check, outside=wanted.outside or found.within is None)
    missing = 0
    for i, what in wrong:
        found.fault(found.files[i], what + found.hints.get(i, ""))
        missing += what.endswith("no such file")
    if missing == len(images) > 1:
        what = f"none of its {len(images):,} images is there (first: {images[0]}){found.hints.get(0, '')}"
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
