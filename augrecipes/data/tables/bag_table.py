"""Bags of tiles before one of them is read: which tiles, where on the slide, which label, as arrays that pickle small.

Folders: `root/<bag>/**/tile`, with the labels in `root/labels.csv` (columns `bag` and `label`), where there is one.

Or a CSV file, one row a tile, with the columns

- `bag`: name of the bag; rows of a bag need not stand together.
- `image`: path of the tile, relative to the CSV file.
- `x`, `y`: whole numbers, where the tile lies; without them they are read off the file names.
- `label`, `split`, `weight`, `group`: of the bag, so the same in all its rows; see `augrecipes.data.tables.csvfile`.

Bags are in the order of their names (as bytes), or in which the CSV file begins them; tiles in that of their paths, or
of their rows. The place of a tile in its bag is the number that keys its draws.
"""

from __future__ import annotations

import logging
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from augrecipes.data.tables.bag_labels import label_files, labels_of_bags
from augrecipes.data.tables.coordinates import places_in
from augrecipes.data.tables.csvfile import CsvRows, choose_split, missing_files, read_rows, resolve
from augrecipes.data.tables.labels import number
from augrecipes.data.tables.problems import Problem, listed, refuse
from augrecipes.data.tables.table import Columns, columns_of, digest_of
from augrecipes.errors import DataError, counted
from augrecipes.sources.listing import EXTENSIONS, list_folder
from augrecipes.sources.paths import PathLike, PathTable
from augrecipes.sources.remote.place import is_remote
from augrecipes.sources.slides.level import Level

_log = logging.getLogger("augrecipes")
_OF_BAG = ("label", "split", "weight", "group")
_COLUMNS = ("bag", "image", "x", "y", *_OF_BAG)
_AXES = ("x", "y")


@dataclass(frozen=True, eq=False)
class BagTable(Columns):
    """The bags of a dataset and their tiles.

    Attributes:
        bags: the bags' folders, or the names alone where a CSV file names them.
        tiles: paths of all tiles, those of a bag one after another.
        offsets: int64 (n + 1,); tiles `offsets[i]:offsets[i + 1]` are those of bag i.
        coords: int64 (m, 2), the (x, y) of every tile, or None where the file names tell.
        folders: whether `bags` are folders.
    """

    bags: PathTable
    tiles: PathTable
    offsets: npt.NDArray[np.int64]
    coords: npt.NDArray[np.int64] | None = None
    folders: bool = True

    @classmethod
    def stored(cls, paths: Mapping[str, PathTable], columns: Mapping[str, Any], **common: Any) -> Self:
        """As every table."""
        bags, offsets = PathTable.from_texts(columns["bag/name"]), columns["bag/offsets"]
        return cls(bags=bags, tiles=paths["image"], offsets=offsets, coords=columns["bag/coords"], **common)

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

    def images_by_target(self) -> dict[str, PathTable]:
        """As every table."""
        return {"image": self.tiles}

    @property
    def units(self) -> int:
        """Tiles of all bags."""
        return len(self.tiles)

    def units_of(self, row: int) -> range:
        """The tiles of a bag."""
        return range(int(self.offsets[row]), int(self.offsets[row + 1]))

    def place(self, unit: int) -> tuple[int, int]:
        """The bag of a tile, and its number in it."""
        bag = bisect_right(self.offsets, unit) - 1
        return bag, unit - int(self.offsets[bag])

    def digest(self) -> str:
        """16 hex digits that name the bags, their tiles, places and labels."""
        tiles = (self.tiles.blob, self.tiles.offsets, self.offsets, self.coords)
        return digest_of(self.bags.blob, self.bags.offsets, *tiles, self.labels)

    def counts(self) -> npt.NDArray[np.int64]:
        """How many tiles each bag has, int64 (n,)."""
        return np.diff(self.offsets)

    def path(self, bag: int) -> str:
        """The folder of a bag, or its first tile."""
        return self.bags[bag] if self.folders else self.tiles[int(self.offsets[bag])]

    def about(self, bag: int) -> str:
        """What decided how many tiles a bag has, as the end of a sentence; empty where there is nothing to be said."""
        del bag
        return ""

    on_slides: ClassVar[bool] = False
    """Whether there are pictures of whole slides; see `overview`."""

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
        return np.array(places_in(self.tiles, rows.tolist()), np.int64).reshape(-1, 2)


def bags_of_folders(
    roots: Sequence[PathLike],
    labels: PathLike | None = None,
    *,
    cache: bool = True,
    problems: list[Problem] | None = None,
) -> BagTable:
    """The bags in one or more folders.

    Args:
        roots: folders of bags.
        labels: a CSV file with columns `bag` and `label`, instead of the `labels.csv` of each root.
        cache: keep the listing in a file in the user's cache folder.
        problems: takes labels that do not match, as line 0, instead of an error; then there are no labels.

    Raises:
        DataError: a root is missing or holds no tiles, two roots have a bag of the same name, or bags and labels do
            not match one to one; names all of them.
    """
    tables = [_bags_in(root, cache=cache) for root in roots]
    sizes = [table.counts() for table in tables]
    bags = PathTable.concat([table.bags for table in tables])
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
    joined = BagTable(bags, PathTable.concat([table.tiles for table in tables]), offsets)
    names = [bags.name(i) for i in range(len(bags))]
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        text = listed(
            f"{name}: {', '.join(bags[i] for i, other in enumerate(names) if other == name)}" for name in twice
        )
        raise DataError(f"bags of the same name in several roots; name them apart in a CSV file (files=):{text}")
    given = labels_of_bags(names, label_files(roots, labels), problems)
    if given is None:
        return joined
    ids, classes, class_to_idx = number(given)
    return replace(joined, labels=ids, classes=tuple(classes), class_to_idx=class_to_idx)


