"""The table behind a dataset: paths, labels, boxes and so on of all samples, as arrays that pickle small."""

import math
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError
from augrecipes.sharing import SpawnShared
from augrecipes.sources.files import read_files, read_targets
from augrecipes.sources.paths import PathGroups, PathTable, group_indices
from augrecipes.sources.polygons import Outlines

# Sample keys for the identifiers of boxes and of keypoints.
NUMBERS = {"boxes": ("object",), "keypoints": ("keypoint_object", "keypoint_number")}
Classes = Sequence[str]  # names in the order of their numbers
_SHOWN = 20  # names in an error
_INTEGER, _NUMBER = (
    re.compile(r"[+-]?\d{1,18}(\.0*)?"),
    re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE),
)


@dataclass(frozen=True)
class Ragged(SpawnShared):
    """Rows of numbers (boxes, keypoints) of all samples, concatenated.

    Attributes:
        values: float32 (m, columns), the rows of all samples.
        offsets: int64 (n + 1,); rows `offsets[i]:offsets[i + 1]` belong to sample i.
        labels: int64 (m,), or None where rows have no label.
        numbers: int64 identifiers, or None: (m, 1) the object of each row; for keypoints (m, 3) also the number of each
            in its image, and its number after mirroring.
        classes: names of the labels where they were text, in order; None where they were integers or absent.
    """

    values: npt.NDArray[np.float32]
    offsets: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64] | None = None
    classes: tuple[str, ...] | None = None
    numbers: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def rows(self, i: int) -> npt.NDArray[np.float32]:
        """The rows of sample i, a copy."""
        return self.values[self.offsets[i] : self.offsets[i + 1]].copy()

    def labels_of(self, i: int) -> npt.NDArray[np.int64] | None:
        """The labels of sample i's rows, a copy, or None."""
        return None if self.labels is None else self.labels[self.offsets[i] : self.offsets[i + 1]].copy()

    def targets(self, i: int, name: str, labels: str | None) -> dict[str, Any]:
        """The pipeline's inputs of sample i: copies of its rows, of their labels under the key `labels`, and numbers.

        albumentations wants a label for each row. Where the data has none, it is 0, or for keypoints the row number.
        """
        targets: dict[str, Any] = {name: self.rows(i)}
        if labels is not None:
            rows = np.arange(len(targets[name])) * (name == "keypoints")
            targets[labels] = rows if self.labels is None else self.labels_of(i)
        if self.numbers is not None:
            numbers = self.numbers[self.offsets[i] : self.offsets[i + 1]].copy()
            parts = zip(NUMBERS[name], (numbers[:, 0], numbers[:, 1:]), strict=False)
            targets |= {key: part for key, part in parts if part.shape[1:] != (0,)}
        return targets

    def take(self, keep: npt.NDArray[np.int64]) -> "Ragged":
        """The samples at the positions in `keep`."""
        index, offsets = group_indices(self.offsets, keep)
        labels, numbers = (None if column is None else column[index] for column in (self.labels, self.numbers))
        return Ragged(self.values[index], offsets, labels, self.classes, numbers)


@dataclass(frozen=True, eq=False)
class Recorded(SpawnShared):
    """The image sizes in annotations.

    Attributes:
        sizes: int32 (n, 2), width and height in px; 0 where the annotations have none.
        file: the annotations.
    """

    sizes: npt.NDArray[np.int32]
    file: str

    def check(self, row: int, path: str, shape: tuple[int, ...], exif: str = "apply") -> None:
        """DataError where an image, as read with `exif`, does not have the size in its annotations."""
        width, height = self.sizes[row].tolist()
        if not width or (height, width) == tuple(shape[:2]):
            return
        what = f"is {shape[0]}×{shape[1]} px, but {self.file} has annotations for {height}×{width} px"
        if (width, height) == tuple(shape[:2]):
            seen, other = ("is stored", "ignore") if exif == "apply" else ("is seen, turned by its EXIF", "apply")
            what += f"; was it annotated as it {seen}? Then give exif={other!r}"
        raise DataError(what, path)


