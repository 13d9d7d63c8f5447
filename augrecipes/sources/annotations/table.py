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
"""

from __future__ import annotations

import logging
import os
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError
from augrecipes.images.format import ImageHeader
from augrecipes.images.reading import read_headers
from augrecipes.sources.annotations import coco, labelme, voc, yolo
from augrecipes.sources.annotations.files import PathView, is_picture
from augrecipes.sources.annotations.objects import SHARES, boxes_of, outlines_of, points_of
from augrecipes.sources.annotations.records import FLAGGED, POINT, AnnotationOptions, AnnotationSet
from augrecipes.sources.columns import Columns, Findings
from augrecipes.sources.fits import upright
from augrecipes.sources.named_files import faults_of
from augrecipes.sources.paths import PathLike, PathTable
from augrecipes.sources.ragged import Recorded, number

FORMATS: tuple[Any, ...] = (coco, labelme, voc, yolo)
_TABLES = (".csv", ".tsv")
_log = logging.getLogger("augrecipes")


def format_of(source: PathView) -> Any:
    """The one format of a file or folder.

    Raises:
        DataError: it is of none, or of several; says what there is.
    """
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
    if not source.path.exists() or is_picture(source.path.name) or (not source.is_folder and not is_annotated(path)):
        return False
    if not points and source.has_images:
        return False
    return any(format.claims(source) for format in FORMATS)


def table_of_annotations(path: PathLike, wanted: AnnotationOptions, findings: Findings | None = None) -> Columns:
    """The images that annotations name, with what a recipe takes of them; what is cut or left out is logged.

    Args:
        path: a file or a folder.
        wanted: what is asked.
        findings: takes what is wrong with records instead of an error, and what the log would say.

    Raises:
        DataError: the annotations are of no known format, or not as they should be; names file and record.
    """
    source, found = PathView(Path(os.fsdecode(path))), AnnotationSet()
    format_of(source).read(source, wanted, found)
    if not found.names and not found.faults.count:
        raise DataError("lists no pictures", str(source.path))
    if findings is None or not found.names:
        found.faults.refuse()
    table = _table(found, wanted, str(source.path))
    if findings is not None:
        findings.records(str(source.path), found.faults.kept, found.faults.count)
        findings.notes += found.notes
        return table
    found.faults.refuse()
    for note in found.notes:
        _log.warning("%s: %s", os.fsdecode(path), note)
    return table


def _table(found: AnnotationSet, wanted: AnnotationOptions, path: str) -> Columns:
    classes, ids = _classes(found, wanted)
    images = _paths(found, wanted, path)
    flags = np.asarray(found.flags)
    image_of = np.asarray(found.images)
    plain = (flags != FLAGGED) | (wanted.crowds == "keep")
    recorded = np.asarray(found.sizes).reshape(-1, 2)
    sizes = _sizes(found, wanted, images, recorded, image_of)
    inputs, given = wanted.inputs, dict[str, Any]()
    if "boxes" in wanted.takes and inputs.boxes is not None:
        given["boxes"] = boxes_of(found, plain & (flags != POINT), sizes, inputs.boxes.format, classes)
    found.corners = array("d")  # of no more use, and much where there are a million
    if "keypoints" in wanted.takes and inputs.keypoints is not None and sizes is not None:
        given["keypoints"] = points_of(found, plain, sizes, inputs.keypoints)
    if "mask" in wanted.takes:
        given["outlines"] = outlines_of(found)
    numbers = np.asarray(found.ids)
    return Columns(
        files={"image": images},
        recorded=Recorded(recorded, path) if recorded.any() else None,
        ids=numbers if (numbers >= 0).any() else None,
        box_classes=classes,
        box_numbers=ids,
        **given,
    )


def _classes(found: AnnotationSet, wanted: AnnotationOptions) -> tuple[tuple[str, ...] | None, tuple[int, ...] | None]:
    """Names of the labels, and their numbers in the file; labels are numbered so from now on."""
    names, given = found.classes, wanted.classes
    labels = np.asarray(found.labels)
    if names is None and not found.numbered:  # numbered as they were met
        names = list(found.seen)
        if given is None:
            ids, order, number_of = number(names)
            found.rename(ids.tolist())
            return (None if names and all(name == str(k) for name, k in number_of.items()) else tuple(order)), None
    if given is None:
        return None if names is None else tuple(names), None if found.class_ids is None else tuple(found.class_ids)
    if names is None:
        for k in np.flatnonzero(labels >= len(given))[:1].tolist():
            found.faults.add(found.where(k), f"class {labels[k]}, and box_classes= names {len(given)}")
        return tuple(given), None
    place = {name: k for k, name in enumerate(given)}
    for label in np.unique(labels).tolist():
        if names[label] not in place:
            first = int(np.flatnonzero(labels == label)[0])
            found.faults.add(found.where(first), f"class {names[label]!r} is not among box_classes=")
    id_of = dict(zip(names, found.class_ids or (), strict=False))
    found.rename([place.get(name, 0) for name in names])
    return tuple(given), tuple(id_of[name] for name in given) if id_of.keys() == place.keys() else None


def _paths(found: AnnotationSet, wanted: AnnotationOptions, path: str) -> PathTable:
    """The paths of the images; those that are missing, or lie outside, are faults."""
    images = PathTable.from_paths(found.names, root=found.root or b"")
    wrong = faults_of(images, found.within or b"", check=wanted.check, outside=wanted.outside or found.within is None)
    missing = 0
    for i, what in wrong:
        found.faults.add(found.files[i], what)
        missing += what.endswith("no such file")
    if missing == len(images) > 1:
        raise DataError(
            f"none of its {len(images):,} pictures is there (first: {images[0]}); give their folder (root=, or "
            "images=FOLDER)",
            path,
        )
    return images


def _sizes(
    found: AnnotationSet, wanted: AnnotationOptions, images: PathTable, recorded: npt.NDArray[np.int32], image_of: Any
) -> npt.NDArray[np.float64] | None:
    """(width, height) of each image; 0 of those that have no objects, or cannot be read. None: not needed."""
    boxes = wanted.inputs.boxes
    in_px = boxes is not None and "boxes" in wanted.takes and boxes.format not in SHARES
    if found.relative and not in_px and "keypoints" not in wanted.takes:
        return None  # all that is taken of shares stays in shares
    sizes = recorded.astype(np.float64)
    needed = np.zeros(len(images), bool)
    needed[image_of] = True
    unknown = np.flatnonzero(needed & (sizes[:, 0] == 0)).tolist()
    for i, header in zip(unknown, read_headers([images[i] for i in unknown]), strict=True):
        if isinstance(header, ImageHeader):
            height, width = upright(header, wanted.exif)
            sizes[i] = width, height
        elif wanted.check:
            found.faults.add(images[i], f"its size is needed for its annotations: {header}")
    return sizes
