"""Annotations as the table of an ImageFolder: what a recipe takes of them, by the rules that hold for every format.

- Labels are 0, 1, ... in the order that the file gives its classes, or else sorted; or in that of `box_classes=`.
- Objects that are marked as a crowd or as difficult give no boxes and no keypoints, unless they are asked for; what
  they cover is drawn in masks.
- Boxes that reach beyond their picture are cut to it; those outside of it, and those without width or height, are left
  out. So are keypoints that are not labelled, or lie outside, unless the recipe says `remove_invisible: false`. The log
  says how many, and where the first one is.
- Coordinates count in the picture as it is read: turned as its EXIF orientation says, unless `exif="ignore"`. A size
  that the annotations record is compared with the picture's when the sample is read.
"""

from __future__ import annotations

import logging
import os
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from augrecipes.data.annotations import boxes, points
from augrecipes.data.annotations.faults import Faults
from augrecipes.data.annotations.find import format_of
from augrecipes.data.annotations.found import FoundObjects, Request
from augrecipes.data.annotations.pictures import OUTSIDE, leaves
from augrecipes.data.annotations.source import PathView
from augrecipes.data.tables.csvfile import missing_files
from augrecipes.data.tables.labels import number
from augrecipes.data.tables.pair_checks import upright
from augrecipes.data.tables.recorded import Recorded
from augrecipes.data.tables.table import ImageTable
from augrecipes.errors import DataError
from augrecipes.images.format import ImageHeader
from augrecipes.images.reading import read_headers
from augrecipes.recipe.model import Inputs
from augrecipes.sources.paths import PathLike, PathTable

_log = logging.getLogger("augrecipes")
Crowds = Literal["drop", "keep"]


@dataclass(frozen=True)
class AnnotationOptions:
    """What is asked of annotations.

    Attributes:
        inputs: of the recipe.
        images: the folder of the pictures, where it was given.
        split: of the data.
        classes: names of the labels 0, 1, ..., or None for the file's own.
        crowds: whether crowds and difficult objects are kept.
        exif: how pictures are read.
        check: whether files that do not exist are an error now.
        outside: whether pictures may lie outside of the data's folder, or on a server.
    """

    inputs: Inputs
    images: PathLike | None = None
    split: str | None = None
    classes: Sequence[str] | None = None
    crowds: Crowds = "drop"
    exif: Literal["apply", "ignore"] = "apply"
    check: bool = True
    outside: bool = False


def takes(inputs: Inputs) -> frozenset[str]:
    """What a recipe takes of annotations: boxes and keypoints that it declares; a mask that it requires, or when it
    declares neither."""
    declared = {"boxes": inputs.boxes, "keypoints": inputs.keypoints}
    found = {name for name, value in declared.items() if value is not None and value.presence != "absent"}
    drawn = inputs.mask == "required" or (inputs.mask == "optional" and not found)
    return frozenset(found | {"mask"} if drawn else found)


def table_of_annotations(path: PathLike, wanted: AnnotationOptions) -> ImageTable:
    """The pictures that annotations name, with what a recipe takes of them; what is cut or left out is logged.

    Args:
        path: a file or a folder.
        wanted: what is asked.

    Raises:
        DataError: the annotations are of no known format, or not as they should be; names file and record.
    """
    table, notes = noted_table(path, wanted)
    for note in notes:
        _log.warning("%s: %s", os.fsdecode(path), note)
    return table


def noted_table(
    path: PathLike, wanted: AnnotationOptions, faults: Faults | None = None
) -> tuple[ImageTable, list[str]]:
    """The same, and notes of what is cut or left out; `faults` takes what is wrong with records, without an error."""
    source = PathView(Path(os.fsdecode(path)))
    found = FoundObjects()
    images = None if wanted.images is None else Path(os.fsdecode(wanted.images))
    format_of(source).read(Request(source, takes(wanted.inputs), images, wanted.split, wanted.outside), found)
    if not found.names and not found.faults.count:
        raise DataError("lists no pictures", str(source.path))
    if faults is None:
        found.faults.refuse()
    table = _Table(found, wanted, str(source.path)).made()
    if faults is None or not len(table):
        found.faults.refuse()
    else:
        faults.take(found.faults)
    return table, found.notes


