"""Records of images and of the objects in them, read one by one into arrays that take little memory; and defects.

A format is a module with

    TITLE, LOOKS    its name, and what such data looks like, for messages
    claims          (PathView) → whether a file or folder is of this format
    read            (PathView, AnnotationOptions, AnnotationSet) → None: adds its images, and gives `read_each` its
                    records of objects, with a function that adds one of them; DataError where it cannot

Everything behind that is the same for all formats, see `augrecipes.sources.annotations.table`.
"""

from __future__ import annotations

import os
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from augrecipes.sources.defects import Defect, Findings

if TYPE_CHECKING:
    from augrecipes.recipe.model import Inputs
    from augrecipes.sources.paths import PathLike

Crowds = Literal["drop", "keep"]
FLAGGED, POINT = 1, 2  # of objects: marked as a crowd or as difficult; points with a label, without a box
BACKGROUND, IGNORE = -1, -2  # in the place of a label: areas without a class
LEAST_CORNERS = 3  # of a polygon
_MOST = 1e30  # of a number that is a place
T = TypeVar("T")


class RecordError(Exception):
    """What is wrong with a record; `AnnotationSet.read_each` adds its file and number."""


@dataclass(frozen=True)
class AnnotationOptions:
    """What is asked of annotations.

    Attributes:
        inputs: of the recipe.
        images: the folder of the images, where it was given.
        split: only this part of the data, or None for all of it.
        classes: names of the labels 0, 1, ..., or None for the file's own.
        crowds: whether crowds and difficult objects are kept.
        exif: how images are read.
        check: whether files that do not exist are an error now.
        outside: whether images may lie outside of the data's folder, or on a server.
        drop_shapes: types of labelme's shapes that are left out.
    """

    inputs: Inputs
    images: PathLike | None = None
    split: str | None = None
    classes: Sequence[str] | None = None
    crowds: Crowds = "drop"
    exif: Literal["apply", "ignore"] = "apply"
    check: bool = True
    outside: bool = False
    drop_shapes: Sequence[str] = ()

    @property
    def takes(self) -> frozenset[str]:
        """What the recipe takes: boxes and keypoints that it declares; a mask that it requires, or when it declares
        neither."""
        taken = self.inputs.taken
        return taken if self.inputs.mask == "required" or taken == {"mask"} else taken - {"mask"}

    @property
    def folder(self) -> Path | None:
        """The folder of the images, where it was given."""
        return None if self.images is None else Path(os.fsdecode(self.images))