@dataclass(frozen=True, eq=False, kw_only=True)
class Columns(SpawnShared):
    """The table of a dataset's samples; a column that it lacks is None.

    Attributes:
        files: paths of the images of every unit (an image, a scene, or a tile), by target; the largest first.
        labels: int64 (n,); for multi-label data float32 (n, classes) of 0 and 1.
        classes: class names.
        class_to_idx: the number of each class in `labels`.
        groups: text (n,).
        weights: float64 (n,).
        masks: paths of the masks.
        instances: paths of the masks of objects, any number per image.
        targets: paths of further targets, by name.
        boxes: boxes and their labels.
        keypoints: keypoints and their labels.
        outlines: areas of objects, to be drawn as masks.
        recorded: the image sizes in the annotations.
        ids: int64 (n,), the image ids in the annotations; -1 without.
        box_classes: class names of boxes, keypoints and outlines.
        box_numbers: the ids of these classes in the annotations.
        lines: int64 (n,), the line of each row in its CSV file.
    """

    files: Mapping[str, PathTable] = field(default_factory=dict)
    labels: npt.NDArray[Any] | None = None
    classes: tuple[str, ...] | None = None
    class_to_idx: dict[str, int] | None = None
    groups: npt.NDArray[np.str_] | None = None
    weights: npt.NDArray[np.float64] | None = None
    masks: PathTable | None = None
    instances: PathGroups | None = None
    targets: Mapping[str, PathTable] = field(default_factory=dict)
    boxes: Ragged | None = None
    keypoints: Ragged | None = None
    outlines: Outlines | None = None
    recorded: Recorded | None = None
    ids: npt.NDArray[np.int64] | None = None
    box_classes: tuple[str, ...] | None = None
    box_numbers: tuple[int, ...] | None = None
    lines: npt.NDArray[np.int64] | None = None

    def with_classes(self, classes: Classes) -> Self:
        """The same rows, labelled by the positions of their classes in `classes`; integer labels stay as they are.

        Raises:
            DataError: a class that is not among them; names it and its first file.
            ValueError: `classes` repeats a name or is not a list, or the rows have no classes of their own.
        """
        names, own = [*classes], self.class_to_idx or {}
        if isinstance(classes, str) or len({*names}) < len(names):
            raise ValueError(f"classes= is a list of names, each once, got {classes!r}")
        if self.labels is None or self.labels.ndim > 1 or not own or self.label_of(0) is not None:
            raise ValueError("classes= numbers folders of classes, or labels of a CSV file, and this data has neither")
        has_numbers = [*own.values()] != [*range(len(own))]
        numbers = number(names)[2] if has_numbers else {name: k for k, name in enumerate(names)}
        class_names = {k: name for name, k in own.items()}
        used, rows, places = np.unique(self.labels, return_index=True, return_inverse=True)
        for k, row in zip(used.tolist(), rows.tolist(), strict=True):
            if class_names[k] not in numbers:
                what = f"class {class_names[k]!r} is not among classes=, which are {', '.join(names[:_SHOWN])}"
                raise DataError(what, self.path(row))
        labels = np.array([numbers[class_names[k]] for k in used.tolist()], np.int64)[places]
        return replace(self, labels=labels, classes=tuple(names), class_to_idx=numbers)

    @classmethod
    def stored(cls, paths: Mapping[str, PathTable], columns: Mapping[str, Any], **common: Any) -> Self:
        """The table of a packed store, from its targets' paths, its columns, and the fields common to all kinds."""
        files = {name: table for name, table in paths.items() if name != "mask"}
        return cls(files=files, masks=paths.get("mask"), **common)

    def __len__(self) -> int:
        """The number of rows: samples without repeats."""
        return len(self.images)

    @property
    def images(self) -> PathTable:
        """The images of the first target."""
        return next(iter(self.files.values()))

    def images_by_target(self) -> Mapping[str, PathTable]:
        """Paths of the images of every unit, by target."""
        return self.files

    def digest(self) -> str:
        """16 hex digits that identify the list of samples: file names below their roots, masks, labels, points."""
        parts: list[Any] = [] if [*self.files] == ["image"] else ["\n".join(self.files).encode()]
        groups = [] if self.instances is None else [self.instances]
        for names in (*self.files.values(), self.masks, *self.targets.values(), *(group.paths for group in groups)):
            parts += [] if names is None else [names.blob, names.offsets]
        parts += [self.labels, *(group.bounds for group in groups)]
        for rows in (self.boxes, self.keypoints):
            parts += [] if rows is None else [rows.values, rows.offsets, rows.labels]
        return digest_of(*parts, *(() if self.outlines is None else self.outlines.parts()))

    def columns(self) -> dict[str, Any]:
        """The columns that only this kind of table has, by name, for a packed store."""
        return {}

    def sources(self) -> dict[str, PathTable]:
        """Paths of the images and masks of every unit, by target."""
        images = self.images_by_target()
        # A mask drawn from outlines has no file; its image stands for it.
        masks = self.masks or (None if self.outlines is None else next(iter(images.values())))
        return {**images, **({} if masks is None else {"mask": masks}), **self.targets}

    @property
    def masked(self) -> bool:
        """Whether samples have a mask, from a file or drawn from outlines."""
        return self.masks is not None or self.outlines is not None

    @property
    def units(self) -> int:
        """The number of units: samples, or tiles of all bags."""
        return len(self)

    def units_of(self, row: int) -> range:
        """The units of a row."""
        return range(row, row + 1)

    def place(self, unit: int) -> tuple[int, int]:
        """The row of a unit, and its number within the row; with the epoch they key its random draws."""
        return unit, 0

    def label_of(self, unit: int) -> int | None:
        """The label that is read with a unit; None where `labels` has it, or there is none."""
        return None

    def paths(self, unit: int) -> dict[str, str]:
        """Paths of the images of a unit by target; a scene may lack some."""
        return {name: path for name, paths in self.images_by_target().items() if (path := paths[unit])}

    def path(self, row: int) -> str:
        """The path that identifies a row in samples, messages and records: the file of its first target."""
        return next(iter(self.images_by_target().values()))[row]

    def points(self, unit: int, inputs: Any) -> dict[str, Any]:
        """The boxes and keypoints of a unit, with their labels, that a recipe's inputs take."""
        targets: dict[str, Any] = {}
        for name in ("boxes", "keypoints"):
            points, declared = getattr(self, name), getattr(inputs, name)
            if points is not None and declared is not None and declared.presence != "absent":
                targets |= points.targets(unit, name, declared.labels)
        return targets

    def parts(self, unit: int, inputs: Any, **how: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The pipeline's inputs of a unit, and its other fields; see `augrecipes.sources.files.read_files`."""
        read = read_files(self, unit, inputs, **how)
        name, path = next(iter(self.paths(unit).items()))
        return read | dict(read_targets(self.targets, unit, inputs, (path, read.get(name)), **how)), {}

    def read(self, unit: int, inputs: Any, **how: Any) -> dict[str, Any]:
        """The pipeline's inputs of a unit."""
        return self.parts(unit, inputs, **how)[0]


class ArrayTable(Columns):
    """A table whose images are not files: it reads their pixels from a source or a slide."""

    @abstractmethod
    def stamp(self, unit: int) -> str:
        """A fingerprint of the pixels of a unit, which differs when they change."""


def digest_of(*parts: bytes | memoryview | npt.NDArray[Any] | None) -> str:
    """16 hex digits that identify bytes and arrays (BLAKE2b), for a table's `digest`."""
    state = blake2b(digest_size=8)
    for part in parts:
        if isinstance(part, bytes | memoryview):
            state.update(part)
        else:
            state.update(b"-" if part is None else np.ascontiguousarray(part).tobytes())
    return state.hexdigest()


def label_at(labels: npt.NDArray[Any], row: int) -> Any:
    """The label of a row as an int; for multi-label data a copy of its vector."""
    return int(labels[row]) if labels.ndim == 1 else np.array(labels[row])


def single_labels(labels: npt.NDArray[Any] | None) -> npt.NDArray[Any] | None:
    """The labels if each row has exactly one, else None."""
    return labels if labels is not None and labels.ndim == 1 else None


def number(labels: Sequence[str]) -> tuple[npt.NDArray[np.int64], list[str], dict[str, int]]:
    """Labels as int64, the class names, and the number of each name.

    Labels that are all integers keep their values; otherwise names are numbered in sorted order, numeric ones first.

    >>> number(["stroma", "tumour", "stroma"])
    (array([0, 1, 0]), ['stroma', 'tumour'], {'stroma': 0, 'tumour': 1})
    >>> number(["7.0", "3", "12"]), number(["a", "10.5", "9"])[1]
    ((array([ 7,  3, 12]), ['3', '7', '12'], {'3': 3, '7': 7, '12': 12}), ['9', '10.5', 'a'])
    """
    if all(_INTEGER.fullmatch(label) for label in labels):
        ids = np.array([int(label.partition(".")[0]) for label in labels], np.int64)
        names = [str(value) for value in np.unique(ids)]
        return ids, names, {name: int(name) for name in names}
    values = {label: float(label) if _NUMBER.fullmatch(label) else math.inf for label in labels}
    classes = sorted(values, key=lambda label: (values[label], label))
    class_to_idx = {name: i for i, name in enumerate(classes)}
    return np.array([class_to_idx[label] for label in labels], np.int64), classes, class_to_idx