def _bags_in(root: PathLike, *, cache: bool) -> BagTable:
    found = list_folder(root, cache=cache, layout="classes")
    if not is_remote(root):
        _warn_of_loose_tiles(os.fsencode(root))
    names = [os.fsencode(name) for name in found.classes or ()]
    bags = PathTable.from_names(names, root=os.fsencode(root))
    bag_of = np.zeros(0, np.int64) if found.labels is None else found.labels
    return BagTable(bags, found.paths, np.searchsorted(bag_of, np.arange(len(names) + 1)).astype(np.int64))


def _warn_of_loose_tiles(root: bytes) -> None:
    with os.scandir(root) as entries:
        names = [entry.name for entry in entries if entry.name.rpartition(b".")[2].lower() in EXTENSIONS]
    loose = sorted(os.fsdecode(name) for name in names if not name.startswith(b"."))
    if loose:
        message = "%s: %s beside the bags, not read (%s first): each bag is a folder of its own"
        _log.warning(message, os.fsdecode(root), counted(len(loose), "picture"), loose[0])


def bags_of_csv(
    path: PathLike,
    split: str | None = None,
    *,
    check: bool = True,
    problems: list[Problem] | None = None,
    renamed: Mapping[str, str] | None = None,
) -> BagTable:
    """The bags that a CSV file lists.

    Args:
        path: the file.
        split: only the bags of this split. Classes are numbered over all of them, so that splits agree.
        check: whether files that do not exist are an error now, and not when they are read.
        problems: takes what is wrong with rows, instead of an error; those that cannot be read are left out.
        renamed: what the file calls its columns, by the names that they have here.

    Raises:
        DataError: the file is not as it should be, lists tiles that do not exist, or rows of one bag differ in what
            belongs to the bag; names all such lines.
    """
    given, problems = problems, [] if problems is None else problems
    every = read_rows(path, known=_COLUMNS, required=("bag", "image"), problems=problems, renamed=renamed)
    if not len(every):
        refuse(every.path, problems)
    _check_axes(every)
    number_of: dict[str, int] = {}
    bag_of = np.array([number_of.setdefault(bag, len(number_of)) for bag in every.columns["bag"]], np.int64)
    first = np.unique(bag_of, return_index=True)[1]
    problems += _disagreements(every, bag_of, first)
    bags = every.select(first.tolist())
    keep = np.array(choose_split(bags, split), np.int64)
    chosen = np.zeros(len(first), bool)
    chosen[keep] = True
    order = np.argsort(bag_of, kind="stable")
    order = order[chosen[bag_of[order]]]
    rows = every if np.array_equal(order, np.arange(len(every))) else every.select(order.tolist())
    tiles = resolve(rows, "image")
    if check:
        problems += [(rows.lines[i], f"{tiles[i]}: no such file") for i in missing_files(tiles)]
    coords = _coords(rows, problems)
    columns = columns_of(bags, keep, problems)
    if given is None:
        refuse(every.path, problems)
    counts = np.bincount(bag_of, minlength=len(first))[keep]
    names = [os.fsencode(bags.columns["bag"][i]) for i in keep]
    return BagTable(
        bags=PathTable.from_names(names),
        tiles=tiles,
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        coords=coords,
        folders=False,
        **columns,
    )


def _disagreements(rows: CsvRows, bag_of: npt.NDArray[np.int64], first: npt.NDArray[np.int64]) -> list[Problem]:
    """What differs within a bag, each column once."""
    problems: dict[tuple[int, str], Problem] = {}
    for column in _OF_BAG:
        values = rows.columns.get(column)
        if values is None:
            continue
        for i, (value, bag) in enumerate(zip(values, bag_of.tolist(), strict=True)):
            start = int(first[bag])
            if value != values[start] and (bag, column) not in problems:
                text = f"{column} {value!r}, but {values[start]!r} in line {rows.lines[start]}"
                problems[bag, column] = rows.lines[i], f"bag {rows.columns['bag'][i]!r}: {text}"
    return list(problems.values())


def _check_axes(rows: CsvRows) -> None:
    given = [column for column in _AXES if column in rows.columns]
    if len(given) == 1:
        raise DataError(f"column `{given[0]}` alone; tiles have x and y, or neither", rows.path)


def _coords(rows: CsvRows, problems: list[Problem]) -> npt.NDArray[np.int64] | None:
    if _AXES[0] not in rows.columns:
        return None
    coords = np.zeros((len(rows), len(_AXES)), np.int64)
    for k, column in enumerate(_AXES):
        for i, text in enumerate(rows.columns[column]):
            value = _integer(text)
            if value is None:
                problems.append((rows.lines[i], f"{column} must be a whole number of pixels, got {text!r}"))
            else:
                coords[i, k] = value
    return coords


def _integer(text: str) -> int | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else None
