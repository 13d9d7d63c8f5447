"""AnnotationSet: images and their objects, collected record by record in compact arrays, with the defects found.

A format is a module with

    TITLE, LOOKS    its name, and what such data looks like, for messages
    claims          (PathView) → whether a file or folder is of this format
    read            (PathView, AnnotationOptions, AnnotationSet) → None: adds the images, and passes the object records
                    to `read_each` with a function that adds one of them; DataError where it cannot

What follows is the same for all formats: see `augrecipes.sources.annotations.table`.
"""

import os
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from augrecipes.recipe.model import Inputs
from augrecipes.sources.defects import Defect, Findings
from augrecipes.sources.paths import PathLike

Crowds = Literal["drop", "keep"]
FLAGGED, POINT = 1, 2  # of objects: marked as a crowd or as difficult; labelled points without a box
BACKGROUND, IGNORE = -1, -2  # instead of a label: areas without a class
LEAST_CORNERS = 3  # of a polygon
_MOST = 1e30  # of a coordinate
T = TypeVar("T")


class RecordError(Exception):
    """A record cannot be used; `AnnotationSet.read_each` adds its file and number to the message."""


@dataclass(frozen=True)
class AnnotationOptions:
    """How to read annotations.

    Attributes:
        inputs: the recipe's `inputs`.
        images: the folder of the images, if the user named it.
        split: the part of the data to read; None: all of it.
        classes: names of the labels 0, 1, ...; None: the file's own.
        crowds: whether crowds and difficult objects are kept.
        exif: whether images are turned as their EXIF orientation says.
        check: whether missing images are reported now.
        outside: whether images may lie outside the data's folder, or on a server.
        drop_shapes: labelme's shape types to leave out.
    """

    inputs: "Inputs"
    images: "PathLike | None" = None
    split: str | None = None
    classes: Sequence[str] | None = None
    crowds: Crowds = "drop"
    exif: Literal["apply", "ignore"] = "apply"
    check: bool = True
    outside: bool = False
    drop_shapes: Sequence[str] = ()

    @property
    def takes(self) -> frozenset[str]:
        """The targets to read: the boxes and keypoints that the recipe declares; a mask if the recipe requires one, or
        declares neither boxes nor keypoints."""
        taken = self.inputs.taken
        return taken if self.inputs.mask == "required" or taken == {"mask"} else taken - {"mask"}

    @property
    def folder(self) -> Path | None:
        """`images` as a Path, or None."""
        return None if self.images is None else Path(os.fsdecode(self.images))