class AnnotationSet:
    """Images and their objects, in the order in which they were added.

    Attributes:
        record: what a record is called in messages, with its number: `annotation {}`; `{}` alone is a line.
        findings: what is wrong, and what should be known.
        names: of the images' files, below `root` or whole.
        root: the folder that `names` lie in; None: they are whole.
        within: the folder that none of them may leave; None: any will do.
        files: for each image the file that it was found in, for messages.
        sizes: (width, height) of each image, px; 0 where the annotations do not say.
        ids: of each image in its file; -1 without.
        classes: names of the labels 0, 1, ...; None: as `label` gives them out, or `numbered`.
        class_ids: what the file calls the classes by number, or None.
        numbered: labels are numbers that mean themselves.
        relative: coordinates are shares of the image.
        hints: what a defect says of an image that is missing, by its position.
        tallies: what is left out, or odd: how many, and where the first is.
        shifts: by label, how many places behind each keypoint of an object the one lies that it becomes in a mirror.

    Args:
        path: of the annotations.
        findings: takes what is wrong.
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
        # Of the objects; `flags` are `FLAGGED`, `POINT` or 0.
        self.images, self.labels, self.corners = array("i"), array("i"), array("d")
        self.records, self.flags = array("q"), array("b")
        self.shifts = defaultdict[int, Sequence[int]](list)
        # Of polygons and masks, and of keypoints: x, y, and how they can be seen.
        self.area_object, self.area_length, self.area_points = array("i"), array("i"), array("f")
        self.area_runs: dict[int, bytes] = {}
        self.point_object, self.point_values, self.point_shift = array("i"), array("f"), array("i")

    def __len__(self) -> int:
        return len(self.images)

    # -- defects and counts -------------------------------------------------------------------------------------------

    def defect(self, where: str, what: str) -> None:
        """Note that something is wrong at a place: a file, or a file and a record."""
        self.findings.defects.append(Defect("record", (self.path,), f"{where}: {what}"))

    def tally(self, thing: str, what: str, where: str, count: int = 1) -> None:
        """Count what is left out, or odd, for the log and for checks."""
        before, first = self.tallies.get((thing, what), (0, where))
        if count:
            self.tallies[thing, what] = before + count, first

    def tally_objects(self, what: str, objects: Any, thing: str = "object") -> None:
        """Count what some objects are, or have."""
        self.tally(thing, what, self.object_place(int(objects[0])) if len(objects) else "", len(objects))

    def place(self, file: str, number: int) -> str:
        """The place of a record: its file and its number."""
        text = self.record.format(number)
        return f"{file}:{'' if text.isdecimal() else ' '}{text}"

    def object_place(self, thing: int) -> str:
        """The place of an object."""
        return self.place(self.files[self.images[thing]], self.records[thing])

    # -- records ------------------------------------------------------------------------------------------------------

    def read_each(self, file: str, records: Iterable[tuple[int, T]], add: Callable[[int, T], object]) -> None:
        """Read the records of objects of a file, each with its number; those that cannot be used are defects."""
        for number, record in records:
            try:
                add(number, record)
            except RecordError as error:
                self.defect(self.place(file, number), str(error))

    def image(
        self, name: Any, file: str, size: Any = (0, 0), *, number: Any = -1, where: str = "", hint: str = ""
    ) -> int:
        """Add an image, and get its position; -1, and a defect, for a name that no file can have.

        Args:
            name: of its file.
            file: where it is listed.
            size: its width and height in px; 0 or what is no number: not known.
            number: its own in the file.
            where: its place, for defects; `file` without.
            hint: for defects, where there is no such file.
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
        """Take the names of the labels 0, 1, ..., where they are known."""
        self.classes = names
        self.label_of = {name: k for k, name in enumerate(names or ())}

    def label(self, name: str) -> int:
        """The number of a class that is known by its name; -1 where there are `classes`, and it is none of them."""
        if self.classes is None:
            return self.label_of.setdefault(name, len(self.label_of))
        return self.label_of.get(name, -1)

    def add(
        self, image: int, label: int, corners: Sequence[float], record: int, *, flagged: bool = False, part_of: int = -1
    ) -> int:
        """Add an object, or another part of one, and get its position.

        Args:
            image: its position.
            label: of `label`, or a position in `classes`.
            corners: left, top, right and bottom, in px or as shares.
            record: its number in the file, for messages.
            flagged: it is a crowd, or difficult.
            part_of: the object that it is a part of, whose box takes in its corners; -1: none.
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

    def add_area(self, thing: int, points: Sequence[float] = (), runs: bytes = b"") -> None:
        """Add what an object covers: a polygon x, y, x, y, ..., of at least three corners, or run lengths as
        `augrecipes.sources.polygons` keeps them."""
        if runs:
            self.area_runs[len(self.area_object)] = runs
        elif len(points) < 2 * LEAST_CORNERS:
            self.tally("polygon", "of fewer than three corners, left out", self.object_place(thing))
            return
        self.area_points.extend(points)
        self.area_object.append(thing)
        self.area_length.append(len(points) // 2)

    def add_points(self, thing: int, values: Sequence[float]) -> None:
        """Add keypoints of an object: x, y, v, x, y, v, ...."""
        count, shifts = len(values) // 3, self.shifts[self.labels[thing]]
        self.point_values.extend(values)
        self.point_object.extend([thing] * count)
        self.point_shift.extend([*shifts[:count], *[0] * (count - len(shifts))])

    def rename(self, labels: Sequence[int]) -> None:
        """Number the classes anew: `labels[k]` is what was k; areas without a class stay so."""
        if len(self) and list(labels) != list(range(len(labels))):
            old = np.asarray(self.labels)
            old[:] = np.array([*labels, IGNORE, BACKGROUND], np.int32)[old]  # these are -2 and -1


def mirror_shifts(options: AnnotationOptions, names: Sequence[str], mirrored: Sequence[int] = ()) -> list[int]:
    """What `AnnotationSet.shifts` has of objects: as the recipe's `flip_pairs` say, or else the data.

    Args:
        options: of the recipe.
        names: of the keypoints; `left` and `right` in them are exchanged.
        mirrored: the place of each in a mirror, where the data says that.

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
    """Whether a file could be called so."""
    try:
        return isinstance(name, str) and bool(name.strip()) and b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False


def numbers_of(values: Any, what: str, count: int | None = None) -> list[float]:
    """A list of finite numbers, `count` of them, from numbers or from text; RecordError, saying `what`, for another.

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
