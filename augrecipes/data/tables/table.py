"""What a dataset knows of its samples before it reads one: paths, labels, boxes, as arrays that pickle small."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from augrecipes.data.tables.csvfile import CsvRows, choose_split, read_rows, resolve
from augrecipes.data.tables.labels import number
from augrecipes.data.tables.outlines import Outlines
from augrecipes.data.tables.problems import Problem, listed, refuse
from augrecipes.data.tables.ragged import Ragged, read_ragged
from augrecipes.data.tables.recorded import Recorded
from augrecipes.errors import DataError, counted
from augrecipes.sharing import Shared
from augrecipes.sources.defects import Defect
from augrecipes.sources.listing import Layout, list_folders
from augrecipes.sources.masks import match_masks
from augrecipes.sources.paths import PathLike, PathTable

POINTS = {"boxes": 4, "keypoints": 2}  # numbers of each


@dataclass(frozen=True, eq=False, kw_only=True)
class Columns(Shared):
    """What is known of the samples of a dataset; columns that it has not are None.

    Attributes:
        files: paths of the pictures of every unit (a picture, a scene, or a tile), by target; the largest first.
        labels: int64 (n,).
        classes: class names.
        class_to_idx: their numbers in `labels`.
        groups: text (n,).
        weights: float64 (n,).
        masks: paths of the masks.
        boxes: boxes and their labels.
        keypoints: points.
        outlines: what objects cover, drawn as masks.
        recorded: the sizes that annotations are for.
        ids: int64 (n,), the numbers that annotations give their pictures; -1 without.
        box_classes: names of the labels of boxes, points and outlines.
        box_numbers: what the annotations call these classes by number.
        lines: int64 (n,), where the rows stand in a CSV file; only of data that are checked.
    """

    files: Mapping[str, PathTable] = field(default_factory=dict)
    labels: npt.NDArray[np.int64] | None = None
    classes: tuple[str, ...] | None = None
    class_to_idx: dict[str, int] | None = None
    groups: npt.NDArray[np.str_] | None = None
    weights: npt.NDArray[np.float64] | None = None
    masks: PathTable | None = None
    boxes: Ragged | None = None
    keypoints: Ragged | None = None
    outlines: Outlines | None = None
    recorded: Recorded | None = None
    ids: npt.NDArray[np.int64] | None = None
    box_classes: tuple[str, ...] | None = None
    box_numbers: tuple[int, ...] | None = None
    lines: npt.NDArray[np.int64] | None = None

    @classmethod
    def stored(cls, paths: Mapping[str, PathTable], columns: Mapping[str, Any], **common: Any) -> Self:
        """The table of a packed store, from the paths of its targets, its columns, and what all kinds have."""
        del columns
        files = {name: table for name, table in paths.items() if name != "mask"}
        return cls(files=files, masks=paths.get("mask"), **common)

    def __len__(self) -> int:
        """The number of rows: samples without repeats."""
        return len(self.images)

    @property
    def images(self) -> PathTable:
        """The pictures of the first target."""
        return next(iter(self.files.values()))

    def images_by_target(self) -> Mapping[str, PathTable]:
        """Paths of the pictures of every unit, by target."""
        return self.files

    def digest(self) -> str:
        """16 hex digits that name the list of samples: file names below their roots, masks, labels, points."""
        parts: list[Any] = [] if [*self.files] == ["image"] else ["\n".join(self.files).encode()]
        for names in (*self.files.values(), self.masks):
            parts += [] if names is None else [names.blob, names.offsets]
        parts.append(self.labels)
        for rows in (self.boxes, self.keypoints):
            parts += [] if rows is None else [rows.values, rows.offsets, rows.labels]
        return digest_of(*parts, *(() if self.outlines is None else self.outlines.parts()))

    def columns(self) -> dict[str, Any]:
        """What a packed store keeps of the table beside what all kinds have, by name of its column."""
        return {}

    def sources(self) -> dict[str, PathTable]:
        """Paths of the pictures and masks of every unit, by target."""
        images = self.images_by_target()
        # A mask that is drawn comes with its picture.
        masks = self.masks or (None if self.outlines is None else next(iter(images.values())))
        return {**images, **({} if masks is None else {"mask": masks})}

    @property
    def masked(self) -> bool:
        """Whether samples have a mask: from a file, or drawn."""
        return self.masks is not None or self.outlines is not None

    @property
    def units(self) -> int:
        """How many units there are: samples, or tiles of all bags."""
        return len(self)

    def units_of(self, row: int) -> range:
        """The units of a row."""
        return range(row, row + 1)

    def place(self, unit: int) -> tuple[int, int]:
        """The row of a unit, and its number among those of the row: with an epoch the key of its draws."""
        return unit, 0

    def label_of(self, unit: int) -> int | None:
        """The label that comes with a unit when it is read; None where `labels` has it, or nobody."""
        del unit
        return None

    def paths(self, unit: int) -> dict[str, str]:
        """The pictures of a unit by target."""
        return {name: paths[unit] for name, paths in self.images_by_target().items()}


class GivenTable(Columns):
    """A table whose pictures are not files of their own: it reads them itself."""

    @abstractmethod
    def read(
        self, unit: int, inputs: Any, *, undecoded: bool = False, names: Iterable[str] | None = None, **how: Any
    ) -> dict[str, Any]:
        """What a pipeline takes of a unit; arguments and errors as `augrecipes.data.read.read_targets`."""

    @abstractmethod
    def stamp(self, unit: int) -> str:
        """What tells the pixels of a unit from others that are given for it another day."""


def digest_of(*parts: bytes | memoryview | npt.NDArray[Any] | None) -> str:
    """16 hex digits that name bytes and arrays, for a table's `digest`."""
    state = blake2b(digest_size=8)
    for part in parts:
        if isinstance(part, bytes | memoryview):
            state.update(part)
        else:
            state.update(b"-" if part is None else np.ascontiguousarray(part).tobytes())
    return state.hexdigest()


