"""The data of one recipe: found and listed as the Datasets do it, before a picture is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augrecipes.data.checks import as_list, as_table, check_targets
from augrecipes.data.tables.bag_table import bags_of_csv, bags_of_folders
from augrecipes.data.tables.pair_find import check_roots, find, wanted_by
from augrecipes.data.tables.pair_report import report
from augrecipes.data.tables.pair_table import checked
from augrecipes.data.tables.table import Columns, Table
from augrecipes.errors import DataError
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources.files import MAX_PIXELS
from augrecipes.sources.pair_roots import Roots
from augrecipes.sources.paths import PathTable

StrPath = str | os.PathLike[str]
Data = StrPath | Mapping[str, Roots]  # of a pair by target

_TABLES = (".csv", ".tsv")


@dataclass(frozen=True)
class Listing:
    """What is known of the data before a picture is read.

    Attributes:
        table: paths, labels, boxes and whatever else is known of each sample.
        decode: arguments of `read_image`.
        left_out: what is wrong with files that are in no sample.
        notes: what else should be known.
    """

    table: Columns
    decode: dict[str, Any]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def list_data(
    recipe: Recipe,
    targets: Sequence[str],
    data: Data | Sequence[StrPath],
    *,
    mode: Mode = "train",
    masks: Any = None,
    split: str | None = None,
    strict: bool = False,
    headers: bool = False,
    channels: int | None = None,
    exif: str = "apply",
    max_pixels: int = MAX_PIXELS,
) -> Listing:
    """List the data; of pictures no more than their headers is read.

    Args:
        recipe: of any kind.
        targets: of a pair, those that are read.
        data: a folder or several, a CSV file, or one image; of a pair folders by target, or a CSV file.
        mode: the section that reads it.
        masks: folders of masks, for images.
        split: of a CSV file.
        strict: files that are missing, and pairs that are defective, are an error now, not when they are read.
        headers: look at those of pairs, too: what does not fit is left out.
        channels: 1, 3 or 4; None takes what the recipe's inputs say, or 3.
        exif: `apply` or `ignore`.
        max_pixels: larger images are refused.

    Raises:
        DataError: there is nothing, or it is not as it should be.
    """
    decode: dict[str, Any] = {
        "channels": channels or recipe.inputs.channels or 3,
        "exif": exif,
        "max_pixels": max_pixels,
    }
    if recipe.kind == "pair":
        return _pairs(recipe, mode, targets, data, split, decode, strict=strict, headers=headers)
    if isinstance(data, Mapping):
        names = ", ".join(f"{name}=" for name in data)
        raise DataError(f"{recipe.name} is of kind {recipe.kind}: give one folder, or a CSV file, without {names}")
    csv = table_in(data)
    if recipe.kind == "bag":
        bags = bags_of_folders(as_list(data), cache=False) if csv is None else bags_of_csv(csv, split, check=strict)
        return Listing(bags, decode)
    if csv is None and isinstance(data, str | os.PathLike) and not Path(data).is_dir():
        if not Path(data).exists():
            raise DataError("no such file or folder", os.fsdecode(data))
        table = Table(images=PathTable.from_paths([os.fsdecode(data)]))
    else:
        root = data if csv is None else None
        table = as_table(recipe, root, csv, masks, split, check=strict, cache=False, layout="auto")
    check_targets(recipe, table)
    return Listing(table, decode)


def table_in(data: Data | Sequence[StrPath]) -> StrPath | None:
    """The data where they are a file of columns, by its name."""
    return data if isinstance(data, str | os.PathLike) and Path(data).suffix.lower() in _TABLES else None


def words_of(data: Data | Sequence[StrPath], before: str = "") -> str:
    """The data as the command line takes them, each with a word before it.

    >>> words_of({"hr": "a", "lr": ["b", "c"]})
    'hr=a lr=b lr=c'
    >>> words_of("a", "--data ")
    '--data a'
    """
    if not isinstance(data, Mapping):
        return " ".join(f"{before}{os.fsdecode(root)}" for root in as_list(data))
    return " ".join(f"{before}{name}={os.fsdecode(root)}" for name, roots in data.items() for root in as_list(roots))


def _pairs(
    recipe: Recipe,
    mode: Mode,
    targets: Sequence[str],
    data: Data | Sequence[StrPath],
    split: str | None,
    decode: dict[str, Any],
    *,
    strict: bool,
    headers: bool,
) -> Listing:
    csv, roots = table_in(data), data if isinstance(data, Mapping) else None
    if csv is None and roots is None:
        check_roots(recipe, targets, {})
    found = find(recipe, tuple(targets), roots, csv, split=split, cache=False)
    if headers:
        found = checked(found, wanted_by(recipe, mode, found.targets, **decode), "headers")
    if found.defects and (strict or not found.scenes):
        raise DataError(report(found.defects, fine=len(found.scenes), targets=found.targets))
    if not found.scenes:
        raise DataError("no pairs were found")
    return Listing(found.table(), decode, tuple(defect.message for defect in found.defects), tuple(found.notes()))