class AnnotationSet:
    """Images and their objects, in the order in which they were added.

    Attributes:
        record: the format of a record's place in messages: `annotation {}`; `{}` alone is a line number.
        findings: receives defects and notes.
        names: file names of the images, relative to `root`, or full paths.
        root: the folder that `names` are relative to; None: they are full paths.
        within: the folder that no image may lie outside of; None: any place is allowed.
        files: the annotation file of each image, for messages.
        sizes: (width, height) of each image, px; 0 where the annotations do not say.
        ids: the id of each image in its file; -1 without.
        classes: names of the labels 0, 1, ...; None: numbered in order of appearance, or `numbered`.
        class_ids: the class ids in the file, or None.
        numbered: labels are plain numbers without names.
        relative: coordinates are fractions of the image's width and height.
        hints: by position, what the defect of a missing image adds.
        tallies: what was left out or is odd: how often, and the place of the first.
        shifts: by label, for each keypoint of an object, the distance in the list to its mirror image.

    Args:
        path: the annotations.
        findings: receives defects and notes.
    """

    def __init__(self, path: str, findings: Findings) -> None:
        self.path, self.findings, self.record = path, findings, "{}"
        self.names, self.files = list[str](), list[str]()
        self.root: Path | None = None
        self.within: Path | None = None
        self.sizes, self.ids = array("i"), array("q")
        self.classes: list[str] | None = None
        self.class_ids: list[int] | None = None
        self.numbered = self.relative = False
        self.label_of: dict[str, int] = {}
        self.hints: dict[int, str] = {}
        self.tallies: dict[tuple[str, str], tuple[int, str]] = {}
        # One entry per object; `flags` are `FLAGGED`, `POINT` or 0.
        self.images, self.labels, self.corners = array("i"), array("i"), array("d")
        self.records, self.flags = array("q"), array("b")
        self.shifts = defaultdict[int, Sequence[int]](list)
        # One entry per polygon or mask; and per keypoint: x, y, visibility.
        self.area_object, self.area_length, self.area_points = array("i"), array("i"), array("f")
        self.area_runs: dict[int, bytes] = {}
        self.point_object, self.point_values, self.point_shift = array("i"), array("f"), array("i")

    def __len__(self) -> int:
        return len(self.images)

    # -- defects and counts -------------------------------------------------------------------------------------------

    def defect(self, where: str, what: str) -> None:
        """Add a defect at a place: a file, or a file and a record."""
        self.findings.defects.append(Defect("record", (self.path,), f"{where}: {what}"))

    def tally(self, thing: str, what: str, where: str, count: int = 1) -> None:
        """Count records that were left out or are odd, for the log and for checks."""
        before, first = self.tallies.get((thing, what), (0, where))
        if count:
            self.tallies[thing, what] = before + count, first

    def tally_objects(self, what: str, objects: Any, thing: str = "object") -> None:
        """Count objects (by position) that were left out or are odd."""
        self.tally(thing, what, self.object_place(int(objects[0])) if len(objects) else "", len(objects))

    def place(self, file: str, number: int) -> str:
        """The place of a record for messages: its file and number."""
        text = self.record.format(number)
        return f"{file}:{'' if text.isdecimal() else ' '}{text}"

    def object_place(self, obj: int) -> str:
        """The place of an object for messages."""
        return self.place(self.files[self.images[obj]], self.records[obj])

    # -- records ------------------------------------------------------------------------------------------------------

    def read_each(self, file: str, records: Iterable[tuple[int, T]], add: Callable[[int, T], object]) -> None:
        """Call `add` for each numbered record of a file; a RecordError becomes a defect."""
        for number, record in records:
            try:
                add(number, record)
            except RecordError as error:
                self.defect(self.place(file, number), str(error))

    def image(
        self, name: Any, file: str, size: Any = (0, 0), *, number: Any = -1, where: str = "", hint: str = ""
    ) -> int:
        """Add an image and return its position; for an impossible file name add a defect and return -1.

        Args:
            name: its file name.
            file: the annotation file.
            size: its width and height, px; 0 or anything but numbers: not known.
            number: its id in the annotation file.
            where: its place, for defects; by default `file`.
            hint: what the defect adds if there is no such file.
        """
        if not is_name(name):
            self.defect(where or file, f"{name!r} is not a file name{hint}")
            return -1
        self.hints |= {len(self.names): hint} if hint else {}
        try:
            sides = [int(side) for side in numbers_of(size, "", 2)]
        except RecordError:
            sides = [0, 0]
        self.names.append(name)
        self.files.append(file)
        self.sizes.extend(sides if min(sides) > 0 and max(sides) < 1 << 31 else (0, 0))
        self.ids.append(number if isinstance(number, int) and abs(number) < 1 << 63 else -1)
        return len(self.names) - 1

    def use_classes(self, names: list[str] | None) -> None:
        """Set the names of the labels 0, 1, ...; None: not known."""
        self.classes = names
        self.label_of = {name: k for k, name in enumerate(names or ())}

    def label(self, name: str) -> int:
        """The label of a class name, numbered in order of appearance; -1 if `classes` are known and lack it."""
        if self.classes is None:
            return self.label_of.setdefault(name, len(self.label_of))
        return self.label_of.get(name, -1)

    def add(
        self, image: int, label: int, corners: Sequence[float], record: int, *, flagged: bool = False, part_of: int = -1
    ) -> int:
        """Add an object, or a further part of one, and return its position.

        Args:
            image: position of its image.
            label: its label.
            corners: left, top, right and bottom, px or fractions.
            record: its number in the file, for messages.
            flagged: whether it is a crowd, or difficult.
            part_of: position of the object that this is a part of; its box grows to include `corners`. -1: none.
        """
        if part_of >= 0:
            both = np.array([self.corners[4 * part_of : 4 * part_of + 4], corners])
            self.corners[4 * part_of : 4 * part_of + 4] = array("d", [*both.min(axis=0)[:2], *both.max(axis=0)[2:]])
            self.flags[part_of] |= flagged
            return part_of
        self.images.append(image)
        self.labels.append(label)
        self.corners.extend(corners)
        self.records.append(record)
        self.flags.append(FLAGGED if flagged else 0)
        return len(self.images) - 1

    def add_area(self, obj: int, points: Sequence[float] = (), runs: bytes = b"") -> None:
        """Add an area of an object: a polygon x, y, x, y, ... of at least three corners, or run lengths as
        `augrecipes.sources.polygons` stores them."""
        if runs:
            self.area_runs[len(self.area_object)] = runs
        elif len(points) < 2 * LEAST_CORNERS:
            self.tally("polygon", "of fewer than three corners, left out", self.object_place(obj))
            return
        self.area_points.extend(points)
        self.area_object.append(obj)
        self.area_length.append(len(points) // 2)

    def add_points(self, obj: int, values: Sequence[float]) -> None:
        """Add the keypoints of an object: x, y, visibility, x, y, visibility, ..."""
        count, shifts = len(values) // 3, self.shifts[self.labels[obj]]
        self.point_values.extend(values)
        self.point_object.extend([obj] * count)
        self.point_shift.extend([*shifts[:count], *[0] * (count - len(shifts))])

    def rename(self, labels: Sequence[int]) -> None:
        """Renumber the classes: label k becomes `labels[k]`; areas without a class stay so."""
        if len(self) and list(labels) != list(range(len(labels))):
            old = np.asarray(self.labels)
            old[:] = np.array([*labels, IGNORE, BACKGROUND], np.int32)[old]  # these are -2 and -1


def mirror_shifts(options: AnnotationOptions, names: Sequence[str], mirrored: Sequence[int] = ()) -> list[int]:
    """For each keypoint, the distance in the list to its mirror image, by the recipe's `flip_pairs` or else the data.

    Args:
        options: their `inputs` may have `flip_pairs`.
        names: names of the keypoints; `left` and `right` in them are exchanged.
        mirrored: the number of each keypoint's mirror image, where the data says so.

    >>> from augrecipes.recipe.inputs import Inputs
    >>> mirror_shifts(AnnotationOptions(Inputs()), ["nose", "left_eye", "right_eye"])
    [0, 1, -1]
    """
    pairs = (options.inputs.keypoints and options.inputs.keypoints.flip_pairs) or ()
    other: dict[Any, Any] = {a: b for pair in pairs for a, b in (pair, pair[::-1])} or dict(enumerate(mirrored))
    other = other or {k: k.replace("left", "\0").replace("right", "left").replace("\0", "right") for k in names}
    number = {name: k for k, name in enumerate(names)}
    places = {number.get(a, a): number.get(b, b) for a, b in other.items()}
    shifts = {a: b - a for a, b in places.items() if isinstance(a, int) and isinstance(b, int)}
    return [shifts.get(k, 0) for k in range(max(shifts, default=-1) + 1)]


def is_name(name: Any) -> bool:
    """Whether a file can have this name."""
    try:
        return isinstance(name, str) and bool(name.strip()) and b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False


def numbers_of(values: Any, what: str, count: int | None = None) -> list[float]:
    """Numbers or their text as a list of finite numbers, `count` of them; RecordError with message `what` otherwise.

    >>> numbers_of(["12.5", "3"], "numbers"), numbers_of([12, 3.5], "numbers")
    ([12.5, 3.0], [12, 3.5])
    """
    if isinstance(values, list | tuple) and count in (None, len(values)):
        try:
            numbers = [float(value) for value in values] if values and isinstance(values[0], str) else list(values)
            if not numbers or (isfinite(sum(numbers)) and min(numbers) > -_MOST and max(numbers) < _MOST):
                return numbers
        except (TypeError, ValueError, OverflowError):
            pass
    raise RecordError(what)


def bounds(points: Sequence[float]) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of x, y, x, y, ....

    >>> bounds([3, 1, 5, 9, 4, 2])
    (3, 1, 5, 9)
    """
    x, y = points[::2], points[1::2]
    return min(x), min(y), max(x), max(y)
