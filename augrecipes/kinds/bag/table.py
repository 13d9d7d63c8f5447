"""Lists bags of tiles: which tiles, where on the slide, which label, as arrays that pickle small. Reads no image.

Bags are folders, `root/<bag>/**/tile`, with labels in `root/labels.csv` (columns `bag` and `label`), where there is
one. Or a CSV file lists them, a row for each tile, with the columns

- `bag`: name of the bag; rows of a bag need not be adjacent.
- `image`: path of the tile, relative to the CSV file.
- `x`, `y`: whole numbers, the tile's place; without these columns it is read from the file name.
- `label`, `split`, `weight`, `group`: describe the bag and must be equal in all its rows; see
  `augrecipes.sources.csv_list`.

Bags are sorted by name (as bytes), or in the order of their first rows in the CSV file; tiles are sorted by path, or in
the order of their rows. The position of a tile in its bag keys its draws.
"""

import math
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError, as_lines
from augrecipes.remote import is_file, place_of
from augrecipes.sources.columns import Columns, digest_of, number
from augrecipes.sources.csv_list import CsvRows, read_rows
from augrecipes.sources.defects import Findings, Problem
from augrecipes.sources.listing import list_folders
from augrecipes.sources.paths import PathLike, PathTable, tile_position
from augrecipes.sources.slides.pyramid import Level

_BAG_COLUMNS = ("label", "split", "weight", "group")
_AXES = ("x", "y")
_LABELS = "labels.csv"
_FARTHEST = 1 << 53  # px