@dataclass(slots=True)
class Findings:
    """What is wrong with data that are checked, in the place of the error that a dataset raises.

    Attributes:
        defects: what is wrong.
        notes: what is no defect and should be known all the same.
    """

    defects: list[Defect] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def rows(self, path: str, problems: Iterable[Problem]) -> None:
        """Rows of a file that cannot be used; those of line 0 say by themselves where they are."""
        texts = (f"{path}:{line}: {what}" if line else what for line, what in sorted(problems))
        self.defects += [Defect("row", (path,), text) for text in texts]


def table_of_folders(
    roots: Sequence[PathLike],
    masks: Sequence[PathLike] = (),
    *,
    cache: bool = True,
    layout: Layout = "auto",
    findings: Findings | None = None,
) -> Columns:
    """The images below folders: class folders, or images side by side.

    Args:
        roots: folders; their classes are numbered together.
        masks: folders with a mask for every image, under the same name but for the extension; laid out like the
            roots, or flat. Or names of masks, see `augrecipes.sources.masks`.
        cache: keep the listing in a file in the user's cache folder.
        layout: of the roots; see `augrecipes.sources.listing`.
        findings: takes images without a mask, which are left out then.

    Raises:
        DataError: a folder is missing or empty, or an image has no mask or several; lists all such images.
    """
    listing = list_folders(roots, cache=cache, layout=layout)
    images, labels = listing.paths, listing.labels
    found: PathTable | None = None
    if masks:
        match = match_masks(images, roots, masks, cache=cache)
        if findings is not None:
            findings.defects += [Defect("missing", (images[i],), text) for i, text in match.problems.items()]
            if match.unused:
                findings.notes.append(f"{counted(match.unused, 'mask')} without an image")
        elif match.problems:
            total = len(match.problems) + len(match.keep)
            text = listed(match.problems.values())
            raise DataError(f"{len(match.problems)} of {total} images have not exactly one mask:{text}")
        found = match.masks
        if len(match.keep) < len(images):
            images, labels = images.take(match.keep), None if labels is None else labels[match.keep]
    return Columns(
        files={"image": images}, masks=found, labels=labels, classes=listing.classes, class_to_idx=listing.class_to_idx
    )