class _Table:
    """One way from what was found to a table."""

    def __init__(self, found: FoundObjects, wanted: AnnotationOptions, path: str) -> None:
        self.found, self.wanted, self.path = found, wanted, path
        self.takes = takes(wanted.inputs)

    def made(self) -> ImageTable:
        found = self.found
        classes, numbers = self._classes()
        keep = self._kept()
        images = self._paths(keep)
        recorded = (
            np.frombuffer(found.sizes, np.int32).reshape(-1, 2)[keep] if found.names else np.zeros((0, 2), np.int32)
        )
        objects = _Objects.of(found, keep)
        plain = objects.order if self.wanted.crowds == "keep" else objects.order[~objects.flags[objects.order]]
        sizes = self._sizes(images, recorded, objects)
        given: dict[str, Any] = {}
        inputs = self.wanted.inputs
        if "boxes" in self.takes and inputs.boxes is not None:
            given["boxes"] = boxes.boxes_of(found, plain, objects.rows, sizes, len(keep), inputs.boxes.format, classes)
        found.corners = array("d")  # of no more use, and much where there are a million
        if "keypoints" in self.takes and inputs.keypoints is not None and sizes is not None:
            given["keypoints"] = points.points_of(found, plain, objects.rows, keep, sizes, inputs.keypoints)
        if "mask" in self.takes:
            given["outlines"] = points.outlines_of(found, objects.order, objects.rows, len(keep))
        ids = np.frombuffer(found.numbers, np.int64)[keep] if found.names else np.zeros(0, np.int64)
        return ImageTable(
            images=images,
            recorded=Recorded(recorded, self.path) if recorded.any() else None,
            ids=ids if (ids >= 0).any() else None,
            box_classes=classes,
            box_numbers=None if numbers is None else tuple(numbers),
            **given,
        )

    def _kept(self) -> npt.NDArray[np.int64]:
        """The pictures of the split."""
        split, parts = self.wanted.split, self.found.parts
        if split is None or not any(parts):
            return np.arange(len(parts))
        kept = np.array([k for k, part in enumerate(parts) if part == split], np.int64)
        if not len(kept) and not self.found.faults.count:
            raise DataError(f"no picture of split {split!r}", self.path)
        return kept

    def _classes(self) -> tuple[tuple[str, ...] | None, list[int] | None]:
        """Names of the labels, and their numbers in the file; labels are numbered so from now on."""
        found, wanted = self.found, self.wanted.classes
        names, numbers = found.classes, found.class_numbers
        if names is None and not found.numbered:
            ids, sorted_names, number_of = number(list(found.seen)) if found.seen else (np.zeros(0, np.int64), [], {})
            if all(name == str(k) for name, k in number_of.items()) and wanted is None and number_of:
                self._rename(ids.tolist())
                return None, None
            self._rename([sorted_names.index(name) for name in found.seen] if wanted is None else range(len(ids)))
            names = sorted_names if wanted is None else list(found.seen)
        if wanted is None:
            return None if names is None else tuple(names), numbers
        if names is None:
            self._check_numbers(len(wanted))
            return tuple(wanted), None
        place = {name: k for k, name in enumerate(wanted)}
        strange = {k: name for k, name in enumerate(names) if name not in place}
        used = set(np.unique(np.frombuffer(found.labels, np.int32)).tolist()) if len(found) else set()
        for label in sorted(used & set(strange)):
            first = int(np.flatnonzero(np.frombuffer(found.labels, np.int32) == label)[0])
            found.faults.add(found.where(first), f"class {strange[label]!r} is not among box_classes=")
        self._rename([place.get(name, 0) for name in names])
        own = (
            None
            if numbers is None or strange.keys() ^ set()
            else [numbers[names.index(n)] for n in wanted if n in names]
        )
        return tuple(wanted), own if own is not None and len(own) == len(wanted) else None

    def _rename(self, labels: Sequence[int]) -> None:
        if list(labels) != list(range(len(labels))):
            self.found.rename(labels)

    def _check_numbers(self, count: int) -> None:
        labels = np.frombuffer(self.found.labels, np.int32)
        for k in np.flatnonzero(labels >= count)[:1].tolist():
            self.found.faults.add(self.found.where(k), f"class {labels[k]}, and box_classes= names {count}")

    def _paths(self, keep: npt.NDArray[np.int64]) -> PathTable:
        found = self.found
        names = [found.names[k] for k in keep]
        images = PathTable.from_paths(names, root=b"" if found.root is None else found.root)
        if found.root is not None and not self.wanted.outside:
            within = found.within or found.root
            for k, name in zip(keep.tolist(), names, strict=True):
                if leaves(name, found.root, within):
                    found.faults.add(found.files[k], f"{name!r} {OUTSIDE.format(within)}")
        if self.wanted.check:
            missing = missing_files(images)
            for i in missing:
                found.faults.add(found.files[keep[i]], f"{images[i]}: no such file")
            if len(missing) == len(images) > 1:
                raise DataError(
                    f"none of its {len(images):,} pictures is there (first: {images[0]}); give their folder (root=, or "
                    "images=FOLDER)", self.path,
                )  # fmt: skip
        return images

    def _sizes(
        self, images: PathTable, recorded: npt.NDArray[np.int32], objects: _Objects
    ) -> npt.NDArray[np.float64] | None:
        """(width, height) of each picture; 0 of those that have no objects, or cannot be read. None: not needed."""
        if self.found.relative and self._shares():
            return None
        sizes = recorded.astype(np.float64)
        needed = np.zeros(len(images), bool)
        needed[objects.rows[objects.order]] = True
        needed |= objects.lone
        unknown = np.flatnonzero(needed & (sizes[:, 0] == 0))
        headers = read_headers([images[int(i)] for i in unknown])
        for i, header in zip(unknown.tolist(), headers, strict=True):
            if isinstance(header, ImageHeader):
                height, width = upright(header, self.wanted.exif)
                sizes[i] = width, height
            elif self.wanted.check:
                self.found.faults.add(images[i], f"its size is needed for its annotations: {header}")
        return sizes

    def _shares(self) -> bool:
        """Whether all that is taken of shares stays in shares."""
        inputs = self.wanted.inputs
        boxed = inputs.boxes is None or "boxes" not in self.takes or inputs.boxes.format in boxes.SHARES
        return boxed and "keypoints" not in self.takes