@dataclass(frozen=True, eq=False, kw_only=True)
class BagTable(Columns):
    """The bags of a dataset and their tiles.

    Attributes:
        bags: the bags' folders, or their names where a CSV file lists them.
        offsets: int64 (n + 1,); tiles `offsets[i]:offsets[i + 1]` belong to bag i.
        coords: int64 (m, 2), the (x, y) of every tile; None: the file names tell.
        folders: whether `bags` are folders.
        foreground: the keys and values of a recipe's `bag:` by which tiles were selected.
        notes: a sentence for each bag on what decided its number of tiles; empty: there is nothing to say.
    """

    bags: PathTable
    offsets: npt.NDArray[np.int64]
    coords: npt.NDArray[np.int64] | None = None
    folders: bool = True
    foreground: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    on_slides: ClassVar[bool] = False
    """Whether tiles are windows of whole slides; see `overview`."""

    @classmethod
    def stored(cls, paths: Mapping[str, PathTable], columns: Mapping[str, Any], **common: Any) -> Self:
        """Restore a table from the columns of a packed store."""
        bags, offsets = PathTable.from_texts(columns["bag/name"]), columns["bag/offsets"]
        return cls(files=paths, bags=bags, offsets=offsets, coords=columns["bag/coords"], **common)

    def columns(self) -> dict[str, Any]:
        """The columns that a packed store keeps: names, paths, offsets and places of tiles."""
        bags = range(len(self))
        coords = [self.places(bag, np.arange(count)) for bag, count in enumerate(self.counts().tolist())]
        return {
            "bag/name": [self.bags.name(bag) for bag in bags],
            "bag/path": [self.path(bag) for bag in bags],
            "bag/offsets": self.offsets,
            "bag/coords": np.concatenate(coords),
        }

    def __len__(self) -> int:
        return len(self.bags)

    @property
    def units(self) -> int:
        """Number of tiles in all bags."""
        return len(self.images)

    def units_of(self, row: int) -> range:
        """The numbers of a bag's tiles among all tiles."""
        return range(int(self.offsets[row]), int(self.offsets[row + 1]))

    def place(self, unit: int) -> tuple[int, int]:
        """The bag of a tile, and the tile's number in that bag."""
        bag = bisect_right(self.offsets, unit) - 1
        return bag, unit - int(self.offsets[bag])

    def digest(self) -> str:
        """A hash, 16 hex digits, of the bags, their tiles, places and labels."""
        tiles = (self.images.blob, self.images.offsets, self.offsets, self.coords)
        return digest_of(self.bags.blob, self.bags.offsets, *tiles, self.labels)

    def counts(self) -> npt.NDArray[np.int64]:
        """Number of tiles of each bag, int64 (n,)."""
        return np.diff(self.offsets)

    def path(self, bag: int) -> str:
        """The folder of a bag, or its first tile."""
        return self.bags[bag] if self.folders else self.images[int(self.offsets[bag])]

    def about(self, bag: int) -> str:
        """What decided the number of a bag's tiles, as the end of a sentence; "" where there is nothing to say."""
        return f": {self.notes[bag]}" if self.notes else ""

    def overview(self, bag: int, longest: int) -> tuple[npt.NDArray[np.uint8], Level, float] | None:
        """A thumbnail of a slide, its level 0, and the side of a tile in px of level 0; None: there is no slide.

        No side of the thumbnail is longer than `longest` px.
        """
        return None

    def places(self, bag: int, tiles: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The (x, y) of some tiles of a bag, int64 (len(tiles), 2); -1 where unknown."""
        rows = self.offsets[bag] + tiles
        if self.coords is not None:
            return self.coords[rows]
        return np.array([tile_position(self.images.name(i)) for i in rows.tolist()], np.int64).reshape(-1, 2)


def bags_of_folders(
    roots: Sequence[PathLike], labels: PathLike | None, findings: Findings, *, cache: bool = True
) -> BagTable:
    """List the bags in one or more folders.

    Args:
        roots: folders of bags.
        labels: a CSV file with columns `bag` and `label`, instead of the `labels.csv` of each root.
        findings: receives defects of the labels; with any, the table has no labels.
        cache: keep the listing in the user's cache folder.

    Raises:
        DataError: a root is missing or holds no tiles, or two roots have a bag of the same name; names all of them.
    """
    bags, tiles, counts = [], [], []
    for root in roots:
        listing = list_folders([root], cache=cache, layout="classes")
        names = [os.fsencode(name) for name in listing.classes or ()]
        bags.append(PathTable.from_names(names, root=os.fsencode(root)))
        tiles.append(listing.images)
        counts.append(np.bincount(listing.labels if listing.labels is not None else [], minlength=len(names)))
    all_bags = PathTable.concat(bags)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
    names_of_bags = [all_bags.name(i) for i in range(len(all_bags))]
    if repeated := {name for name, times in Counter(names_of_bags).items() if times > 1}:
        text = as_lines(f"{name}: {all_bags[i]}" for i, name in enumerate(names_of_bags) if name in repeated)
        raise DataError(f"bags of the same name in several roots; name them apart in a CSV file (files=):{text}")
    fields = labels_of_bags(names_of_bags, label_files(roots, labels), findings)
    return BagTable(files={"image": PathTable.concat(tiles)}, bags=all_bags, offsets=offsets, **fields)


def label_files(roots: Sequence[PathLike], labels: PathLike | None) -> list[str]:
    """The files of labels: `labels`, or `labels.csv` in every root, or none."""
    if labels is not None:
        return [os.fsdecode(labels)]
    files = [str(place_of(root) / _LABELS) for root in roots]
    present = [file for file in files if is_file(file)]
    if present and len(present) < len(files):
        missing = next(file for file in files if file not in present)
        raise DataError(f"no such file, though {present[0]} exists: every root needs its labels, or none", missing)
    return present


def labels_of_bags(names: list[str], files: list[str], findings: Findings, *, others: bool = False) -> dict[str, Any]:
    """Read the labels of bags as fields of a table; {} without files, or where they have defects.

    Args:
        names: names of the bags.
        files: CSV files which must name each bag once.
        findings: receives the defects.
        others: whether the files may name other bags, too.
    """
    label: dict[str, str] = {}
    first: dict[str, str] = {}  # the line that first names a bag
    known, before = set(names), len(findings.defects)
    for file in files:
        rows = read_rows(file, known=("bag", "label"), required=("bag", "label"), filled=("bag",))
        for i, (bag, value) in enumerate(zip(rows.columns["bag"], rows.columns["label"], strict=True)):
            if bag not in known and others:
                continue
            why = ["has no label here"] if not value else []
            why += ["has no folder"] if bag not in known else [f"again, first in {first[bag]}"] if bag in label else []
            rows.problems.extend((rows.lines[i], f"bag {bag!r} {text}") for text in why)
            if bag in known and bag not in label:
                label[bag], first[bag] = value, rows.where(i)
        findings.rows(file, rows.problems)
    missing = [name for name in names if name not in label] if files else []
    findings.rows(", ".join(files), [(0, f"{', '.join(files)}: bag {name!r} has no row") for name in missing])
    if not files or len(findings.defects) > before:
        return {}
    ids, classes, class_to_idx = number([label[name] for name in names])
    return {"labels": ids, "classes": tuple(classes), "class_to_idx": class_to_idx}


def bags_of_csv(
    path: PathLike,
    split: str | None,
    findings: Findings,
    *,
    check: bool = True,
    renamed: Mapping[str, str] | None = None,
    outside: bool = False,
) -> BagTable:
    """List the bags of a CSV file.

    Args:
        path: the file.
        split: take the bags of this split only. Classes are numbered over all splits, so that splits agree.
        findings: receives the defects of rows; rows that cannot be read are left out.
        check: whether missing files are defects; otherwise they are errors when they are read.
        renamed: the file's names of columns, by the names that they have here.
        outside: whether tiles may lie outside the CSV file's folder, or on another server.

    Raises:
        DataError: the file cannot be read as a list of bags.
    """
    columns = ("bag", "image", *_AXES, *_BAG_COLUMNS)
    all_rows = read_rows(path, known=columns, required=("bag", "image"), renamed=renamed)
    if not len(all_rows):
        all_rows.refuse()
    if len(axes := [axis for axis in _AXES if axis in all_rows.columns]) == 1:
        raise DataError(f"column `{axes[0]}` alone; tiles have x and y, or neither", all_rows.path)
    number_of: dict[str, int] = {}
    bag_of = np.array([number_of.setdefault(bag, len(number_of)) for bag in all_rows.columns["bag"]], np.int64)
    first = np.unique(bag_of, return_index=True)[1]
    all_rows.problems.extend(_disagreements(all_rows, first[bag_of].tolist()))
    bags = all_rows.select(first)
    keep = bags.split_rows(split)
    order = np.argsort(bag_of, kind="stable")
    rows = all_rows.select(order[np.isin(bag_of[order], keep)])
    tiles = rows.paths("image", check=check, outside=outside)
    coords = np.stack([_whole_numbers(rows, axis) for axis in _AXES], 1) if axes else None
    fields = bags.fields(keep)
    findings.rows(all_rows.path, all_rows.problems)
    return BagTable(
        files={"image": tiles},
        bags=PathTable.from_names([os.fsencode(bags.columns["bag"][i]) for i in keep]),
        offsets=np.concatenate([[0], np.cumsum(np.bincount(bag_of, minlength=len(first))[keep])]).astype(np.int64),
        coords=coords,
        folders=False,
        **fields,
    )


def _disagreements(rows: CsvRows, first: list[int]) -> Iterator[Problem]:
    """Rows of a bag that differ from its `first` row, each column once."""
    for column in rows.columns.keys() & set(_BAG_COLUMNS):
        values, seen = rows.columns[column], set[int]()
        for i, start in enumerate(first):
            if values[i] != values[start] and start not in seen:
                seen.add(start)
                text = f"{column} {values[i]!r}, but {values[start]!r} in line {rows.lines[start]}"
                yield rows.lines[i], f"bag {rows.columns['bag'][i]!r}: {text}"


def _whole_numbers(rows: CsvRows, column: str) -> npt.NDArray[np.int64]:
    numbers = np.zeros(len(rows), np.int64)
    for i, text in enumerate(rows.columns[column]):
        value = math.nan
        with suppress(ValueError):
            value = float(text)
        if value.is_integer() and abs(value) < _FARTHEST:
            numbers[i] = value
        else:
            rows.problems.append((rows.lines[i], f"{column} must be a whole number of pixels, got {text!r}"))
    return numbers
