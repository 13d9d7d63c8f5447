"""Bags of tiles before one of them is read: which tiles, where on the slide, which label, as arrays that pickle small.

Folders: `root/<bag>/**/tile`, with the labels in `root/labels.csv` (columns `bag` and `label`), where there is one.

Or a CSV file, one row a tile, with the columns

- `bag`: name of the bag; rows of a bag need not stand together.
- `image`: path of the tile, relative to the CSV file.
- `x`, `y`: whole numbers, where the tile lies; without them they are read off the file names.
- `label`, `split`, `weight`, `group`: of the bag, so the same in all its rows; see `augrecipes.sources.csv_list`.

Bags are in the order of their names (as bytes), or in which the CSV file begins them; tiles in that of their paths, or
of their rows. The place of a tile in its bag is the number that keys its draws.
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

from augrecipes.errors import DataError, listed
from augrecipes.remote import is_file, place_of
from augrecipes.sources.columns import Columns, digest_of, number
from augrecipes.sources.csv_list import CsvRows, read_rows
from augrecipes.sources.defects import Findings, Problem
from augrecipes.sources.listing import list_folders
from augrecipes.sources.paths import PathLike, PathTable, tile_position
from augrecipes.sources.slides.pyramid import Level

_OF_BAG = ("label", "split", "weight", "group")
_AXES = ("x", "y")
_LABELS = "labels.csv"
_FARTHEST = 1 << 53  # px


@dataclass(frozen=True, eq=False, kw_only=True)
class BagTable(Columns):
    """The bags of a dataset and their tiles.

    Attributes:
        bags: the bags' folders, or the names alone where a CSV file names them.
        offsets: int64 (n + 1,); tiles `offsets[i]:offsets[i + 1]` are those of bag i.
        coords: int64 (m, 2), the (x, y) of every tile, or None where the file names tell.
        folders: whether `bags` are folders.
        foreground: by what its tiles were chosen, in the words of a recipe's `bag:`.
        notes: what decided how many tiles each bag has; empty where there is nothing to be said.
    """

    bags: PathTable
    offsets: npt.NDArray[np.int64]
    coords: npt.NDArray[np.int64] | None = None
    folders: bool = True
    foreground: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    on_slides: ClassVar[bool] = False
    """Whether there are images of whole slides; see `overview`."""

    @classmethod
    def stored(cls, paths: Mapping[str, PathTable], columns: Mapping[str, Any], **common: Any) -> Self:
        """As every table."""
        bags, offsets = PathTable.from_texts(columns["bag/name"]), columns["bag/offsets"]
        return cls(files=paths, bags=bags, offsets=offsets, coords=columns["bag/coords"], **common)

    def columns(self) -> dict[str, Any]:
        """Names, folders, tiles and their places."""
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
        """Tiles of all bags."""
        return len(self.images)

    def units_of(self, row: int) -> range:
        """The tiles of a bag."""
        return range(int(self.offsets[row]), int(self.offsets[row + 1]))

    def place(self, unit: int) -> tuple[int, int]:
        """The bag of a tile, and its number in it."""
        bag = bisect_right(self.offsets, unit) - 1
        return bag, unit - int(self.offsets[bag])

    def digest(self) -> str:
        """16 hex digits that name the bags, their tiles, places and labels."""
        tiles = (self.images.blob, self.images.offsets, self.offsets, self.coords)
        return digest_of(self.bags.blob, self.bags.offsets, *tiles, self.labels)

    def counts(self) -> npt.NDArray[np.int64]:
        """How many tiles each bag has, int64 (n,)."""
        return np.diff(self.offsets)

    def path(self, bag: int) -> str:
        """The folder of a bag, or its first tile."""
        return self.bags[bag] if self.folders else self.images[int(self.offsets[bag])]

    def about(self, bag: int) -> str:
        """What decided how many tiles a bag has, as the end of a sentence; or nothing."""
        return f": {self.notes[bag]}" if self.notes else ""

    def overview(self, bag: int, longest: int) -> tuple[npt.NDArray[np.uint8], Level, float] | None:
        """A slide made small, no side longer than so many px; its level 0; and the side of a tile in px of that.

        None where there is none.
        """
        del bag, longest
        return None

    def places(self, bag: int, tiles: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The (x, y) of some tiles of a bag, int64 (len(tiles), 2); -1 where they are not known."""
        rows = self.offsets[bag] + tiles
        if self.coords is not None:
            return self.coords[rows]
        return np.array([tile_position(self.images.name(i)) for i in rows.tolist()], np.int64).reshape(-1, 2)