@dataclass(frozen=True)
class _Objects:
    """The objects of the pictures that are kept, in the order of the pictures.

    Attributes:
        order: positions of the objects.
        rows: the row of each object's picture in the table, -1 where it is not kept.
        flags: whether each is marked.
        lone: whether each picture has points that belong to no object.
    """

    order: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int32]
    flags: npt.NDArray[np.bool_]
    lone: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, found: FoundObjects, keep: npt.NDArray[np.int64]) -> _Objects:
        row_of = np.full(len(found.names) + 1, -1, np.int32)
        row_of[keep] = np.arange(len(keep), dtype=np.int32)
        lone = np.zeros(len(keep) + 1, bool)
        if len(found.lone_picture):
            lone[row_of[np.frombuffer(found.lone_picture, np.int32)]] = True
        if not len(found):
            nothing = np.zeros(0, np.int64)
            return cls(nothing, nothing.astype(np.int32), nothing.astype(bool), lone[:-1])
        rows = row_of[np.frombuffer(found.pictures, np.int32)]
        order = np.flatnonzero(rows >= 0)
        if (np.diff(rows[order]) < 0).any():
            order = order[np.argsort(rows[order], kind="stable")]
        return cls(order, rows, np.frombuffer(found.flags, np.int8).astype(bool), lone[:-1])
