"""What a reader found: pictures and their objects, gathered in arrays that take little memory, and what is wrong."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.data.annotations.faults import Faults
from augrecipes.data.annotations.numbers import number_of
from augrecipes.data.annotations.source import PathView

LEAST_CORNERS = 3  # of a polygon


@dataclass(frozen=True)
class Request:
    """What is read, and of what.

    Attributes:
        source: the file or folder with the annotations.
        takes: of `boxes`, `keypoints` and `mask` those that the recipe takes.
        images: the folder of the pictures, where it was given.
        split: only this part of the data, or None for all of it.
        outside: pictures may lie anywhere.
    """

    source: PathView
    takes: frozenset[str] = frozenset({"boxes"})
    images: Path | None = None
    split: str | None = None
    outside: bool = False

    @property
    def path(self) -> Path:
        """The file or folder."""
        return self.source.path


class FoundObjects:
    """Pictures and their objects, in the order in which they were added.

    Args:
        record: what an object is called in messages, with its number: `annotation {}`; `{}` alone is a line.

    Attributes:
        faults: what is wrong.
        names: of the pictures' files, below `root` or whole.
        root: the folder that `names` lie in; None: they are whole.
        within: the folder that none of them leaves; None: `root`.
        files: for each picture the file that it was found in, for messages.
        sizes: (width, height) of each picture, px; 0 where the annotations do not say.
        numbers: of each picture in its file; -1 without.
        parts: the split of each picture; empty without.
        classes: names of the labels 0, 1, ...; None: as `label` has given them out, or `numbered`.
        class_numbers: what the file calls the classes by number, or None.
        numbered: labels are numbers that mean themselves.
        relative: coordinates are shares of the picture.
        notes: what is no fault and should be known.
    """

    def __init__(self, record: str = "{}") -> None:
        self.record = record
        self.faults = Faults()
        self.names: list[str] = []
        self.root: Path | None = None
        self.within: Path | None = None
        self.files: list[str] = []
        self.sizes = array("i")
        self.numbers = array("q")
        self.parts: list[str] = []
        self.classes: list[str] | None = None
        self.class_numbers: list[int] | None = None
        self.numbered = False
        self.relative = False
        self.notes: list[str] = []
        self.seen: dict[str, int] = {}
        # Of the objects.
        self.pictures = array("i")
        self.labels = array("i")
        self.corners = array("d")
        self.records = array("q")
        self.flags = array("b")
        # Of polygons and masks.
        self.ring_object = array("i")
        self.ring_length = array("i")
        self.ring_points = array("f")
        self.ring_runs: dict[int, bytes] = {}
        # Of keypoints: x, y, and how they can be seen; or of points that are no part of an object, and their label.
        self.point_object = array("i")
        self.point_values = array("f")
        self.lone_picture = array("i")
        self.lone_values = array("f")

    def __len__(self) -> int:
        return len(self.pictures)

    def picture(
        self,
        name: str,
        file: str,
        *,
        width: Any = 0,
        height: Any = 0,
        number: int = -1,
        part: str = "",
        where: str = "",
    ) -> int:
        """Add a picture, and get its position; -1, and a fault, for a name that no file can have.

        Args:
            name: of its file.
            file: where it is listed.
            width: in px; 0 or what is no number: not known.
            height: likewise.
            number: its own in the file.
            part: its split.
            where: its place, for faults; `file` without.
        """
        if not is_name(name):
            self.faults.add(where or file, f"{name!r} is no file name")
            return -1
        size = [number_of(value) for value in (width, height)]
        known = all(value is not None and 0 < value < 1 << 31 for value in size)
        self.names.append(name)
        self.files.append(file)
        self.sizes.extend([int(value or 0) for value in size] if known else (0, 0))
        self.numbers.append(number if -(1 << 63) <= number < 1 << 63 else -1)
        self.parts.append(part)
        return len(self.names) - 1

    def label(self, name: str) -> int:
        """The number of a class that is known by its name."""
        return self.seen.setdefault(name, len(self.seen))

    def thing(self, picture: int, label: int, corners: Sequence[float], record: int, *, flagged: bool = False) -> int:
        """Add an object, and get its position.

        Args:
            picture: its position.
            label: of `label`, or a position in `classes`.
            corners: left, top, right and bottom, in px or as shares.
            record: its number in the file, for messages.
            flagged: it is marked as a crowd, or as difficult.
        """
        self.pictures.append(picture)
        self.labels.append(label)
        self.corners.extend(corners)
        self.records.append(record)
        self.flags.append(flagged)
        return len(self.pictures) - 1

    def things(self, picture: Any, labels: Any, corners: Any, records: Any, flags: Any = None) -> None:
        """Add many objects: arrays of n, `corners` (n, 4); `picture` may be one for all."""
        n = len(labels)
        self.pictures.frombytes(np.broadcast_to(np.asarray(picture, np.int32), n).tobytes())
        self.labels.frombytes(np.asarray(labels, np.int32).tobytes())
        self.corners.frombytes(np.asarray(corners, np.float64).tobytes())
        self.records.frombytes(np.asarray(records, np.int64).tobytes())
        self.flags.frombytes(np.zeros(n, np.int8).tobytes() if flags is None else np.asarray(flags, np.int8).tobytes())

    def ring(self, thing: int, points: Iterable[float]) -> None:
        """A polygon of an object: x, y, x, y, ...; one of fewer than three corners covers nothing."""
        before = len(self.ring_points)
        self.ring_points.extend(points)
        count = (len(self.ring_points) - before) // 2
        if count < LEAST_CORNERS:
            del self.ring_points[before:]
            return
        self.ring_object.append(thing)
        self.ring_length.append(count)

    def run_lengths(self, thing: int, entry: bytes) -> None:
        """A mask of an object, as `augrecipes.data.tables.outlines` keeps it."""
        self.ring_runs[len(self.ring_object)] = entry
        self.ring_object.append(thing)
        self.ring_length.append(0)

    def points(self, thing: int, values: Iterable[float]) -> None:
        """Keypoints of an object: x, y, v, x, y, v, ...."""
        before = len(self.point_values)
        self.point_values.extend(values)
        self.point_object.extend([thing] * ((len(self.point_values) - before) // 3))

    def lone_points(self, picture: int, values: Iterable[float]) -> None:
        """Points that belong to no object: x, y, label, x, y, label, ...."""
        before = len(self.lone_values)
        self.lone_values.extend(values)
        self.lone_picture.extend([picture] * ((len(self.lone_values) - before) // 3))

    def rename(self, labels: Sequence[int]) -> None:
        """Number the classes anew: `labels[k]` is what was k."""
        new = np.asarray(labels, np.int32)
        if len(self.labels):
            old = np.frombuffer(self.labels, np.int32)
            old[:] = new[old]
        if len(self.lone_values):
            last = np.frombuffer(self.lone_values, np.float32).reshape(-1, 3)[:, 2]
            last[:] = new[last.astype(np.int64)]

    def where(self, thing: int) -> str:
        """The place of an object: its file and its record."""
        text = self.record.format(self.records[thing])
        return f"{self.files[self.pictures[thing]]}:{'' if text.isdecimal() else ' '}{text}"


def is_name(name: Any) -> bool:
    """Whether a file could be called so."""
    try:
        return isinstance(name, str) and bool(name.strip()) and b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False