def table_of_csv(
    path: PathLike,
    split: str | None = None,
    *,
    check: bool = True,
    ignore: frozenset[str] = frozenset(),
    renamed: Mapping[str, str] | None = None,
    findings: Findings | None = None,
) -> Columns:
    """The samples that a CSV file lists; see `augrecipes.data.tables.csvfile` for its columns.

    Args:
        path: the file.
        split: only the rows of this split. Classes are numbered over all rows, so that splits agree.
        check: whether files that do not exist are an error now, and not when they are read.
        ignore: columns that are not looked into: `mask`, `boxes`, `keypoints`.
        renamed: what the file calls its columns, by the names that they have here.
        findings: takes rows that cannot be used, which are left out then.

    Raises:
        DataError: the file is not as it should be, or lists files that do not exist; names the line.
    """
    wrong: list[Problem] | None = None if findings is None else []
    every = read_rows(path, renamed=renamed, problems=wrong)
    keep = np.array(choose_split(every, split), np.int64)
    taken = set(every.columns) - ignore
    if findings is not None and wrong is not None:
        columns_of(every, keep, wrong)
        rows = every.select(keep.tolist())
        wrong += [problem for name in POINTS.keys() & taken for problem in _wrong_cells(rows, name)]
        if "mask" in taken:
            resolve(rows, "mask", problems=wrong)
        keep = keep[np.isin(np.array(every.lines)[keep], [line for line, _ in wrong], invert=True)]
        every, keep = every.select(keep.tolist()), np.arange(len(keep))
        findings.rows(every.path, wrong)
    rows = every.select(keep.tolist())
    files = {name: resolve(rows, name, check=check) for name in ("image", "mask") if name in taken}
    points = {name: read_ragged(every, name, width, labelled=name == "boxes").take(keep)
              for name, width in POINTS.items() if name in taken}  # fmt: skip
    return Columns(
        files={"image": files["image"]},
        masks=files.get("mask"),
        lines=None if findings is None else np.array(rows.lines, np.int64),
        **columns_of(every, keep),
        **points,  # type: ignore[arg-type]
    )


def _wrong_cells(rows: CsvRows, name: str) -> Iterable[Problem]:
    for i, line in enumerate(rows.lines):
        try:
            read_ragged(rows.select([i]), name, POINTS[name], labelled=name == "boxes")
        except DataError as error:
            yield line, error.reason


def columns_of(every: CsvRows, keep: npt.NDArray[np.int64], problems: list[Problem] | None = None) -> dict[str, Any]:
    """The fields of `Columns` for the rows at the positions in `keep`; classes are numbered over all rows.

    Args:
        every: all rows of a file.
        keep: positions.
        problems: takes what is wrong, instead of an error.

    Raises:
        DataError: rows without a label where others have one, or weights that are none; names the lines.
    """
    rows = every.select(keep.tolist())
    wrong: list[Problem] = [] if problems is None else problems
    ids, classes, class_to_idx = _labels(every, wrong)
    weights = _weights(rows, wrong)
    if problems is None:
        refuse(every.path, wrong)
    return {
        "labels": None if ids is None else ids[keep],
        "classes": classes,
        "class_to_idx": class_to_idx,
        "groups": np.array(rows.columns["group"]) if "group" in rows.columns else None,
        "weights": weights,
    }


def _labels(
    rows: CsvRows, problems: list[Problem]
) -> tuple[npt.NDArray[np.int64] | None, tuple[str, ...] | None, dict[str, int] | None]:
    if "label" not in rows.columns:
        return None, None, None
    missing = [line for line, value in zip(rows.lines, rows.columns["label"], strict=True) if not value]
    problems += [(line, "no label in this row, though others have one") for line in missing]
    ids, classes, class_to_idx = number(rows.columns["label"])
    return ids, tuple(classes), class_to_idx


def _weights(rows: CsvRows, problems: list[Problem]) -> npt.NDArray[np.float64] | None:
    if "weight" not in rows.columns:
        return None
    weights = []
    for line, value in zip(rows.lines, rows.columns["weight"], strict=True):
        try:
            weight = float(value)
        except ValueError:
            weight = -1.0
        if not 0 <= weight < float("inf"):
            problems.append((line, f"weight must be a number that is not negative, got {value!r}"))
        weights.append(weight)
    return np.array(weights)