def bags_of_folders(
    roots: Sequence[PathLike], labels: PathLike | None, findings: Findings, *, cache: bool = True
) -> BagTable:
    """The bags in one or more folders.

    Args:
        roots: folders of bags.
        labels: a CSV file with columns `bag` and `label`, instead of the `labels.csv` of each root.
        findings: takes labels that do not match; then there are none.
        cache: keep the listing in a file in the user's cache folder.

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
    every = PathTable.concat(bags)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
    known = [every.name(i) for i in range(len(every))]
    if twice := {name for name, times in Counter(known).items() if times > 1}:
        text = listed(f"{name}: {every[i]}" for i, name in enumerate(known) if name in twice)
        raise DataError(f"bags of the same name in several roots; name them apart in a CSV file (files=):{text}")
    of_bags = labels_of_bags(known, label_files(roots, labels), findings)
    return BagTable(files={"image": PathTable.concat(tiles)}, bags=every, offsets=offsets, **of_bags)


def label_files(roots: Sequence[PathLike], labels: PathLike | None) -> list[str]:
    """The files of labels: the one that is given, or `labels.csv` in every root, or none."""
    if labels is not None:
        return [os.fsdecode(labels)]
    files = [str(place_of(root) / _LABELS) for root in roots]
    present = [file for file in files if is_file(file)]
    if present and len(present) < len(files):
        missing = next(file for file in files if file not in present)
        raise DataError(f"no such file, though {present[0]} exists: every root needs its labels, or none", missing)
    return present


def labels_of_bags(names: list[str], files: list[str], findings: Findings, *, others: bool = False) -> dict[str, Any]:
    """The fields of a table with the label of every bag; none without files, or where something is wrong with them.

    Args:
        names: of the bags.
        files: that must name each bag once.
        findings: takes what is wrong.
        others: they may name others, too.
    """
    label: dict[str, str] = {}
    first: dict[str, str] = {}  # where a bag is named first
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
    """The bags that a CSV file lists.

    Args:
        path: the file.
        split: only the bags of this split. Classes are numbered over all of them, so that splits agree.
        findings: takes what is wrong with rows; those that cannot be read are left out.
        check: whether files that do not exist are wrong now, and not when they are read.
        renamed: what the file calls its columns, by the names that they have here.
        outside: whether tiles may lie outside of the CSV file's folder, or on another server.

    Raises:
        DataError: the file as a whole is not as it should be.
    """
    columns = ("bag", "image", *_AXES, *_OF_BAG)
    every = read_rows(path, known=columns, required=("bag", "image"), renamed=renamed)
    if not len(every):
        every.refuse()
    if len(axes := [axis for axis in _AXES if axis in every.columns]) == 1:
        raise DataError(f"column `{axes[0]}` alone; tiles have x and y, or neither", every.path)
    number_of: dict[str, int] = {}
    bag_of = np.array([number_of.setdefault(bag, len(number_of)) for bag in every.columns["bag"]], np.int64)
    first = np.unique(bag_of, return_index=True)[1]
    every.problems.extend(_disagreements(every, first[bag_of].tolist()))
    bags = every.select(first)
    keep = bags.split_rows(split)
    order = np.argsort(bag_of, kind="stable")
    rows = every.select(order[np.isin(bag_of[order], keep)])
    tiles = rows.paths("image", check=check, outside=outside)
    coords = np.stack([_whole_numbers(rows, axis) for axis in _AXES], 1) if axes else None
    of_bags = bags.fields(keep)
    findings.rows(every.path, every.problems)
    return BagTable(
        files={"image": tiles},
        bags=PathTable.from_names([os.fsencode(bags.columns["bag"][i]) for i in keep]),
        offsets=np.concatenate([[0], np.cumsum(np.bincount(bag_of, minlength=len(first))[keep])]).astype(np.int64),
        coords=coords,
        folders=False,
        **of_bags,
    )


def _disagreements(rows: CsvRows, first: list[int]) -> Iterator[Problem]:
    """What differs within a bag from its `first` row, each column once."""
    for column in rows.columns.keys() & set(_OF_BAG):
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
